#pragma once

#include <string>
#include <string_view>

namespace credbroker::base {

// A random name with 80 bits of entropy: `prefix` + 16 characters of a-z and 2-7 (RFC 4648 base32, lower case).
// Safe in paths, ref names, URLs and shell words. Thread-safe.
std::string RandomId(std::string_view prefix);

}  // namespace credbroker::base
