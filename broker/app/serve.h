#pragma once

#include "app/config.h"

namespace credbroker::app {

// Runs the broker until SIGTERM or SIGINT, and gives the exit code: 0 after a drain, 1 when it could not start
// (standard error then has `error CODE name: ...` and `next: ...`). Standard output has one line a listener, then
// `ready`. SIGHUP reads the policy file again.
int Serve(const Config& config);

// Prints a failure as every program of the product does, and gives exit code 1.
int Fatal(const absl::Status& status);

}  // namespace credbroker::app
