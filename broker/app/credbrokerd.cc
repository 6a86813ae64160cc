// credbrokerd: the broker. Custody of secrets and keys, policy, sessions, tokens; starts and supervises one edge.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>

#include "app/config.h"
#include "app/serve.h"
#include "credbroker/credbroker.h"

namespace {

using credbroker::app::Config;

// Flags as they were given; empty = not given. They win over the file.
struct Flags {
  std::string config, data_dir, policy, api, proxy, gateway, health, durability, edge_user, edge_binary, log_level;
  bool no_edge = false;
};

void AddFlags(CLI::App* serve, Flags* flags) {
  serve->add_option("--config", flags->config, "YAML file: listen, data_dir, policy, durability, edge, log_level");
  serve->add_option("--data-dir", flags->data_dir, "where everything is kept (default /var/lib/credbroker)");
  serve->add_option("--policy", flags->policy,
                    "policy file or folder, applied at start and at SIGHUP when it has changed");
  serve->add_option("--listen-api", flags->api, "HOST:PORT of the API, gRPC with TLS (default 127.0.0.1:7443)");
  serve->add_option("--listen-proxy", flags->proxy, "HOST:PORT of the edge's forward proxy (default 127.0.0.1:7480)");
  serve->add_option("--listen-gateway", flags->gateway, "HOST:PORT of the edge's gateway (default 127.0.0.1:7481)");
  serve->add_option("--listen-health", flags->health, "HOST:PORT of health and metrics (default 127.0.0.1:7490)");
  serve->add_option("--durability", flags->durability,
                    "of the ledgers: flush (default; a machine that stops may lose 100 ms) or sync");
  serve->add_flag("--no-edge", flags->no_edge, "do not start an edge");
  serve->add_option("--edge-user", flags->edge_user, "user of the edge (default: nobody when started by root)");
  serve->add_option("--edge-binary", flags->edge_binary,
                    "the edge's program (default: credbroker-edged beside this one)");
  serve->add_option("--log-level", flags->log_level, "debug, info, warn or error (default info)");
}

absl::StatusOr<Config> ConfigOf(const Flags& flags) {
  Config config;
  if (!flags.config.empty()) {
    auto read = credbroker::app::ReadConfig(flags.config, config);
    if (!read.ok()) return read.status();
    config = *std::move(read);
  }
  const auto take = [](const std::string& flag, std::string* value) {
    if (!flag.empty()) *value = flag;
  };
  take(flags.data_dir, &config.data_dir);
  take(flags.policy, &config.policy);
  take(flags.api, &config.api);
  take(flags.proxy, &config.proxy);
  take(flags.gateway, &config.gateway);
  take(flags.health, &config.health);
  take(flags.edge_user, &config.edge_user);
  take(flags.edge_binary, &config.edge_binary);
  take(flags.log_level, &config.log_level);
  if (flags.no_edge) config.edge_enabled = false;
  if (!flags.durability.empty()) {
    const auto durability = credbroker::app::ParseDurability(flags.durability);
    if (!durability.ok()) return durability.status();
    config.durability = *durability;
  }
  config.data_dir = std::filesystem::absolute(config.data_dir).lexically_normal().string();
  while (config.data_dir.size() > 1 && config.data_dir.back() == '/') config.data_dir.pop_back();
  if (const absl::Status checked = credbroker::app::CheckConfig(config); !checked.ok()) return checked;
  return config;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "credbrokerd: keeps real credentials out of sandboxes. Begin with `credbrokerd serve`, then use `credbroker`."};
  app.set_version_flag("--version", CREDBROKER_VERSION);
  app.require_subcommand(1);
  Flags flags;
  CLI::App* serve = app.add_subcommand(
      "serve", "Run the broker, and an edge beside it. Example: credbrokerd serve --data-dir /var/lib/credbroker");
  AddFlags(serve, &flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  const absl::StatusOr<Config> config = ConfigOf(flags);
  if (!config.ok()) return credbroker::app::Fatal(config.status());
  return credbroker::app::Serve(*config);
}
