#include "audit/tiles.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::audit {
namespace {

constexpr std::size_t kCachedTiles = 64;

Hash Fold(const Hash* hashes, std::size_t count) {
  if (count == 1) return *hashes;
  return NodeHash(Fold(hashes, count / 2), Fold(hashes + count / 2, count / 2));
}

std::string TileBytes(const std::vector<Hash>& hashes) {
  std::string bytes;
  bytes.reserve(hashes.size() * 32);
  for (const Hash& hash : hashes) bytes.append(Bytes(hash));
  return bytes;
}

base::Fd CreateFresh(const std::string& path) {
  return base::Fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
}

// In place: a reader takes half a tile for a missing one, and a tile cut off by a kill is written again, since the checkpoint
// that covers it comes later. A rename would cost as much as the file.
absl::Status WriteTile(const std::string& folder, const std::string& path, std::string_view bytes) {
  const std::string full = base::StrCat(folder, '/', path);
  base::Fd file = CreateFresh(full);
  if (!file.ok() && errno == ENOENT) {  // the first tile of its folder
    for (std::size_t at = folder.size() + 1; (at = full.find('/', at)) != std::string::npos; ++at) {
      RETURN_IF_ERROR(base::MakeFolder(full.substr(0, at), 0700));
    }
    file = CreateFresh(full);
  }
  if (!file.ok()) return base::WriteError(full, errno);
  return base::WriteAll(file.get(), bytes);
}

}  // namespace

std::string TilePath(int level, uint64_t index, uint64_t width) {
  char digits[8];
  std::snprintf(digits, sizeof digits, "%03u", static_cast<unsigned>(index % 1000));
  std::string path = digits;
  for (index /= 1000; index > 0; index /= 1000) {
    std::snprintf(digits, sizeof digits, "x%03u", static_cast<unsigned>(index % 1000));
    path = base::StrCat(std::string_view(digits), '/', path);
  }
  path = base::StrCat("tile/", level, '/', path);
  return width == kTileWidth ? path : base::StrCat(path, ".p/", width);
}

absl::StatusOr<std::vector<Hash>> TileNodes::Tile(int level, uint64_t index, uint64_t width) const {
  const auto key = std::make_pair(level, index);
  if (const auto found = cache_.find(key); found != cache_.end() && found->second.size() >= width) return found->second;
  // Partial tiles of greater width come from later checkpoints; the full one replaces them all.
  const uint64_t last = level < kTileLevels ? (size_ >> (8 * level)) : 0;
  const uint64_t likely = last > index * kTileWidth ? std::min(kTileWidth, last - index * kTileWidth) : width;
  std::vector<uint64_t> widths = {likely, kTileWidth};
  for (uint64_t other = width; other < kTileWidth; ++other) widths.push_back(other);
  for (const uint64_t candidate : widths) {
    if (candidate < width) continue;
    const absl::StatusOr<std::string> bytes =
        base::ReadFile(base::StrCat(folder_, '/', TilePath(level, index, candidate)), kTileWidth * 32);
    if (!bytes.ok() || bytes->size() != candidate * 32) continue;
    std::vector<Hash> hashes(candidate);
    for (std::size_t i = 0; i < candidate; ++i) ToHash(std::string_view(*bytes).substr(i * 32, 32), &hashes[i]);
    if (cache_.size() >= kCachedTiles) cache_.clear();
    return cache_[key] = std::move(hashes);
  }
  return base::Error(base::ErrorCode::kFileUnreadable, base::StrCat("hash tile missing: ", TilePath(level, index, width)));
}

absl::StatusOr<Hash> TileNodes::Node(int level, uint64_t index) const {
  if (level < 0 || level >= 64 || (level > 0 && index >> (64 - level) != 0)) {
    return base::Error(base::ErrorCode::kBadArgument, "no such node");
  }
  const int inside = level % 8;
  const uint64_t first = index << inside;
  const uint64_t count = uint64_t{1} << inside;
  const uint64_t offset = first % kTileWidth;
  ASSIGN_OR_RETURN(const std::vector<Hash> tile, Tile(level / 8, first / kTileWidth, offset + count));
  return Fold(&tile[offset], count);
}

absl::StatusOr<TileWriter> TileWriter::Load(const std::string& folder, uint64_t size) {
  TileWriter writer(folder);
  const TileNodes nodes(folder, size);
  for (int i = 0; i < kTileLevels; ++i) {
    Level& level = writer.levels_[static_cast<std::size_t>(i)];
    const uint64_t hashes = size >> (8 * i);
    const uint64_t width = hashes % kTileWidth;
    level.full = hashes / kTileWidth;
    if (width == 0) continue;
    ASSIGN_OR_RETURN(std::vector<Hash> tile, nodes.Tile(i, level.full, width));
    tile.resize(width);
    level.hashes = std::move(tile);
    level.partial_path = TilePath(i, level.full, width);
  }
  return writer;
}

void TileWriter::Add(std::size_t number, const Hash& hash) {
  if (number >= levels_.size()) return;  // 2^64 leaves
  Level& level = levels_[number];
  level.hashes.push_back(hash);
  if (level.hashes.size() < kTileWidth) return;
  if (number > 0 || leaf_tiles_ == LeafTiles::kAll) {
    ready_.emplace_back(TilePath(static_cast<int>(number), level.full, kTileWidth), TileBytes(level.hashes));
  }
  const Hash root = Fold(level.hashes.data(), kTileWidth);
  ++level.full;
  level.hashes.clear();
  Add(number + 1, root);
}

CompactRange TileWriter::Range() const {
  std::vector<Hash> peaks;
  for (std::size_t number = levels_.size(); number-- > 0;) {
    const std::vector<Hash>& hashes = levels_[number].hashes;
    std::size_t begin = 0;
    for (std::size_t width = kTileWidth / 2; width > 0; width /= 2) {
      if ((hashes.size() & width) == 0) continue;
      peaks.push_back(Fold(&hashes[begin], width));
      begin += width;
    }
  }
  return CompactRange(size(), std::move(peaks));
}

absl::Status TileWriter::Save() {
  while (!ready_.empty()) {
    RETURN_IF_ERROR(WriteTile(folder_, ready_.front().first, ready_.front().second), "writing a hash tile");
    ready_.erase(ready_.begin());
  }
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    Level& level = levels_[i];
    std::string path;
    if (!level.hashes.empty()) path = TilePath(static_cast<int>(i), level.full, level.hashes.size());
    if (path == level.partial_path) continue;
    if (!path.empty()) RETURN_IF_ERROR(WriteTile(folder_, path, TileBytes(level.hashes)), "writing a hash tile");
    if (!level.partial_path.empty()) {
      const std::string old = base::StrCat(folder_, '/', level.partial_path);
      unlink(old.c_str());
      rmdir(old.substr(0, old.rfind('/')).c_str());  // `NNN.p` goes when its last width goes
    }
    level.partial_path = path;
  }
  return absl::OkStatus();
}

}  // namespace credbroker::audit
