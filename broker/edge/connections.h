#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "gate/callers.h"
#include "model/decision.h"
#include "model/facts.h"
#include "net/list.h"
#include "net/stream.h"

namespace credbroker::gate {
class Gate;
}

namespace credbroker::edge {

// One open connection of a sandbox, as the sweep sees it. Lives in the coroutine that serves it.
class OpenConnection : public net::ListNode {
 public:
  explicit OpenConnection(net::Stream& stream) : stream_(stream), peer_text_(stream.peer().Text()) {}

  // From now on the connection lives only as long as this CONNECT, or the request that made it a WebSocket, would still be
  // allowed to this caller.
  void Belongs(std::shared_ptr<const gate::Caller> caller, model::Facts facts) {
    connect_caller_ = std::move(caller);
    facts_ = std::move(facts);
  }
  // A request that runs, until Rests: the revocation of its repository or credential ends it. All of it outlives that.
  void Runs(const gate::Caller* caller, const model::Facts* facts, const model::Allow* allow) { running_ = {caller, facts, allow}; }
  void Rests() { running_ = {}; }
  // The caller of the newest request: its revocation ends the connection too.
  void Serves(std::shared_ptr<const gate::Caller> caller) { request_caller_ = std::move(caller); }

  // The caller whom this very credential field named before on this connection, so that a token is read and looked up
  // once and not once a request. Whether it is still alive is the gate's business each time.
  std::shared_ptr<const gate::Caller> Remembered(std::string_view field) const {
    return !field.empty() && field == remembered_field_ ? remembered_ : nullptr;
  }
  void Remember(std::string_view field, std::shared_ptr<const gate::Caller> caller) {
    remembered_field_ = field;
    remembered_ = std::move(caller);
  }

  bool known() const { return connect_caller_ != nullptr || request_caller_ != nullptr; }
  net::Stream& stream() const { return stream_; }
  const std::string& peer_text() const { return peer_text_; }
  bool StillAllowed(gate::Gate& gate) const;

 private:
  friend class Connections;

  net::Stream& stream_;
  const std::string peer_text_;
  std::shared_ptr<const gate::Caller> connect_caller_;
  std::shared_ptr<const gate::Caller> request_caller_;
  model::Facts facts_;
  struct {
    const gate::Caller* caller = nullptr;
    const model::Facts* facts = nullptr;
    const model::Allow* allow = nullptr;
  } running_;
  std::string remembered_field_;
  std::shared_ptr<const gate::Caller> remembered_;
};

// All open connections of one loop. Loop thread only.
class Connections {
 public:
  void Add(OpenConnection* connection) { open_.PushBack(connection); }

  // After news from the broker: aborts what is not allowed any more, in the middle of transfers too (S47, B89). Idle and
  // pooled state is untouched.
  std::size_t Sweep(gate::Gate& gate);
  void AbortAll();
  // Ends the oldest connection that has shown no good token yet; false if there is none.
  bool AbortOldestStranger();

 private:
  net::ListNode open_;
};

}  // namespace credbroker::edge
