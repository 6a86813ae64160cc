#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "audit/ledger.h"
#include "base/clock.h"
#include "base/file.h"
#include "edge/options.h"

namespace credbroker::edge {

// Where an edge listens and keeps its ledger. Hosts are IP literals; port 0 takes a free one.
struct ServerOptions {
  std::string edge = "edge";
  std::string version;
  std::string proxy = "127.0.0.1:7480";
  std::string gateway = "127.0.0.1:7481";
  std::string data_dir;
  bool session_sockets = false;  // each session gets a Unix socket of its own under data_dir (edge/session_sockets.h)
  audit::Durability durability = audit::Durability::kFlush;
  std::vector<uint16_t> own_ports;  // other listeners of this product on this machine, never to be reached through us
  EdgeOptions limits;
  // A session's socket cannot be served. On the loop's thread.
  std::function<void(const std::string& session, const absl::Status& fault)> on_socket_fault;
  // Connections are turned away: how many since the start. At most once a minute, on the loop's thread.
  std::function<void(uint64_t turned_away)> on_overload;
};

// The whole data plane of one process: one loop, its gate, its listeners and the link to the broker.
class Server {
 public:
  // Opens the ledger (closing the intents that were left open), binds the listeners. Fails kPortInUse, kConfigInvalid,
  // and as audit::Ledger::Open.
  static absl::StatusOr<std::unique_ptr<Server>> Create(ServerOptions options, base::Fd broker_socket, const base::Clock& clock);
  virtual ~Server() = default;

  // Serves until Stop, or until the broker has gone: then false.
  virtual bool Run() = 0;
  // Lets running requests end for at most `drain`, then cuts them. Async-signal-unsafe; thread-safe; returns at once.
  virtual void Stop(absl::Duration drain) = 0;
};

}  // namespace credbroker::edge
