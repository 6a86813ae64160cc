#pragma once

#include <string>

namespace credbroker::app {

// The process log: one JSON object a line on standard error. `level` is debug, info, warn or error.
void StartLog(const std::string& level);

}  // namespace credbroker::app
