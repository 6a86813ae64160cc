// credbroker-edged: the data plane. Started by credbrokerd with a connected socket, or by hand with --config.
#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/secret.h"
#include "base/str.h"
#include "base/text.h"
#include "credbroker/credbroker.h"
#include "edge/server.h"
#include "net/os.h"

namespace {

using credbroker::base::ErrorCode;
namespace base = credbroker::base;
namespace edge = credbroker::edge;

struct Config {
  edge::ServerOptions server;
  int link_fd = -1;
};

absl::Status Bad(const std::string& path, std::string_view why) { return base::Error(ErrorCode::kConfigInvalid, base::StrCat(path, ": ", why)); }

// The file that credbrokerd writes for its child; unknown keys are refused.
absl::StatusOr<Config> ReadConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path, 64 * 1024));
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return Bad(path, "not a JSON object");
  Config config;
  edge::ServerOptions& server = config.server;
  server.version = CREDBROKER_VERSION;
  for (const auto& [key, value] : json.items()) {
    std::string* text_field = key == "edge"       ? &server.edge
                              : key == "data_dir" ? &server.data_dir
                              : key == "proxy"    ? &server.proxy
                              : key == "gateway"  ? &server.gateway
                                                  : nullptr;
    if (text_field != nullptr && value.is_string()) {
      *text_field = value.get<std::string>();
    } else if (key == "link_fd" && value.is_number_integer()) {
      config.link_fd = value.get<int>();
    } else if (key == "max_connections" && value.is_number_unsigned()) {
      server.limits.max_connections = value.get<std::size_t>();
    } else if (key == "durability" && (value == "flush" || value == "sync")) {
      server.durability = value == "sync" ? credbroker::audit::Durability::kSync : credbroker::audit::Durability::kFlush;
    } else if (key == "session_sockets" && value.is_boolean()) {
      server.session_sockets = value.get<bool>();
    } else if (key == "own_ports" && value.is_array()) {
      for (const auto& port : value) server.own_ports.push_back(port.get<uint16_t>());
    } else {
      return Bad(path, base::StrCat("key \"", base::EscapeText(key, 60), "\" is unknown or has a wrong value"));
    }
  }
  if (server.data_dir.empty()) return Bad(path, "data_dir is missing");
  if (config.link_fd < 0) return Bad(path, "link_fd is missing: this version's edge is started by credbrokerd");
  return config;
}

int Fatal(const absl::Status& status) {
  const base::ErrorEntry& entry = base::Lookup(base::CodeOf(status));
  std::cerr << "error " << static_cast<int>(entry.code) << " " << entry.name << ": " << status.message() << "\nnext: " << entry.next_step << "\n";
  return 1;
}

// SIGTERM drains; a second one ends at once.
void WatchSignals(edge::Server& server, const sigset_t& signals) {
  std::thread([&server, signals] {
    int signal = 0;
    for (bool first = true; sigwait(&signals, &signal) == 0; first = false) {
      if (!first) _exit(0);
      server.Stop(absl::Seconds(5));
    }
  }).detach();
}

int Serve(const std::string& config_path) {
  auto config = ReadConfig(config_path);
  if (!config.ok()) return Fatal(config.status());
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread: only the watcher takes them
  credbroker::net::IgnoreSigpipe();
  credbroker::net::RaiseFileLimit(65536).IgnoreError();
  base::Fd link(config->link_fd);
  if (fcntl(link.get(), F_SETFD, FD_CLOEXEC) != 0) return Fatal(Bad(config_path, "link_fd is not open"));
  config->server.on_overload = [limit = config->server.limits.max_connections](uint64_t turned_away) {
    spdlog::warn(R"("event":"edge_overloaded","limit":{},"turned_away":{})", limit, turned_away);
  };
  config->server.on_socket_fault = [](const std::string& session, const absl::Status& fault) {
    spdlog::error(R"("event":"session_socket_failed","session":"{}","error":"{}")", base::EscapeText(session, 80), base::EscapeText(base::View(fault.message()), 300));
  };
  auto server = edge::Server::Create(std::move(config->server), std::move(link), base::SystemClock());
  if (!server.ok()) return Fatal(server.status());
  WatchSignals(**server, signals);
  const bool clean = (*server)->Run();
  spdlog::info(R"("event":"edge_stopped","clean":{})", clean);
  // The ledger is closed and the threads have ended; connections that were cut need no farewell.
  std::cerr.flush();
  _exit(clean ? 0 : 1);
}

}  // namespace

int main(int argc, char** argv) {
  // The kernel keeps 15 bytes of a name, which would cut the last letter off.
  prctl(PR_SET_NAME, "cb-edged");
  CLI::App app{"credbroker-edged: swaps sandbox tokens for real credentials on outbound requests. credbrokerd starts it."};
  app.set_version_flag("--version", CREDBROKER_VERSION);
  std::string config;
  app.add_option("--config", config, "configuration file (JSON), as credbrokerd writes it to DATA/edge/edge.json")->required();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("edge", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  // One JSON object a line, as credbrokerd's log is; messages are the members after these.
  spdlog::set_pattern(R"({"time":"%Y-%m-%dT%H:%M:%S.%fZ","level":"%l","process":"edge",%v})", spdlog::pattern_time_type::utc);
  if (!base::DisableCoreDumps()) return Fatal(base::Error(ErrorCode::kInternal, "core dumps cannot be turned off"));
  return Serve(config);
}
