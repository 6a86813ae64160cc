// The command line of Credbroker: wiring only.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string_view>

#include "client/command_line.h"

extern char** environ;

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  credbroker::client::Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals != std::string_view::npos) environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  // gRPC reports failures on standard error by itself; they come back as errors with a next step.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  std::error_code unknown;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
  credbroker::client::Host host{std::cin, std::cout, std::cerr, std::move(environment),
                                unknown ? std::string("credbroker") : program};
  return credbroker::client::RunCommandLine({argv + 1, argv + argc}, host);
}
