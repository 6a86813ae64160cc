#include "audit/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "audit/json_line.h"
#include "audit/segments.h"
#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::audit {
namespace {

using base::ErrorCode;
using base::StrCat;

constexpr std::size_t kBlockBytes = 256 * 1024;

absl::Status OverLong(const std::string& path) {
  return base::Error(ErrorCode::kLedgerTampered, StrCat(path, " holds a line longer than any entry"));
}

// Whole lines of a segment, and where they end.
struct Extent {
  uint64_t lines = 0;
  uint64_t end = 0;
};

absl::StatusOr<Extent> Measure(const std::string& path) {
  Extent extent;
  ASSIGN_OR_RETURN(const ScanEnd end, ScanLines(path, 0, [&](std::string_view, uint64_t) {
                     ++extent.lines;
                     return true;
                   }));
  if (end.over_long) return OverLong(path);
  extent.end = end.offset;
  return extent;
}

absl::Status ReadForward(const SegmentFile& segment, uint64_t from, const EntryVisitor& visit, bool* stopped) {
  uint64_t index = segment.first_index;
  ASSIGN_OR_RETURN(const ScanEnd end, ScanLines(segment.path, 0, [&](std::string_view line, uint64_t) {
                     const uint64_t at = index++;
                     *stopped = at >= from && !visit(at, line);
                     return !*stopped;
                   }));
  return end.over_long && !*stopped ? OverLong(segment.path) : absl::OkStatus();
}

// Visits the whole lines in `held` from the last to the first; the piece in front of the first newline stays unless the
// block begins the file.
bool VisitBackward(std::string* held, bool at_start, uint64_t from, uint64_t* index, const EntryVisitor& visit) {
  std::string_view rest = *held;
  while (!rest.empty()) {
    const std::string_view body = rest.substr(0, rest.size() - 1);  // without the newline that ends it
    const std::size_t border = body.rfind('\n');
    if (border == std::string_view::npos && !at_start) break;
    const std::size_t start = border == std::string_view::npos ? 0 : border + 1;
    if (*index <= from || !visit(*index - 1, body.substr(start))) return false;
    --*index;
    rest = rest.substr(0, start);
  }
  held->resize(rest.size());
  return true;
}

absl::Status ReadBackward(const SegmentFile& segment, uint64_t from, const EntryVisitor& visit, bool* stopped) {
  ASSIGN_OR_RETURN(const Extent extent, Measure(segment.path));
  const base::Fd file(open(segment.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  uint64_t index = segment.first_index + extent.lines;
  std::string held;
  for (uint64_t at = extent.end; at > 0;) {
    const std::size_t take = static_cast<std::size_t>(std::min<uint64_t>(at, kBlockBytes));
    std::string block(take, '\0');
    const ssize_t got = pread(file.get(), block.data(), take, static_cast<off_t>(at - take));
    if (got != static_cast<ssize_t>(take)) {
      return base::Error(ErrorCode::kFileUnreadable, StrCat(segment.path, ": ", std::strerror(errno)));
    }
    held.insert(0, block);
    at -= take;
    *stopped = !VisitBackward(&held, at == 0, from, &index, visit);
    if (*stopped) return absl::OkStatus();
  }
  return absl::OkStatus();
}

// The last segment that begins at or before `index`; segments.end() if there is none.
auto SegmentOf(const std::vector<SegmentFile>& segments, uint64_t index) {
  const auto after = std::upper_bound(segments.begin(), segments.end(), index,
                                      [](uint64_t wanted, const SegmentFile& s) { return wanted < s.first_index; });
  return after == segments.begin() ? segments.end() : after - 1;
}

// The byte where entry `index` begins in its segment. Fails kRecordNotFound behind the last entry.
absl::StatusOr<uint64_t> OffsetOf(const SegmentFile& segment, uint64_t index) {
  uint64_t at = segment.first_index;
  uint64_t offset = 0;
  if (at == index) return offset;
  RETURN_IF_ERROR(ScanLines(segment.path, 0, [&](std::string_view, uint64_t end) {
                    offset = end;
                    return ++at < index;
                  }).status());
  if (at == index) return offset;
  return base::Error(ErrorCode::kRecordNotFound, StrCat("entry ", index));
}

// Reads `bytes` at `offset`, or what there is.
absl::Status ReadBlock(const std::string& path, uint64_t offset, std::size_t bytes, std::string* out) {
  const base::Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.ok()) return base::Error(ErrorCode::kFileUnreadable, path);
  out->resize(bytes);
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got = pread(file.get(), out->data() + have, bytes - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::Error(ErrorCode::kFileUnreadable, path);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  out->resize(have);
  return absl::OkStatus();
}

// By memchr, which looks at many bytes at once; std::count takes one after the other.
uint64_t CountLines(std::string_view lines) {
  uint64_t count = 0;
  for (std::size_t end; (end = lines.find('\n')) != std::string_view::npos; lines.remove_prefix(end + 1)) ++count;
  return count;
}

// Whole lines from `offset` on, as many as fit into `max_bytes`, at least one: in one block, since a follower asks for much.
absl::StatusOr<RawLines> Collect(const std::string& path, uint64_t offset, uint64_t index, std::size_t max_bytes) {
  RawLines lines{index, 0, {}};
  RETURN_IF_ERROR(ReadBlock(path, offset, std::max(max_bytes, kMaxLeafBytes + 1), &lines.bytes));
  const std::size_t first = lines.bytes.find('\n');
  if (std::min(first, lines.bytes.size()) > kMaxLeafBytes) return OverLong(path);
  if (first == std::string::npos) return RawLines{index, 0, {}};
  if (first + 1 >= max_bytes) {
    lines.bytes.resize(first + 1);
  } else {
    lines.bytes.resize(lines.bytes.rfind('\n', max_bytes - 1) + 1);
  }
  lines.count = CountLines(lines.bytes);
  return lines;
}

}  // namespace

bool IsLedgerFolder(const std::string& folder) {
  struct stat info;
  return lstat(StrCat(folder, "/checkpoint").c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

absl::Status ReadEntries(const std::string& folder, Direction direction, uint64_t from, const EntryVisitor& visit) {
  ASSIGN_OR_RETURN(std::vector<SegmentFile> segments, ListSegments(folder));
  const auto first = SegmentOf(segments, from);
  if (first != segments.end()) segments.erase(segments.begin(), segments.begin() + (first - segments.begin()));
  const bool forward = direction == Direction::kOldestFirst;
  if (!forward) std::reverse(segments.begin(), segments.end());
  bool stopped = false;
  for (const SegmentFile& segment : segments) {
    RETURN_IF_ERROR((forward ? ReadForward : ReadBackward)(segment, from, visit, &stopped));
    if (stopped) break;
  }
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> CountEntries(const std::string& folder) {
  ASSIGN_OR_RETURN(const std::vector<SegmentFile> segments, ListSegments(folder));
  if (segments.empty()) return uint64_t{0};
  ASSIGN_OR_RETURN(const Extent extent, Measure(segments.back().path));
  return segments.back().first_index + extent.lines;
}

absl::StatusOr<std::string> ReadEntry(const std::string& folder, uint64_t index) {
  ASSIGN_OR_RETURN(RawLines lines, ReadFrom(folder, index, 1));
  if (lines.count == 0) return base::Error(ErrorCode::kRecordNotFound, StrCat("entry ", index));
  lines.bytes.pop_back();
  return std::move(lines.bytes);
}

absl::StatusOr<RawLines> ReadFrom(const std::string& folder, uint64_t index, std::size_t max_bytes) {
  ASSIGN_OR_RETURN(const std::vector<SegmentFile> segments, ListSegments(folder));
  const auto segment = SegmentOf(segments, index);
  if (segment == segments.end()) return RawLines{index, 0, {}};
  const absl::StatusOr<uint64_t> offset = OffsetOf(*segment, index);
  if (base::CodeOf(offset.status()) == ErrorCode::kRecordNotFound) return RawLines{index, 0, {}};
  RETURN_IF_ERROR(offset.status());
  return Collect(segment->path, *offset, index, max_bytes);
}

absl::StatusOr<RawLines> Follower::Next(std::size_t max_bytes) {
  if (placed_) {
    ASSIGN_OR_RETURN(RawLines lines, Collect(SegmentPath(folder_, segment_), offset_, next_, max_bytes));
    offset_ += lines.bytes.size();
    next_ += lines.count;
    if (lines.count > 0) return lines;
  }
  // Nothing more in this segment: a later one may have begun, or the ledger just begins.
  ASSIGN_OR_RETURN(const std::vector<SegmentFile> segments, ListSegments(folder_));
  const auto segment = SegmentOf(segments, next_);
  if (segment == segments.end() || (placed_ && segment->first_index == segment_)) return RawLines{next_, 0, {}};
  const absl::StatusOr<uint64_t> offset = OffsetOf(*segment, next_);
  if (base::CodeOf(offset.status()) == ErrorCode::kRecordNotFound) return RawLines{next_, 0, {}};
  RETURN_IF_ERROR(offset.status());
  segment_ = segment->first_index;
  offset_ = *offset;
  placed_ = true;
  return Next(max_bytes);
}

absl::StatusOr<uint64_t> Follower::Poll(const EntryVisitor& visit) {
  uint64_t visited = 0;
  while (true) {
    ASSIGN_OR_RETURN(const RawLines lines, Next(kBlockBytes));
    if (lines.count == 0) return visited;
    std::string_view rest = lines.bytes;
    for (uint64_t i = 0; i < lines.count; ++i) {
      const std::size_t end = rest.find('\n');
      ++visited;
      if (!visit(lines.first_index + i, rest.substr(0, end))) {
        // What the visitor did not see comes again.
        rest.remove_prefix(end + 1);
        next_ = lines.first_index + i + 1;
        offset_ -= rest.size();
        return visited;
      }
      rest.remove_prefix(end + 1);
    }
  }
}

}  // namespace credbroker::audit
