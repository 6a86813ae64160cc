#include "app/supervisor.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/macros.h"
#include "base/str.h"
#include "control/event_log.h"

namespace credbroker::app {
namespace {

using control::Level;
using control::LogEvent;

constexpr int kLinkFd = 3;
constexpr int kCannotStart = 126;

// Everything that the child needs, made before the fork: between fork and exec only async-signal-safe calls are
// allowed.
struct Launch {
  int program;
  int link;
  pid_t parent;
  const char* folder;
  const ChildUser* user;
  char* const* argv;
};

bool DropPrivileges(const ChildUser& user) {
  return setgroups(0, nullptr) == 0 && setgid(user.gid) == 0 && setuid(user.uid) == 0;
}

[[noreturn]] void RunChild(const Launch& launch) {
  sigset_t none;
  sigemptyset(&none);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) std::signal(signal, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // The program's own descriptor is moved out of the way of the link's.
  const int program = fcntl(launch.program, F_DUPFD_CLOEXEC, 10);
  const int link = fcntl(launch.link, F_DUPFD_CLOEXEC, 10);
  if (program < 0 || link < 0 || dup2(link, kLinkFd) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) _exit(kCannotStart);
  // Descriptors that a library forgot to mark must not reach the process that reads strangers' bytes.
  syscall(SYS_close_range, kLinkFd + 1, program - 1, 0);
  syscall(SYS_close_range, program + 1, ~0U, 0);
  if (*launch.folder != '\0' && chdir(launch.folder) != 0) _exit(kCannotStart);
  if (launch.user != nullptr && !DropPrivileges(*launch.user)) _exit(kCannotStart);
  // Set after the change of user, which clears it; the parent may have died before.
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != launch.parent) _exit(kCannotStart);
  // By descriptor: the folder of the program need not be open to the child's user.
  fexecve(program, launch.argv, environ);
  _exit(kCannotStart);
}

}  // namespace

absl::StatusOr<ChildUser> FindUser(const std::string& name) {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(64 * 1024);
  if (getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return base::Error(base::ErrorCode::kConfigInvalid, base::StrCat("there is no user ", name));
  }
  return ChildUser{entry.pw_uid, entry.pw_gid};
}

Supervisor::Supervisor(ChildOptions options, std::function<void(base::Fd)> on_link)
    : options_(std::move(options)), on_link_(std::move(on_link)) {}

Supervisor::~Supervisor() { Stop(absl::ZeroDuration()); }

absl::Status Supervisor::Start() {
  program_ = base::Fd(open(options_.binary.c_str(), O_RDONLY | O_CLOEXEC));
  if (!program_.ok()) return base::Error(base::ErrorCode::kFileUnreadable, options_.binary);
  thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

bool Supervisor::StartChild() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    LogEvent(Level::kError, "edge_not_started", {{"error", "socketpair"}});
    return false;
  }
  base::Fd ours(ends[0]);
  const base::Fd theirs(ends[1]);
  std::vector<std::string> words = {options_.binary};
  words.insert(words.end(), options_.arguments.begin(), options_.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const Launch launch{
      program_.get(), theirs.get(), getpid(), options_.folder.c_str(), options_.user ? &*options_.user : nullptr,
      argv.data()};
  const pid_t pid = fork();
  if (pid == 0) RunChild(launch);
  if (pid < 0) {
    LogEvent(Level::kError, "edge_not_started", {{"error", "fork"}});
    return false;
  }
  ++starts_;
  {
    const std::lock_guard lock(mutex_);
    pid_ = pid;
    if (stopping_) kill(pid, SIGTERM);  // Stop came between the check and the fork
  }
  LogEvent(Level::kInfo, "edge_started", {{"pid", base::StrCat(pid)}});
  fcntl(ours.get(), F_SETFL, O_NONBLOCK);
  on_link_(std::move(ours));
  return true;
}

void Supervisor::AwaitChild() {
  int status = 0;
  const pid_t pid = pid_;
  // The process is left as a zombie until nobody can send its number a signal any more.
  siginfo_t info{};
  while (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  {
    const std::lock_guard lock(mutex_);
    pid_ = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  }
  changed_.notify_all();
  LogEvent(Level::kWarning, "edge_ended",
           {{"pid", base::StrCat(pid)},
            {"how", WIFSIGNALED(status) ? base::StrCat("signal ", WTERMSIG(status))
                                        : base::StrCat("exit ", WEXITSTATUS(status))}});
}

void Supervisor::Run() {
  absl::Duration backoff = options_.min_backoff;
  while (true) {
    const auto started = std::chrono::steady_clock::now();
    if (StartChild()) AwaitChild();
    const absl::Duration lived = absl::FromChrono(std::chrono::steady_clock::now() - started);
    if (lived >= options_.healthy_after) backoff = options_.min_backoff;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, absl::ToChronoMilliseconds(backoff), [this] { return stopping_; })) return;
    backoff = std::min(backoff * 2, options_.max_backoff);
  }
}

void Supervisor::Stop(absl::Duration grace) {
  if (!thread_.joinable()) return;
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    if (pid_ != 0) kill(pid_, SIGTERM);
    changed_.wait_for(lock, absl::ToChronoMilliseconds(grace), [this] { return pid_ == 0; });
    if (pid_ != 0) kill(pid_, SIGKILL);
  }
  thread_.join();
}

}  // namespace credbroker::app
