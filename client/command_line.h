#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "client/settings.h"

namespace credbroker::client {

// The outside of one run of the command line. Everything outlives the run.
struct Host {
  std::istream& in;
  std::ostream& out;  // results alone: JSON, tables, shell lines
  std::ostream& err;  // messages
  Environment environment;
  std::string program;  // absolute path of this program, for the git helper entry
};

// Runs the command line once and returns the exit code: 0 done, 1 refused or failed (`err` then holds `error CODE name:
// text` and `next: step`), 2 usage. `run` returns its command's own code, or replaces the process. Not reentrant.
int RunCommandLine(const std::vector<std::string>& arguments, Host& host);

}  // namespace credbroker::client
