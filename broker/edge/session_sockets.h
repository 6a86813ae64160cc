#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "gate/callers.h"
#include "net/listener.h"
#include "net/loop.h"

namespace credbroker::gate {
class Gate;
}

namespace credbroker::edge {

// A Unix socket that speaks for one session: who connects needs no token.
struct SessionSocket {
  std::string session;
  // Whom the broker's newest token for this socket names. Replaced when the broker renews it or the session's phase moves.
  std::shared_ptr<const gate::Caller> caller;
  std::size_t connections = 0;
};

// The sockets of an edge's sessions, `FOLDER/SESSION/edge.sock` each. A session has a folder of its own so that it can be
// mounted into a sandbox: the mount outlives a restart of the edge. The sockets are open to every user; the folder that holds
// the sessions' folders is not. Loop thread only.
class SessionSockets {
 public:
  static constexpr std::size_t kMaxConnections = 1024;  // at one socket, so that no session takes the edge's places of all

  using OnAccept = std::function<void(net::Accepted, std::shared_ptr<SessionSocket>)>;
  SessionSockets(net::Loop& loop, gate::Gate& gate, std::string folder, OnAccept on_accept)
      : loop_(loop), gate_(gate), folder_(std::move(folder)), on_accept_(std::move(on_accept)) {}
  SessionSockets(const SessionSockets&) = delete;
  SessionSockets& operator=(const SessionSockets&) = delete;

  // Serves the session's socket under this token from now on. Fails as Gate::Identify, kTokenMismatch for the token of
  // another session, kFileUnwritable, kPortInUse.
  absl::Status Offer(const std::string& session, std::string_view token);

  // Closes the sockets of sessions that ended, and removes folders that a former edge left for such.
  void Sweep();

  std::size_t size() const { return open_.size(); }

 private:
  struct Open {
    std::shared_ptr<SessionSocket> socket;
    std::unique_ptr<net::Listener> listener;
  };
  absl::Status Listen(const std::string& session, Open* open);
  void RemoveFolder(const std::string& session);
  void RemoveLeftovers();

  net::Loop& loop_;
  gate::Gate& gate_;
  const std::string folder_;
  const OnAccept on_accept_;
  std::map<std::string, Open> open_;
  bool cleaned_ = false;
};

}  // namespace credbroker::edge
