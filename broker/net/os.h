#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "net/ip.h"

namespace credbroker::net {

// Raises the soft limit of open descriptors to the hard one, at most to `wanted`; gives the limit in force. Fails
// kConfigInvalid when the system refuses.
absl::StatusOr<uint64_t> RaiseFileLimit(uint64_t wanted);

// Writes to a closed connection give an error instead of a signal. Once at the start of a main.
void IgnoreSigpipe();

// The addresses of this machine's interfaces now, for OwnListeners. Empty when the system does not say.
std::vector<IpAddress> LocalAddresses();

// The address on which a connected TCP socket is reached, as text without port: `127.0.0.1`. Empty for other sockets.
std::string LocalAddressOf(int fd);

}  // namespace credbroker::net
