#pragma once

#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace credbroker::client {

// Environment variables by name.
using Environment = std::map<std::string, std::string, std::less<>>;

// The value of a variable; empty when it is not set.
std::string Variable(const Environment& environment, std::string_view name);

// The flags that every sub-command takes, as they were written.
struct Flags {
  std::string output = "table";
  std::string address, data_dir, access, api_ca, token;
};

enum class Output { kTable, kJson };

// How this run of the command line reaches the broker, and as whom.
struct Settings {
  Output output = Output::kTable;
  std::string address;      // `unix:/absolute/path` or `host:port`
  bool local = true;        // a Unix socket
  std::string api_ca_file;  // where api_ca_pem came from, when it was a file of its own
  std::string api_ca_pem;   // TCP: the CA that signed the broker's API certificate; empty: the system's roots
  std::string admin_token;  // TCP: from the access file
  std::string token;        // the holder's, from flag or variable
  bool token_by_flag = false;
};

// Flags win over variables, an explicit address over the one in an access file. Reads the access and CA files.
// Fails kBadArgument (what cannot be an address; --address with --data-dir), kFileUnreadable, kTooLarge, kUnsafeFile
// (an access file that others may read).
absl::StatusOr<Settings> ResolveSettings(const Flags& flags, const Environment& environment);

}  // namespace credbroker::client
