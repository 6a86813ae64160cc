#include "crypto/random.h"

#include <sodium.h>

#include <cstdlib>

namespace credbroker::crypto {

std::string RandomBytes(std::size_t count) {
  if (sodium_init() < 0) std::abort();
  std::string bytes(count, '\0');
  randombytes_buf(bytes.data(), count);
  return bytes;
}

base::Secret RandomSecret(std::size_t count) { return base::Secret::Take(RandomBytes(count)); }

}  // namespace credbroker::crypto
