#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "audit/ledger.h"
#include "base/clock.h"
#include "base/file.h"
#include "edge/broker_port.h"
#include "gate/gate.h"

namespace credbroker::edge {

// The edge's half of EdgeService (proto/credbroker/v1/edge.proto), on threads of its own: receives policy, keys and
// revocations and puts them on the board, confirms them once the loops have swept, fetches leases and certificates, ships
// the ledger. The only file of the edge that knows gRPC and opens sealed leases.
class BrokerLink : public BrokerPort {
 public:
  struct Options {
    std::string edge = "edge";
    std::string version;
    std::vector<std::string> listeners;  // as the broker prints them
    std::string proxy_url, gateway_url;
    std::string sockets_folder;  // empty: no sockets of sessions' own
  };
  struct Hooks {
    // New state is on the board. Every loop shall sweep; then `done` is called once, from any thread.
    std::function<void(std::function<void()> done)> on_change;
    // The secret behind this credential has changed.
    std::function<void(std::string credential)> on_lease_drop;
    // The session shall be served at a socket of its own, under this token.
    std::function<void(std::string session, std::string token)> on_socket;
    // What was used since the last call (gate::Gate::TakeUses, of all loops).
    std::function<gate::Gate::Uses()> take_uses;
    // The broker has gone; this process cannot find it again over an inherited socket.
    std::function<void()> on_lost;
  };

  // Over a connected Unix socket that the broker gave its child. Nothing runs before Start.
  static std::unique_ptr<BrokerLink> OverSocket(base::Fd socket, Options options, gate::StateBoard& board, audit::Ledger& ledger,
                                                const base::Clock& clock);
  ~BrokerLink() override;

  virtual void Start(Hooks hooks) = 0;
  // Ships what is left (at most two seconds), ends the threads. Callbacks that are due get kProviderDown.
  virtual void Stop() = 0;

 protected:
  BrokerLink() = default;
};

}  // namespace credbroker::edge
