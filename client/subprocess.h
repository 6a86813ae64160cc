#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/settings.h"

namespace credbroker::client {

// Replaces this process by `command`, found through the PATH of `environment`. Returns only on failure:
// kFileUnreadable.
absl::Status ReplaceProcess(const std::vector<std::string>& command, const Environment& environment);

// Runs `command` and waits for it. Signals that are sent to this process meanwhile (HUP, INT, QUIT, TERM, USR1, USR2)
// go on to it; those that the terminal sends to the whole group do not arrive twice. Returns its exit code, or 128 +
// the signal that ended it. Fails kFileUnreadable when it cannot be started. One call at a time.
absl::StatusOr<int> RunProcess(const std::vector<std::string>& command, const Environment& environment);

}  // namespace credbroker::client
