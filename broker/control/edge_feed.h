#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "base/secret.h"

namespace credbroker::control {

// What travels to edges, as plain values (proto/credbroker/v1/edge.proto has the meaning of each).
struct EdgeKeys {
  std::vector<std::string> verify_keys;
  std::string audience;
  std::string assertion;
  std::string ca_pem;
};
struct EdgePolicy {
  int64_t version = 0;  // 0: there is none yet, everything is denied
  std::string digest;
  std::string source;
};
struct EdgeRevocation {
  std::string kind;
  std::string value;
  absl::Time at;
  absl::Time until;
};
struct RevocationBatch {
  bool whole = false;
  std::vector<EdgeRevocation> revocations;
};
struct SessionSocket {
  std::string session;
  std::shared_ptr<const base::Secret> token;
};
struct SocketBatch {
  std::vector<SessionSocket> sockets;
};
struct Heartbeat {};
struct ShipNow {
  uint64_t ticket = 0;
};
struct EdgeMessage {
  uint64_t serial = 0;  // of the state that holds after it; 0 until the first whole state is complete
  std::variant<EdgeKeys, std::shared_ptr<const EdgePolicy>, RevocationBatch, Heartbeat, ShipNow, SocketBatch> body;
};

// What every edge must come to know.
struct EdgeState {
  uint64_t serial = 1;  // grows with each change
  EdgeKeys keys;
  std::shared_ptr<const EdgePolicy> policy = std::make_shared<EdgePolicy>();
  uint64_t policy_serial = 1;
  std::deque<std::pair<uint64_t, EdgeRevocation>> revocations;  // by serial; those that ended are dropped
  std::map<std::string, std::pair<uint64_t, std::shared_ptr<const base::Secret>>> sockets;  // by session; with their serials
  uint64_t sockets_serial = 0;                                  // of the newest
  uint64_t ticket = 0;                                          // of the newest wish that edges ship
};

// How far one edge's stream has come in that state. Level-triggered: it keeps no queue, so a slow edge costs no memory
// and gets the newest policy and tokens only. Not thread-safe: the hub locks.
class EdgeFeed {
 public:
  // The next message, or nothing when the edge knows all. Revocations go before a new policy; the serial moves on with
  // the last message of a moment only, so that a confirmed serial means that all up to it is in force.
  std::optional<EdgeMessage> Next(const EdgeState& state);
  EdgeMessage MakeHeartbeat() const { return {complete_, Heartbeat{}}; }

 private:
  EdgeMessage NextRevocations(const EdgeState& state, bool last);
  EdgeMessage NextSockets(const EdgeState& state);

  bool keys_sent_ = false;
  bool whole_sent_ = false;
  uint64_t policy_sent_ = 0;
  uint64_t revocations_sent_ = 0;
  uint64_t sockets_sent_ = 0;
  uint64_t ticket_sent_ = 0;
  uint64_t complete_ = 0;
};

}  // namespace credbroker::control
