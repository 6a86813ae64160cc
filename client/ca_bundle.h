#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/settings.h"

namespace credbroker::client {

// The system's roots and `ca_pem` as one PEM text. Without a system store it is `ca_pem` alone.
// Fails kInternal when `ca_pem` is no certificate, kTooLarge, kFileUnreadable.
absl::StatusOr<std::string> MakeBundle(std::string_view ca_pem);

// Writes a bundle atomically, readable by all (0644), and returns its absolute path: `out` when given, else
// `ca-FINGERPRINT.pem` in the user's own folder: $XDG_RUNTIME_DIR/credbroker, $XDG_CACHE_HOME/credbroker,
// $HOME/.cache/credbroker, the first that can be written, and with none of them /tmp/credbroker-UID.
// A file that is there with the same content stays. Fails kFileUnwritable, kUnsafeFile, kDiskFull.
absl::StatusOr<std::string> WriteBundle(std::string_view bundle, const std::string& out,
                                        const Environment& environment);

// The same for another file of the same family, for example the API's CA: `NAME-FINGERPRINT.pem`.
absl::StatusOr<std::string> WriteCached(std::string_view name, std::string_view content,
                                        const Environment& environment);

}  // namespace credbroker::client
