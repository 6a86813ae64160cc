#include "audit/segments.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "audit/json_line.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using base::StrCat;

constexpr std::size_t kBlockBytes = 256 * 1024;
constexpr std::size_t kNameDigits = 20;

std::string EntriesFolder(const std::string& folder) { return StrCat(folder, "/entries"); }

absl::Status ReadFault(std::string_view path) {
  return base::Error(ErrorCode::kFileUnreadable, StrCat(path, ": ", std::strerror(errno)));
}

absl::Status SyncFolder(const std::string& path) {
  const base::Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok() || fsync(folder.get()) != 0) return base::WriteError(path, errno);
  return absl::OkStatus();
}

absl::StatusOr<base::Fd> CreateFile(const std::string& path, int flags) {
  base::Fd file(open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0600));
  if (!file.ok() || fchmod(file.get(), 0600) != 0) return base::WriteError(path, errno);
  return file;
}

std::string FreeName(const std::string& folder, std::string_view stem) {
  struct stat info;
  for (int n = 1;; ++n) {
    std::string path = StrCat(folder, '/', stem, n);
    if (lstat(path.c_str(), &info) != 0) return path;
  }
}

// Copies [from, to) of `in` to the end of `out`.
absl::Status Copy(int in, uint64_t from, uint64_t to, int out) {
  std::string block(kBlockBytes, '\0');
  while (from < to) {
    const ssize_t got = pread(in, block.data(), std::min<uint64_t>(block.size(), to - from), static_cast<off_t>(from));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ReadFault("ledger segment");
    if (got == 0) return base::Error(ErrorCode::kLedgerTruncated, "durable entries were cut off the open segment");
    RETURN_IF_ERROR(base::WriteAll(out, std::string_view(block).substr(0, static_cast<std::size_t>(got))));
    from += static_cast<uint64_t>(got);
  }
  return absl::OkStatus();
}

absl::Status CheckTail(int file, uint64_t offset, std::string_view lines) {
  std::string back(lines.size(), '\0');
  const ssize_t got = pread(file, back.data(), back.size(), static_cast<off_t>(offset));
  if (got != static_cast<ssize_t>(lines.size()) || back != lines) {
    return base::Error(ErrorCode::kFileUnwritable, "the segment reads back differently");
  }
  return absl::OkStatus();
}

}  // namespace

std::string SegmentPath(const std::string& folder, uint64_t first_index) {
  const std::string digits = std::to_string(first_index);
  return StrCat(EntriesFolder(folder), '/', std::string(kNameDigits - digits.size(), '0'), digits, ".jsonl");
}

absl::StatusOr<std::vector<SegmentFile>> ListSegments(const std::string& folder) {
  std::vector<SegmentFile> segments;
  const std::string entries = EntriesFolder(folder);
  const std::unique_ptr<DIR, int (*)(DIR*)> listing(opendir(entries.c_str()), &closedir);
  if (listing == nullptr && errno == ENOENT) return segments;
  if (listing == nullptr) return ReadFault(entries);
  while (const dirent* entry = readdir(listing.get())) {
    SegmentFile segment;
    const std::string_view name = entry->d_name;
    struct stat info;
    if (name.size() != kNameDigits + 6 || !name.ends_with(".jsonl")) continue;
    if (!base::ParseInt(name.substr(0, kNameDigits), &segment.first_index)) continue;
    segment.path = StrCat(entries, '/', name);
    if (lstat(segment.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    segment.bytes = static_cast<uint64_t>(info.st_size);
    segments.push_back(std::move(segment));
  }
  std::sort(segments.begin(), segments.end(), [](const auto& a, const auto& b) { return a.first_index < b.first_index; });
  return segments;
}

absl::StatusOr<ScanEnd> ScanLines(const std::string& path, uint64_t offset, const LineVisitor& visit) {
  const base::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.ok()) return ReadFault(path);
  std::string held;  // begins at `end.offset`
  ScanEnd end{offset};
  // Not a string: filling a block with zeros costs more than reading a short segment.
  for (const auto block = std::make_unique_for_overwrite<char[]>(kBlockBytes);;) {
    const ssize_t got = pread(file.get(), block.get(), kBlockBytes, static_cast<off_t>(end.offset + held.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ReadFault(path);
    if (got == 0) return end;
    held.append(block.get(), static_cast<std::size_t>(got));
    std::string_view rest = held;
    for (std::size_t length; (length = rest.find('\n')) != std::string_view::npos;) {
      if (length > kMaxLeafBytes) break;
      end.offset += length + 1;
      if (!visit(rest.substr(0, length), end.offset)) return end;
      rest.remove_prefix(length + 1);
    }
    if (std::min(rest.find('\n'), rest.size()) > kMaxLeafBytes) {
      end.over_long = true;
      return end;
    }
    held.erase(0, held.size() - rest.size());
  }
}

absl::StatusOr<base::Fd> LockFolder(const std::string& folder) {
  ASSIGN_OR_RETURN(base::Fd file, CreateFile(StrCat(folder, "/lock"), 0));
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) return base::Error(ErrorCode::kAlreadyRunning, folder);
  return file;
}

absl::Status Segments::Open(const Border& border) {
  RETURN_IF_ERROR(base::MakeFolder(EntriesFolder(folder_), 0700));
  ASSIGN_OR_RETURN(base::Fd file, CreateFile(SegmentPath(folder_, border.first_index), 0));
  file_ = std::make_shared<const base::Fd>(std::move(file));
  border_ = border;
  folder_changed_ = true;
  broken_ = false;
  return CheckInPlace();
}

absl::Status Segments::Write(std::string_view lines, uint64_t next_index) {
  if (border_.offset > 0 && border_.offset + lines.size() > segment_bytes_) RETURN_IF_ERROR(Rotate(next_index));
  ssize_t put = 0;
  do {
    put = write(file_->get(), lines.data(), lines.size());
  } while (put < 0 && errno == EINTR);
  if (put == static_cast<ssize_t>(lines.size())) {
    border_.offset += lines.size();
    return absl::OkStatus();
  }
  const int error = put < 0 ? errno : ENOSPC;  // a short write to a file means that there is no room for the rest
  if (put > 0 && ftruncate(file_->get(), static_cast<off_t>(border_.offset)) != 0) broken_ = true;
  return base::WriteError("ledger segment", error);
}

absl::Status Segments::Rotate(uint64_t next_index) {
  ASSIGN_OR_RETURN(base::Fd file, CreateFile(SegmentPath(folder_, next_index), O_TRUNC));
  retired_.push_back(std::exchange(file_, std::make_shared<const base::Fd>(std::move(file))));
  border_ = {next_index, 0};
  folder_changed_ = true;
  return absl::OkStatus();
}

Segments::Unsynced Segments::TakeUnsynced() {
  Unsynced unsynced{std::exchange(retired_, {}), std::exchange(folder_changed_, false)};
  unsynced.files.push_back(file_);
  return unsynced;
}

absl::Status Segments::Sync(const std::string& folder, const Unsynced& unsynced) {
  for (const File& file : unsynced.files) {
    if (fdatasync(file->get()) != 0) return base::WriteError("syncing a ledger segment", errno);
  }
  return unsynced.folder ? SyncFolder(EntriesFolder(folder)) : absl::OkStatus();
}

absl::Status Segments::CheckInPlace() const {
  struct stat open_file, path_file;
  const std::string path = SegmentPath(folder_, border_.first_index);
  if (fstat(file_->get(), &open_file) != 0) return ReadFault(path);
  const bool same = lstat(path.c_str(), &path_file) == 0 && open_file.st_ino == path_file.st_ino &&
                    open_file.st_dev == path_file.st_dev;
  if (!same) return base::Error(ErrorCode::kLedgerTampered, StrCat(path, " vanished or was replaced"));
  if (static_cast<uint64_t>(open_file.st_size) != border_.offset) {
    return base::Error(ErrorCode::kLedgerTampered, StrCat(path, " was changed by someone else"));
  }
  return absl::OkStatus();
}

absl::Status Segments::Restore(const Border& durable, const base::Fd& file, std::string_view lines) {
  RETURN_IF_ERROR(base::MakeFolder(EntriesFolder(folder_), 0700));
  const std::string path = SegmentPath(folder_, durable.first_index);
  const std::string fresh_path = StrCat(path, ".new");
  ASSIGN_OR_RETURN(base::Fd fresh, CreateFile(fresh_path, O_TRUNC));
  RETURN_IF_ERROR(Copy(file.get(), 0, durable.offset, fresh.get()));
  RETURN_IF_ERROR(base::WriteAll(fresh.get(), lines));
  if (fsync(fresh.get()) != 0) return base::WriteError(path, errno);
  RETURN_IF_ERROR(CheckTail(fresh.get(), durable.offset, lines));

  struct stat ours, theirs;
  const bool foreign = fstat(file.get(), &ours) == 0 && lstat(path.c_str(), &theirs) == 0 && ours.st_ino != theirs.st_ino;
  if (foreign && rename(path.c_str(), FreeName(folder_, "foreign-").c_str()) != 0) return base::WriteError(path, errno);
  if (rename(fresh_path.c_str(), path.c_str()) != 0) return base::WriteError(path, errno);
  ASSIGN_OR_RETURN(const std::vector<SegmentFile> segments, ListSegments(folder_));
  for (const SegmentFile& segment : segments) {
    if (segment.first_index > durable.first_index) unlink(segment.path.c_str());
  }
  RETURN_IF_ERROR(SyncFolder(EntriesFolder(folder_)));
  file_ = std::make_shared<const base::Fd>(std::move(fresh));
  retired_.clear();
  border_ = {durable.first_index, durable.offset + lines.size()};
  folder_changed_ = broken_ = false;
  return absl::OkStatus();
}

absl::StatusOr<std::string> SetAsideTail(const std::string& folder, const Border& border, uint64_t* bytes) {
  *bytes = 0;
  ASSIGN_OR_RETURN(const std::vector<SegmentFile> segments, ListSegments(folder));
  for (const SegmentFile& segment : segments) {
    if (segment.first_index == border.first_index) *bytes += segment.bytes - std::min(segment.bytes, border.offset);
    if (segment.first_index > border.first_index) *bytes += segment.bytes;
  }
  std::string path;
  if (*bytes > 0) {
    path = FreeName(folder, "torn-");
    ASSIGN_OR_RETURN(const base::Fd kept, CreateFile(path, O_EXCL));
    for (const SegmentFile& segment : segments) {
      if (segment.first_index < border.first_index) continue;
      const base::Fd file(open(segment.path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!file.ok()) return ReadFault(segment.path);
      const uint64_t from = segment.first_index == border.first_index ? border.offset : 0;
      RETURN_IF_ERROR(Copy(file.get(), from, segment.bytes, kept.get()));
    }
    if (fsync(kept.get()) != 0) return base::WriteError(path, errno);
    RETURN_IF_ERROR(SyncFolder(folder));
  }
  for (const SegmentFile& segment : segments) {
    if (segment.first_index > border.first_index && unlink(segment.path.c_str()) != 0) return base::WriteError(path, errno);
    if (segment.first_index != border.first_index || segment.bytes <= border.offset) continue;
    if (truncate(segment.path.c_str(), static_cast<off_t>(border.offset)) != 0) return base::WriteError(segment.path, errno);
  }
  return path;
}

}  // namespace credbroker::audit
