#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/str.h"
#include "absl/strings/str_format.h"
#include "base/error.h"

namespace credbroker::base {
namespace {

std::string Parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

absl::Status SyncFolder(const std::string& path) {
  const Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok() || fsync(folder.get()) != 0) return WriteError(path, errno);
  return absl::OkStatus();
}

absl::Status WriteAndSync(const std::string& path, std::string_view content, mode_t mode) {
  const Fd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, mode & 0600));
  if (!file.ok()) return WriteError(path, errno);
  if (fchmod(file.get(), mode) != 0) return WriteError(path, errno);  // the umask has no say
  if (absl::Status status = WriteAll(file.get(), content); !status.ok()) return status;
  if (fsync(file.get()) != 0) return WriteError(path, errno);
  return absl::OkStatus();
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

Fd::~Fd() {
  if (fd_ >= 0) close(fd_);
}

absl::Status WriteError(std::string_view what, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  return Error(full ? ErrorCode::kDiskFull : ErrorCode::kFileUnwritable, StrCat(what, ": ", std::strerror(error)));
}

absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t max_bytes) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (!file.ok() || fstat(file.get(), &info) != 0) {
    return Error(ErrorCode::kFileUnreadable, StrCat(path, ": ", std::strerror(errno)));
  }
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) return Error(ErrorCode::kFileUnreadable, StrCat(path, ": not a regular file"));
  std::string content;
  char block[16384];
  while (true) {
    const ssize_t got = read(file.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error(ErrorCode::kFileUnreadable, StrCat(path, ": ", std::strerror(errno)));
    if (got == 0) return content;
    if (content.size() + static_cast<std::size_t>(got) > max_bytes) {
      return Error(ErrorCode::kTooLarge, StrCat(path, ": more than ", max_bytes, " bytes"));
    }
    content.append(block, static_cast<std::size_t>(got));
  }
}

absl::Status WriteFileAtomic(const std::string& path, std::string_view content, mode_t mode) {
  const std::string temporary = StrCat(path, ".new");
  absl::Status status = WriteAndSync(temporary, content, mode);
  if (status.ok() && rename(temporary.c_str(), path.c_str()) != 0) status = WriteError(path, errno);
  if (!status.ok()) {
    unlink(temporary.c_str());
    return status;
  }
  return SyncFolder(Parent(path));
}

absl::Status MakeFolder(const std::string& path, mode_t mode) {
  struct stat info;
  if (stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return absl::OkStatus();
    return Error(ErrorCode::kFileUnwritable, StrCat(path, ": exists and is not a folder"));
  }
  const std::string parent = Parent(path);
  if (parent != path) {
    if (absl::Status status = MakeFolder(parent, 0755); !status.ok()) return status;
  }
  if (mkdir(path.c_str(), mode & 0700) != 0 && errno != EEXIST) return WriteError(path, errno);
  if (chmod(path.c_str(), mode) != 0) return WriteError(path, errno);
  return absl::OkStatus();
}

absl::Status CheckOwnership(const std::string& path, Privacy privacy) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return Error(ErrorCode::kFileUnreadable, StrCat(path, ": ", std::strerror(errno)));
  const mode_t forbidden = privacy == Privacy::kPrivate ? 0077 : 0022;
  const bool foreign = info.st_uid != geteuid() && info.st_uid != 0;
  if (!foreign && (info.st_mode & forbidden) == 0 && !S_ISLNK(info.st_mode)) return absl::OkStatus();
  return Error(ErrorCode::kUnsafeFile, absl::StrFormat("%s: owner %d, mode %04o", path, info.st_uid, info.st_mode & 07777));
}

absl::Status WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return WriteError("write", put == 0 ? ENOSPC : errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return absl::OkStatus();
}

}  // namespace credbroker::base
