#include "edge/push_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.h"

namespace credbroker::edge {

using base::ErrorCode;

absl::StatusOr<std::unique_ptr<PushSpool>> PushSpool::Create(const std::string& folder, std::size_t max_bytes) {
  base::Fd file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.ok()) {
    // File systems without nameless files: one with a name, for a moment.
    std::string path = folder + "/spool-XXXXXX";
    file = base::Fd(mkostemp(path.data(), O_CLOEXEC));
    if (!file.ok()) return base::WriteError(folder, errno);
    unlink(path.c_str());
  }
  return std::unique_ptr<PushSpool>(new PushSpool(std::move(file), max_bytes));
}

absl::Status PushSpool::Append(std::string_view bytes) {
  if (size_ + bytes.size() > max_bytes_) return base::Error(ErrorCode::kBodyTooLarge);
  if (absl::Status status = base::WriteAll(file_.get(), bytes); !status.ok()) return status;
  size_ += bytes.size();
  return absl::OkStatus();
}

bool PushSpool::ReadAt(uint64_t offset, char* out, std::size_t size) {
  if (offset > size_ || size_ - offset < size) return false;
  while (size > 0) {
    const ssize_t got = pread(file_.get(), out, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    offset += static_cast<uint64_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

ContentSource::Step PushSpool::Next(std::string_view* piece) {
  constexpr std::size_t kBlock = 64 * 1024;
  if (piece_.empty()) {
    if (read_ == size_) return Step::kEnd;
    piece_.resize(std::min<uint64_t>(kBlock, size_ - read_));
    const ssize_t got = pread(file_.get(), piece_.data(), piece_.size(), static_cast<off_t>(read_));
    if (got <= 0) {
      error_ = ErrorCode::kFileUnreadable;
      return Step::kFailed;
    }
    piece_.resize(static_cast<std::size_t>(got));
    read_ += static_cast<uint64_t>(got);
  }
  *piece = piece_;
  return Step::kPiece;
}

}  // namespace credbroker::edge
