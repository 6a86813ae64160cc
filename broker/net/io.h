#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace credbroker::net {

enum class Io : uint8_t {
  kOk,
  kAgain,      // nothing to read now: co_await Readable, then try again
  kFull,       // Fill: `max_buffered` bytes are there already
  kEof,        // the peer ended its side properly (FIN, or close_notify under TLS)
  kTruncated,  // TLS: FIN without close_notify; data that ends by the close may have been cut
  kReset,      // the connection is broken
  kTls,        // TLS failed; tls_error() has the reason
  kTimeout,    // a wait's deadline passed
  kAborted,    // Abort was called
};
std::string_view IoName(Io io);
// The catalogue's error for a failed upstream stream; OK for kOk. `detail` is for logs.
absl::Status UpstreamStatus(Io io, std::string_view detail);

struct IoResult {
  Io io;
  std::size_t bytes = 0;
};

}  // namespace credbroker::net
