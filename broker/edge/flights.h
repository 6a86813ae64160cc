#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/error.h"
#include "base/task.h"
#include "net/completion.h"

namespace credbroker::edge {

// Asks once for all who want the same thing at the same time (B83). A failure is shared by those who waited, and not
// kept. A waiter whose deadline passes leaves alone. Loop thread only, but for `Landing`.
template <typename T>
class Flights {
  struct Flight {
    std::vector<net::Completion<int>::Setter> waiters;
    std::optional<absl::StatusOr<T>> result;
  };

 public:
  Flights(net::Loop& loop, base::ErrorCode timeout) : loop_(loop), timeout_(timeout) {}

  // Where the answer goes: call it once from any thread; `keep` runs on the loop before the waiters do.
  using Landing = std::function<void(absl::StatusOr<T>)>;

  // Waits for what `launch(landing)` brings, launching it only when nobody else has.
  template <typename Launch, typename Keep>
  base::Task<absl::StatusOr<T>> Join(std::string key, Launch launch, Keep keep, net::Deadline deadline) {
    const std::shared_ptr<Flight> flight = Board(key, launch, keep);
    if (!flight->result) {
      net::Completion<int> landed(loop_);
      flight->waiters.push_back(landed.setter());
      const std::optional<int> in_time = co_await landed.Wait(deadline);
      if (!in_time) co_return base::Error(timeout_);
    }
    co_return *flight->result;
  }

  // Launches without waiting, for a refresh ahead of expiry.
  template <typename Launch, typename Keep>
  void Refresh(const std::string& key, Launch launch, Keep keep) {
    if (!flights_.contains(key)) Board(key, launch, keep);
  }

 private:
  template <typename Launch, typename Keep>
  std::shared_ptr<Flight> Board(const std::string& key, Launch& launch, Keep& keep) {
    if (const auto found = flights_.find(key); found != flights_.end()) return found->second;
    const auto flight = std::make_shared<Flight>();
    flights_.emplace(key, flight);
    launch([this, alive = std::weak_ptr<char>(alive_), box = loop_.mailbox(), key, flight, keep](absl::StatusOr<T> result) {
      auto held = std::make_shared<absl::StatusOr<T>>(std::move(result));
      box->Post([this, alive, key, flight, keep, held] {
        if (alive.expired()) return;  // the owner has gone; its waiters too
        flights_.erase(key);
        flight->result = *std::move(held);
        if (flight->result->ok()) keep(**flight->result);
        for (auto& waiter : flight->waiters) waiter.Set(0);
      });
    });
    return flight;
  }

  net::Loop& loop_;
  const base::ErrorCode timeout_;
  std::map<std::string, std::shared_ptr<Flight>> flights_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace credbroker::edge
