#include "app/supervisor.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <iostream>
#include <mutex>

#include "kit/status_matchers.h"

namespace credbroker::app {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

// The ends of the links that the supervisor handed out, in order.
class Links {
 public:
  void Add(base::Fd fd) {
    const std::lock_guard lock(mutex_);
    links_.push_back(std::move(fd));
    changed_.notify_all();
  }
  base::Fd Next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [this] { return !links_.empty(); })) return {};
    base::Fd fd = std::move(links_.front());
    links_.pop_front();
    return fd;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<base::Fd> links_;
};

// One line from the child, or what came before it closed.
std::string ReadLine(const base::Fd& fd) {
  std::string line;
  char c = 0;
  while (true) {
    pollfd wait{fd.get(), POLLIN, 0};
    if (poll(&wait, 1, 20'000) <= 0) return line + "(timeout)";
    if (read(fd.get(), &c, 1) != 1 || c == '\n') return line;
    line.push_back(c);
  }
}

ChildOptions Shell(const std::string& script) {
  ChildOptions options{.binary = "/bin/sh", .arguments = {"-c", script}};
  options.min_backoff = absl::Milliseconds(1);
  options.max_backoff = absl::Milliseconds(4);
  return options;
}

TEST(SupervisorTest, GivesTheChildItsLinkAndNothingElse) {
  Links links;
  // By the shell alone: a pipeline would be seen with the ends that the shell has not closed yet. The listing's own descriptor
  // has gone when it is asked for.
  Supervisor supervisor(Shell("echo hello >&3; for f in /proc/$$/fd/*; do [ -e $f ] && printf '%s ' ${f##*/} >&3; done; echo >&3; read x <&3"),
                        [&](base::Fd fd) { links.Add(std::move(fd)); });
  ASSERT_THAT(supervisor.Start(), IsOk());
  const base::Fd link = links.Next();
  EXPECT_EQ(ReadLine(link), "hello");
  EXPECT_EQ(ReadLine(link), "0 1 2 3 ");
  supervisor.Stop(absl::Seconds(10));
  EXPECT_EQ(supervisor.pid(), 0);
}

TEST(SupervisorTest, StartsADeadChildAgain) {
  Links links;
  Supervisor supervisor(Shell("echo $$ >&3; read x <&3"), [&](base::Fd fd) { links.Add(std::move(fd)); });
  ASSERT_THAT(supervisor.Start(), IsOk());
  std::vector<std::string> pids;
  for (int i = 0; i < 3; ++i) {
    const base::Fd link = links.Next();
    pids.push_back(ReadLine(link));
    ASSERT_EQ(kill(std::stoi(pids.back()), SIGKILL), 0);
  }
  EXPECT_NE(pids[0], pids[1]);
  EXPECT_NE(pids[1], pids[2]);
  EXPECT_GE(supervisor.starts(), 3);
  supervisor.Stop(absl::ZeroDuration());
}

TEST(SupervisorTest, EndsAChildThatDoesNotListen) {
  Links links;
  Supervisor supervisor(Shell("trap '' TERM; echo ready >&3; while :; do read x <&3 || :; done"),
                        [&](base::Fd fd) { links.Add(std::move(fd)); });
  ASSERT_THAT(supervisor.Start(), IsOk());
  const base::Fd link = links.Next();
  EXPECT_EQ(ReadLine(link), "ready");
  supervisor.Stop(absl::Milliseconds(20));
  EXPECT_EQ(supervisor.pid(), 0);
  EXPECT_EQ(supervisor.starts(), 1);
}

TEST(SupervisorTest, DropsPrivileges) {
  if (geteuid() != 0) {
    std::cout << "not root: privileges cannot be dropped here\n";
    return;
  }
  Links links;
  ChildOptions options = Shell("id -u >&3; id -G >&3; read x <&3");
  options.user = ChildUser{65534, 65534};
  Supervisor supervisor(std::move(options), [&](base::Fd fd) { links.Add(std::move(fd)); });
  ASSERT_THAT(supervisor.Start(), IsOk());
  const base::Fd link = links.Next();
  EXPECT_EQ(ReadLine(link), "65534");
  EXPECT_EQ(ReadLine(link), "65534");
}

TEST(SupervisorTest, AMissingProgramIsSaid) {
  ChildOptions options = Shell("");
  options.binary = "/nonexistent/program";
  Supervisor supervisor(std::move(options), [](base::Fd) {});
  EXPECT_THAT(supervisor.Start(), FailsWith(ErrorCode::kFileUnreadable));
  EXPECT_THAT(FindUser("no-such-user-here"), FailsWith(ErrorCode::kConfigInvalid));
}

}  // namespace
}  // namespace credbroker::app
