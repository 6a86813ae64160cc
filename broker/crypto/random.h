#pragma once

#include <cstddef>
#include <string>

#include "base/secret.h"

namespace credbroker::crypto {

// Bytes from the kernel's generator, by libsodium. Thread-safe.
std::string RandomBytes(std::size_t count);
base::Secret RandomSecret(std::size_t count);

}  // namespace credbroker::crypto
