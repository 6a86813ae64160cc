#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "audit/ledger.h"
#include "credbroker/credbroker.h"
#include "evidence/declared.h"

namespace credbroker::app {

// How one broker runs. The file may say less; flags win over it.
//
//   listen: {api: 127.0.0.1:7443, proxy: 127.0.0.1:7480, gateway: 127.0.0.1:7481, health: 127.0.0.1:7490}
//   data_dir: /var/lib/credbroker
//   policy: /etc/credbroker/policy.yaml
//   durability: flush
//   edge: {enabled: true, user: nobody, max_connections: 20000, session_sockets: false}
//   log_level: info
struct Config {
  std::string api = "127.0.0.1:7443";  // port 0: any free one, as for the others
  std::string proxy = "127.0.0.1:7480";
  std::string gateway = "127.0.0.1:7481";
  std::string health = "127.0.0.1:7490";
  std::string data_dir = kDefaultDataDir;
  std::string policy;  // file or folder; applied at start and at SIGHUP when it differs from the one in force
  audit::Durability durability = audit::Durability::kFlush;
  bool edge_enabled = true;
  std::string edge_user;    // empty: `nobody` when the broker runs as root, else its own user
  int max_connections = 20'000;  // of sandboxes at the edge; more get 503. 16 to 30,000: each needs two descriptors
  bool session_sockets = false;  // each session gets a Unix socket of its own at the edge
  std::string edge_binary;  // empty: beside credbrokerd
  std::string log_level = "info";
  evidence::Declared declared;  // `declared:`, what the operator says of the deployment (broker/EVIDENCE.md)
};

// Reads a YAML file into `config`, whose values are the defaults. Fails kFileUnreadable, or kConfigInvalid with
// `FILE:LINE: what is wrong`: keys that are unknown or stand twice, wrong types and values, more than one document.
absl::StatusOr<Config> ReadConfig(const std::string& path, Config config);

// The same from its text; `name` is what errors show.
absl::StatusOr<Config> ParseConfig(std::string_view text, const std::string& name, Config config);

// Checks what flags may have changed as well. Fails kConfigInvalid.
absl::Status CheckConfig(const Config& config);

absl::StatusOr<audit::Durability> ParseDurability(std::string_view text);  // sync, flush; kConfigInvalid

}  // namespace credbroker::app
