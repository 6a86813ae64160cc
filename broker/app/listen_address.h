#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/file.h"

namespace credbroker::app {

// Where to listen: an IP literal or `localhost`, and a port; 0 means any free one.
struct ListenAddress {
  std::string host;  // without brackets
  uint16_t port = 0;
  std::string Text() const;  // `127.0.0.1:7490`, `[::1]:7490`
};

// Reads `HOST:PORT`. Fails kConfigInvalid.
absl::StatusOr<ListenAddress> ParseListenAddress(std::string_view text);

// A TCP socket that listens there. Fails kPortInUse, kConfigInvalid for an address that is not this machine's.
absl::StatusOr<base::Fd> Listen(const ListenAddress& address);

// The port that a listening socket got.
uint16_t PortOf(const base::Fd& listener);

}  // namespace credbroker::app
