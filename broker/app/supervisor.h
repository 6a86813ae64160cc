#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/file.h"

namespace credbroker::app {

// A user that a child runs as.
struct ChildUser {
  uid_t uid = 0;
  gid_t gid = 0;
};
// Fails kConfigInvalid when there is no such user.
absl::StatusOr<ChildUser> FindUser(const std::string& name);

struct ChildOptions {
  std::string binary;
  std::vector<std::string> arguments;  // without the program's name
  std::string folder;                  // working folder, entered before privileges are dropped; empty = ours
  std::optional<ChildUser> user;       // dropped to when given; needs root
  absl::Duration min_backoff = absl::Milliseconds(100);
  absl::Duration max_backoff = absl::Seconds(5);
  absl::Duration healthy_after = absl::Seconds(10);  // a child that lived this long starts the backoff anew
};

// Keeps one child process alive. The child gets one end of a fresh socket pair as descriptor 3, no other descriptor but
// standard streams (its output goes to our standard error), no supplementary groups, and dies with us.
class Supervisor {
 public:
  // `on_link` gets our end (non-blocking) just before each start.
  Supervisor(ChildOptions options, std::function<void(base::Fd)> on_link);
  // Stop with no grace, if that was not called.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Fails kFileUnreadable when the program is missing.
  absl::Status Start();
  // SIGTERM, and SIGKILL after `grace`. Returns when the child is gone and none will be started. Idempotent.
  void Stop(absl::Duration grace);

  pid_t pid() const { return pid_; }  // 0: none now
  int starts() const { return starts_; }

 private:
  void Run();
  bool StartChild();
  void AwaitChild();

  const ChildOptions options_;
  const std::function<void(base::Fd)> on_link_;
  base::Fd program_;
  std::atomic<pid_t> pid_{0};
  std::atomic<int> starts_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace credbroker::app
