#pragma once

#include <coroutine>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "net/deadline.h"
#include "net/loop.h"
#include "net/timer_wheel.h"

namespace credbroker::net {

// A one-shot value that another thread (or a library's callback) gives to a coroutine of a loop.
//
//   Completion<int> done(loop);
//   worker.Ask([setter = done.setter()] { setter.Set(7); });
//   std::optional<int> answer = co_await done.Wait(loop.After(absl::Seconds(2)));   // nullopt: the deadline passed
//
// The first Set wins, later ones are dropped. Setters may outlive the coroutine, the Completion and the loop. The
// coroutine is never resumed inside Set. A Completion is awaited by one coroutine, on the loop's thread.
template <typename T>
class Completion {
  class WaitBase {
   public:
    virtual void OnSet() = 0;

   protected:
    ~WaitBase() = default;
  };

  struct Shared {
    explicit Shared(std::shared_ptr<Mailbox> box) : mailbox(std::move(box)) {}
    const std::shared_ptr<Mailbox> mailbox;
    std::mutex mu;
    std::optional<T> value;      // guarded by mu
    bool set = false;            // guarded by mu
    WaitBase* waiter = nullptr;  // loop thread only
  };

 public:
  // Copyable; Set is thread-safe.
  class Setter {
   public:
    void Set(T value) const {
      {
        const std::lock_guard lock(shared_->mu);
        if (shared_->set) return;
        shared_->set = true;
        shared_->value.emplace(std::move(value));
      }
      shared_->mailbox->Post([shared = shared_] {
        if (shared->waiter != nullptr) std::exchange(shared->waiter, nullptr)->OnSet();
      });
    }

   private:
    friend class Completion;
    explicit Setter(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
    std::shared_ptr<Shared> shared_;
  };

  class [[nodiscard]] Awaiter final : private WaitBase, private TimerNode {
   public:
    Awaiter(Loop& loop, std::shared_ptr<Shared> shared, Deadline deadline)
        : TimerNode(loop.wheel()), shared_(std::move(shared)), deadline_(deadline) {}
    Awaiter(const Awaiter&) = delete;
    ~Awaiter() {
      if (shared_->waiter == this) shared_->waiter = nullptr;
    }

    bool await_ready() {
      const std::lock_guard lock(shared_->mu);
      return shared_->set;
    }
    void await_suspend(std::coroutine_handle<> handle) {
      handle_ = handle;
      shared_->waiter = this;
      Arm(deadline_);
    }
    std::optional<T> await_resume() {
      const std::lock_guard lock(shared_->mu);
      return std::exchange(shared_->value, std::nullopt);
    }

   private:
    void OnSet() override {
      Disarm();
      handle_.resume();
    }
    void OnTimer() override {
      shared_->waiter = nullptr;
      handle_.resume();
    }

    std::shared_ptr<Shared> shared_;
    Deadline deadline_;
    std::coroutine_handle<> handle_;
  };

  explicit Completion(Loop& loop) : loop_(loop), shared_(std::make_shared<Shared>(loop.mailbox())) {}

  Setter setter() const { return Setter(shared_); }
  Awaiter Wait(Deadline deadline) { return Awaiter(loop_, shared_, deadline); }

 private:
  Loop& loop_;
  std::shared_ptr<Shared> shared_;
};

}  // namespace credbroker::net
