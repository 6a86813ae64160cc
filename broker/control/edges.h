#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "control/edge_feed.h"

namespace credbroker::control {

// What an edge says of itself when it connects.
struct EdgeHello {
  std::string edge;
  std::string sealing_key;  // X25519 public key
  std::string ledger_vkey;
  std::string version;
  std::vector<std::string> listeners;
  std::string proxy_url;
  std::string gateway_url;
  std::string sockets_folder;  // empty: it makes no sockets of sessions' own
};

struct EdgeReport {
  uint64_t serial = 0;
  int64_t policy_version = 0;
  bool ledger_ok = false;
  uint64_t ledger_entries = 0;
};

// One edge as others see it.
struct EdgeView {
  EdgeHello hello;
  bool connected = false;
  bool current = false;  // it confirmed the first whole state
  absl::Time last_seen;
  EdgeReport report;
};

// All edges and what they must know. Pushes, counts confirmations. Thread-safe; waits are bounded and in real time,
// whatever the injected clock says.
class EdgeHub {
 public:
  EdgeHub(EdgeKeys keys, const base::Clock& clock);

  // Changes of the state. Each gives its serial.
  uint64_t SetPolicy(EdgePolicy policy);
  uint64_t Revoke(std::vector<EdgeRevocation> revocations);
  // The token for a session's own socket; until Drop every edge that connects gets the newest.
  void OfferSocket(const std::string& session, std::shared_ptr<const base::Secret> token);
  void DropSocket(const std::string& session);
  uint64_t serial() const;
  bool wants_sockets() const;  // some connected edge makes them
  // Takes over what was revoked before this start.
  void Load(std::vector<EdgeRevocation> revocations);
  void Forget(absl::Time now);  // revocations that ended

  // One edge's stream. A second Connect of the same edge ends the first. Next waits at most `wait` and then gives a
  // heartbeat; nothing when the stream was replaced or the hub closed.
  uint64_t Connect(EdgeHello hello);
  std::optional<EdgeMessage> Next(std::string_view edge, uint64_t stream, absl::Duration wait);
  void Disconnect(std::string_view edge, uint64_t stream);

  // What edges tell. Fails kEdgeNotFound for one that never connected.
  absl::Status Report(std::string_view edge, const EdgeReport& report);
  void Shipped(std::string_view edge, uint64_t ticket, uint64_t ledger_entries, uint64_t archived);

  // Waits until every connected edge confirmed `serial`; gives the number of those that did.
  int WaitConfirmed(uint64_t serial, absl::Duration wait);
  // Asks all edges to ship and waits until they did. False when one is gone or did not answer in time.
  bool ShipAll(absl::Duration wait);
  // Waits for a change that a tail may care about.
  void WaitShipped(absl::Duration wait);

  std::vector<EdgeView> List() const;
  std::optional<EdgeView> Find(std::string_view edge) const;
  bool ready() const;  // some edge is connected and current
  int connected() const;
  // Ends all streams and waits.
  void Close();

 private:
  struct Link {
    EdgeView view;
    EdgeFeed feed;
    uint64_t stream = 0;
    uint64_t shipped_ticket = 0;
    uint64_t shipped = 0;
  };

  bool AllConfirmed(uint64_t serial) const;
  bool AllShipped(uint64_t ticket) const;

  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  EdgeState state_;
  std::map<std::string, Link, std::less<>> links_;
  uint64_t streams_ = 0;
  uint64_t ships_ = 0;
  bool closed_ = false;
};

}  // namespace credbroker::control
