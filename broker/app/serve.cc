#include "app/serve.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "app/health_pages.h"
#include "app/health_server.h"
#include "app/listen_address.h"
#include "app/process_log.h"
#include "app/supervisor.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/secret.h"
#include "base/str.h"
#include "control/core.h"
#include "control/event_log.h"
#include "control/servers.h"
#include "policy/source.h"

namespace credbroker::app {
namespace {

using base::StrCat;
using control::Level;
using control::LogEvent;

constexpr absl::Duration kEdgeGrace = absl::Seconds(8);  // the edge drains for 5 s, then ships what is left
constexpr absl::Duration kCallGrace = absl::Seconds(2);
constexpr absl::Duration kFormerEdgeWait = absl::Seconds(12);
constexpr int kFormerEdgePollMs = 50;
constexpr long kPollNanoseconds = 50'000'000;
constexpr char kEdgeProgram[] = "credbroker-edged";

// Blocked before the first thread starts, so that only the main thread takes them.
sigset_t BlockSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, signal);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  return set;
}

std::string FolderOfThisProgram() {
  char path[4096];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  const std::string_view text(path, size > 0 ? static_cast<std::size_t>(size) : 0);
  return std::string(text.substr(0, text.rfind('/')));
}

// True while an edge works on the folder. After a broker was killed its edge still drains for a while.
bool EdgeRuns(const std::string& data_dir) {
  const base::Fd lock(open(StrCat(data_dir, "/edge/data/ledger/lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return lock.ok() && flock(lock.get(), LOCK_SH | LOCK_NB) != 0;
}

void AwaitFormerEdge(const std::string& data_dir) {
  const auto give_up = std::chrono::steady_clock::now() + absl::ToChronoSeconds(kFormerEdgeWait);
  while (EdgeRuns(data_dir) && std::chrono::steady_clock::now() < give_up) poll(nullptr, 0, kFormerEdgePollMs);
}

// The address at which the edge will listen, with a port in place of 0: an edge that is started again must be found where
// the first one was. Fails kPortInUse, which the edge would find out only after its start, again and again.
absl::StatusOr<std::string> FreeAddress(const std::string& address) {
  ASSIGN_OR_RETURN(ListenAddress parsed, ParseListenAddress(address));
  ASSIGN_OR_RETURN(const base::Fd listener, Listen(parsed));
  parsed.port = PortOf(listener);
  return parsed.Text();
}

// DIR/edge belongs to us and holds the configuration; DIR/edge/data belongs to the edge's user.
absl::Status PrepareEdgeFolder(const Config& config, const std::vector<uint16_t>& own_ports,
                               const std::optional<ChildUser>& user) {
  const std::string folder = StrCat(config.data_dir, "/edge");
  RETURN_IF_ERROR(base::MakeFolder(folder, 0711));
  RETURN_IF_ERROR(base::MakeFolder(StrCat(folder, "/data"), 0700));
  if (user && lchown(StrCat(folder, "/data").c_str(), user->uid, user->gid) != 0)
    return base::WriteError("edge/data", errno);
  // Relative paths: the edge's user may have no way through the folders above.
  const nlohmann::json json = {{"edge", std::string(control::kChildEdge)},
                               {"data_dir", "."},
                               {"proxy", config.proxy},
                               {"gateway", config.gateway},
                               {"durability", config.durability == audit::Durability::kSync ? "sync" : "flush"},
                               {"max_connections", config.max_connections},
                               {"session_sockets", config.session_sockets},
                               {"own_ports", own_ports},
                               {"link_fd", 3}};
  return base::WriteFileAtomic(StrCat(folder, "/edge.json"), json.dump(2) + "\n", 0644);
}

class Broker {
 public:
  explicit Broker(const Config& config) : config_(config) {}

  absl::Status Start();
  int Run(const sigset_t& signals);

 private:
  absl::Status ApplyPolicyFile();
  absl::Status StartEdge();
  void Reload();
  bool AnnounceReady();
  void Print(const std::string& line) { std::cout << line << std::endl; }

  Config config_;
  std::unique_ptr<control::Core> core_;
  std::unique_ptr<control::Servers> servers_;
  std::unique_ptr<HealthServer> health_;
  std::unique_ptr<Supervisor> edge_;
  std::vector<std::string> listeners_;
};

absl::Status Broker::Start() {
  ASSIGN_OR_RETURN(core_, control::Core::Open({.data_dir = config_.data_dir, .durability = config_.durability, .declared = config_.declared},
                                              base::SystemClock()));
  if (config_.edge_enabled) {
    AwaitFormerEdge(config_.data_dir);  // we hold the folder's lock, so its broker is gone
    ASSIGN_OR_RETURN(config_.proxy, FreeAddress(config_.proxy), "the proxy's listener");
    ASSIGN_OR_RETURN(config_.gateway, FreeAddress(config_.gateway), "the gateway's listener");
  }
  RETURN_IF_ERROR(ApplyPolicyFile(), "the policy");
  ASSIGN_OR_RETURN(const ListenAddress api, ParseListenAddress(config_.api));
  ASSIGN_OR_RETURN(servers_, control::Servers::Start(*core_, {.api_address = api.Text()}));
  ASSIGN_OR_RETURN(const ListenAddress health, ParseListenAddress(config_.health));
  const auto wants_edge = config_.edge_enabled ? HealthPages::WantsEdge::kYes : HealthPages::WantsEdge::kNo;
  HealthPages pages(*core_, wants_edge);
  ASSIGN_OR_RETURN(health_, HealthServer::Start(health, [pages](std::string_view path) { return pages.Get(path); }));
  core_->notices().SetFallbackUrls(StrCat("http://", config_.proxy), StrCat("http://", config_.gateway));
  listeners_ = {StrCat("api ", servers_->api_url()), StrCat("socket ", servers_->socket_address()),
                StrCat("health ", health_->url())};
  core_->notices().SetListeners(listeners_);
  core_->StartSweeping();
  return config_.edge_enabled ? StartEdge() : absl::OkStatus();
}

absl::Status Broker::ApplyPolicyFile() {
  if (config_.policy.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const policy::PolicySource source, policy::ReadPolicySource(config_.policy));
  ASSIGN_OR_RETURN(const control::Applied applied,
                   core_->policies().Apply(source, control::DryRun::kNo,
                                           {.actor = "file", .reason = "from the file that --policy names"}));
  LogEvent(Level::kInfo, applied.unchanged ? "policy_unchanged" : "policy_applied",
           {{"version", StrCat(applied.version)}});
  for (const std::string& warning : applied.warnings) LogEvent(Level::kWarning, "policy_warning", {{"text", warning}});
  return absl::OkStatus();
}

absl::Status Broker::StartEdge() {
  std::optional<ChildUser> user;
  if (geteuid() == 0) {
    ASSIGN_OR_RETURN(user, FindUser(config_.edge_user.empty() ? "nobody" : config_.edge_user), "the edge's user");
    if (user->uid == 0) return base::Error(base::ErrorCode::kConfigInvalid, "the edge must not run as root");
  } else if (!config_.edge_user.empty()) {
    ASSIGN_OR_RETURN(const ChildUser asked, FindUser(config_.edge_user), "the edge's user");
    if (asked.uid != geteuid())
      return base::Error(base::ErrorCode::kConfigInvalid, "only root can start the edge as another user");
  }
  const auto port = [](const std::string& url) {
    uint16_t number = 0;
    base::ParseInt(std::string_view(url).substr(url.rfind(':') + 1), &number);
    return number;
  };
  RETURN_IF_ERROR(PrepareEdgeFolder(config_, {port(servers_->api_url()), health_->port()}, user), "the edge's folder");
  ChildOptions options{
      .binary = config_.edge_binary.empty() ? StrCat(FolderOfThisProgram(), "/", kEdgeProgram) : config_.edge_binary,
      .arguments = {"--config", "../edge.json"},
      .folder = StrCat(config_.data_dir, "/edge/data"),
      .user = user};
  edge_ = std::make_unique<Supervisor>(std::move(options), [this](base::Fd link) {
    if (const absl::Status adopted = servers_->AdoptEdge(std::move(link)); !adopted.ok()) {
      LogEvent(Level::kError, "edge_not_adopted", {{"error", std::string(adopted.message())}});
    }
  });
  return edge_->Start();
}

void Broker::Reload() {
  if (config_.policy.empty()) return LogEvent(Level::kWarning, "nothing_to_reload");
  if (const absl::Status applied = ApplyPolicyFile(); !applied.ok()) {
    Fatal(applied);  // printed; the policy in force stays
    LogEvent(Level::kError, "policy_refused", {{"error", std::string(applied.message())}});
  }
}

// True once everything is printed.
bool Broker::AnnounceReady() {
  if (config_.edge_enabled) {
    if (!core_->hub().ready()) return false;
    const auto view = core_->hub().Find(control::kChildEdge);
    if (!view) return false;
    for (const std::string& listener : view->hello.listeners) Print(StrCat("listening ", listener));
    listeners_.insert(listeners_.end(), view->hello.listeners.begin(), view->hello.listeners.end());
    core_->notices().SetListeners(listeners_);
  }
  Print("ready");
  return true;
}

int Broker::Run(const sigset_t& signals) {
  for (const std::string& listener : listeners_) Print(StrCat("listening ", listener));
  bool announced = false;
  while (true) {
    announced = announced || AnnounceReady();
    const timespec poll{0, kPollNanoseconds};
    const int signal = announced ? sigwaitinfo(&signals, nullptr) : sigtimedwait(&signals, nullptr, &poll);
    if (signal == SIGHUP) Reload();
    if (signal == SIGTERM || signal == SIGINT) break;
  }
  LogEvent(Level::kInfo, "draining");
  if (edge_) edge_->Stop(kEdgeGrace);  // its last entries arrive while our doors are open
  servers_->Shutdown(kCallGrace);
  health_.reset();
  servers_.reset();
  core_.reset();
  LogEvent(Level::kInfo, "stopped");
  return 0;
}

}  // namespace

int Fatal(const absl::Status& status) {
  const base::ErrorEntry& entry = base::Lookup(base::CodeOf(status));
  std::cerr << "error " << static_cast<int>(entry.code) << " " << entry.name << ": " << status.message()
            << "\nnext: " << entry.next_step << std::endl;
  return 1;
}

int Serve(const Config& config) {
  const sigset_t signals = BlockSignals();
  StartLog(config.log_level);
  if (!base::DisableCoreDumps())
    return Fatal(base::Error(base::ErrorCode::kInternal, "core dumps cannot be turned off"));
  Broker broker(config);
  if (const absl::Status started = broker.Start(); !started.ok()) return Fatal(started);
  return broker.Run(signals);
}

}  // namespace credbroker::app
