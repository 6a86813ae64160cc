#include "client/subprocess.h"

#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::client {
namespace {

constexpr std::array kForwarded = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

// A signal handler has no other way to know. Signals that come before there is a child wait as bits.
std::atomic<pid_t> g_child{0};
std::atomic<uint64_t> g_waiting{0};

void SendWaiting(pid_t child) {
  const uint64_t signals = g_waiting.exchange(0);
  for (const int number : kForwarded) {
    if ((signals >> number & 1) != 0) kill(child, number);
  }
}

void Forward(int number, siginfo_t* info, void*) {
  // What the kernel sends for a key press, the child gets itself.
  if (info->si_code == SI_KERNEL) return;
  const int kept = errno;
  // Noted first and looked up then, as RunProcess does it the other way round: one of the two sees both.
  g_waiting.fetch_or(uint64_t{1} << number);
  if (const pid_t child = g_child.load(); child > 0) SendWaiting(child);
  errno = kept;
}

// Forwards while it lives.
class Forwarding {
 public:
  Forwarding() {
    struct sigaction forward {};
    forward.sa_sigaction = Forward;
    forward.sa_flags = SA_SIGINFO | SA_RESTART;
    for (std::size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &forward, &before_[i]);
  }
  ~Forwarding() {
    for (std::size_t i = 0; i < kForwarded.size(); ++i) sigaction(kForwarded[i], &before_[i], nullptr);
  }
  Forwarding(const Forwarding&) = delete;
  Forwarding& operator=(const Forwarding&) = delete;

 private:
  std::array<struct sigaction, kForwarded.size()> before_{};
};

// The arrays that exec wants.
struct ExecArrays {
  ExecArrays(const std::vector<std::string>& command, const Environment& environment) : arguments(command) {
    for (const auto& [name, value] : environment) entries.push_back(base::StrCat(name, "=", value));
    for (std::string& text : arguments) argv.push_back(text.data());
    for (std::string& text : entries) envp.push_back(text.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
  }
  std::vector<std::string> arguments, entries;
  std::vector<char*> argv, envp;
};

bool IsProgram(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) && access(path.c_str(), X_OK) == 0;
}

// exec's own search would look into the PATH of this process, not of the child.
absl::StatusOr<std::string> FindProgram(const std::string& name, const Environment& environment) {
  if (name.find('/') != std::string::npos) return name;
  std::string path = Variable(environment, "PATH");
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string folder = end == at ? std::string(".") : path.substr(at, end - at);
    const std::string candidate = base::StrCat(folder, "/", name);
    if (IsProgram(candidate)) return candidate;
    at = end + 1;
  }
  return base::Error(base::ErrorCode::kFileUnreadable, base::StrCat("no such command: ", name));
}

absl::Status CannotStart(const std::string& name, int error) {
  return base::Error(base::ErrorCode::kFileUnreadable, base::StrCat("starting ", name, ": ", std::strerror(error)));
}

absl::StatusOr<pid_t> Spawn(const std::string& program, ExecArrays& arrays) {
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);  // gRPC ignores it, and an ignored signal stays ignored across exec
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = posix_spawn(&child, program.c_str(), nullptr, &attributes, arrays.argv.data(), arrays.envp.data());
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return CannotStart(program, error);
  return child;
}

int ExitCode(int status) { return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status); }

}  // namespace

absl::Status ReplaceProcess(const std::vector<std::string>& command, const Environment& environment) {
  ASSIGN_OR_RETURN(const std::string program, FindProgram(command[0], environment));
  ExecArrays arrays(command, environment);
  signal(SIGPIPE, SIG_DFL);
  execve(program.c_str(), arrays.argv.data(), arrays.envp.data());
  return CannotStart(program, errno);
}

absl::StatusOr<int> RunProcess(const std::vector<std::string>& command, const Environment& environment) {
  ASSIGN_OR_RETURN(const std::string program, FindProgram(command[0], environment));
  ExecArrays arrays(command, environment);
  const Forwarding forwarding;
  ASSIGN_OR_RETURN(const pid_t child, Spawn(program, arrays));
  g_child = child;
  SendWaiting(child);
  // The child is reaped only when nobody sends to it any more: its number may then be another's.
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  g_child = 0;
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return ExitCode(status);
}

}  // namespace credbroker::client
