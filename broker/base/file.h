#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace credbroker::base {

// An owned file descriptor, closed when destroyed. Move-only.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd();

  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }
  int Release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

// Reads a whole regular file. Fails kFileUnreadable, or kTooLarge above `max_bytes` (checked before allocation).
absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t max_bytes);

// Replaces `path` so that after a crash either the old or the new content is there: temporary file, fsync, rename,
// fsync of the folder. The mode holds under any umask. Fails kFileUnwritable, or kDiskFull.
absl::Status WriteFileAtomic(const std::string& path, std::string_view content, mode_t mode);

// Makes the folder and its parents; the last one gets `mode` under any umask. Fails kFileUnwritable.
absl::Status MakeFolder(const std::string& path, mode_t mode);

// Refuses a path that another user owns or that group or others may write to; with `private_only` also one that
// they may read. Fails kUnsafeFile with owner and mode in the text. Roots: the effective user and root.
enum class Privacy { kReadableByOthers, kPrivate };
absl::Status CheckOwnership(const std::string& path, Privacy privacy);

// Writes every byte; retries short writes and EINTR. Fails kFileUnwritable, or kDiskFull.
absl::Status WriteAll(int fd, std::string_view bytes);

// A status for errno: kDiskFull for ENOSPC and EDQUOT, else `kFileUnwritable`.
absl::Status WriteError(std::string_view what, int error);

}  // namespace credbroker::base
