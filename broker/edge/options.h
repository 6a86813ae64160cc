#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace credbroker::edge {

// Every bound of the data plane, with its default and what happens at it. broker/README.md lists them for operators.
struct EdgeOptions {
  // Waits. At the first three the connection ends; a request that waits for its upstream gets 504.
  absl::Duration head_wait = absl::Seconds(30);        // for a whole head, and for a TLS handshake: 408 or close
  absl::Duration idle_wait = absl::Minutes(5);         // between requests of a kept connection: close
  absl::Duration stream_idle = absl::Minutes(10);      // without a byte in either direction of a running transfer: close
  absl::Duration connect_wait = absl::Seconds(10);     // resolve, connect, TLS to the upstream: 502
  absl::Duration gate_wait = absl::Seconds(15);        // for the ledger's disk and for a lease: 503, 502
  absl::Duration drain_wait = absl::Seconds(30);       // for the rest of a refused body
  absl::Duration linger_wait = absl::Seconds(2);       // for the peer to close after our last answer
  absl::Duration base_wait = absl::Seconds(60);        // for a word of the host while a push's base is read there: 504
  absl::Duration close_wait = absl::Seconds(10);       // without a byte once one side of a WebSocket has ended: close

  // Sizes.
  std::size_t max_connections = 20'000;                // more get 503
  std::size_t max_unauthenticated = 1'000;             // of them, those that have not shown a good token yet
  std::size_t body_block = 64 * 1024;                  // read at a time, per direction
  std::size_t high_water = 256 * 1024;                 // unsent bytes at which reading from the other side pauses
  std::size_t max_drained = std::size_t{2} << 30;      // of a refused push; more is cut
  std::size_t max_spool = std::size_t{1} << 30;        // of a push that a rule must read whole: 413
  std::size_t max_decoded = std::size_t{16} << 20;     // of a compressed git body, which is held in memory: 413
  std::size_t max_api_body = std::size_t{1} << 20;     // of an API request that a rule must read, as sent and decoded: refused
  std::size_t max_refusal_drain = 256 * 1024;          // of another refused body, to keep the connection; more closes it

  std::string spool_folder;                            // for pushes that a rule must read whole; files have no name
  // Host names and addresses under which the gateway is itself, so that the path names the target.
  std::vector<std::string> gateway_names = {"localhost", "127.0.0.1", "::1"};
};

}  // namespace credbroker::edge
