#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "audit/tree.h"

namespace credbroker::audit {

// Hash tiles in the C2SP tlog-tiles layout: tile L/N holds the 256 node hashes (8 L levels above the leaves) from
// N * 256 on; the last one of a level is partial and has its width in its name.
inline constexpr uint64_t kTileWidth = 256;
inline constexpr int kTileLevels = 8;

// `tile/0/x001/067`, or `tile/0/x001/067.p/5` for a width below 256.
std::string TilePath(int level, uint64_t index, uint64_t width);

// Node hashes out of a folder's tiles. Sizes up to the one that the tiles were written for. Not thread-safe (caches).
class TileNodes final : public NodeSource {
 public:
  TileNodes(std::string folder, uint64_t size) : folder_(std::move(folder)), size_(size) {}
  // Fails kFileUnreadable when the tile is missing or has a wrong length.
  absl::StatusOr<Hash> Node(int level, uint64_t index) const override;
  // At least the first `width` hashes of a tile, from a full tile or a partial one that is wide enough.
  absl::StatusOr<std::vector<Hash>> Tile(int level, uint64_t index, uint64_t width) const;

 private:
  std::string folder_;
  uint64_t size_;
  mutable std::map<std::pair<int, uint64_t>, std::vector<Hash>> cache_;
};

// Which tiles of level 0 are written. Most of a ledger's files are such, one for every 256 entries.
enum class LeafTiles {
  kAll,
  kNewest,  // only the partial one, from which a ledger goes on; the others can be made from the entries
};

// Collects leaf hashes into tiles and writes them. Movable; not thread-safe.
class TileWriter {
 public:
  explicit TileWriter(std::string folder) : folder_(std::move(folder)), levels_(kTileLevels) {}
  // Goes on behind `size` leaves whose tiles are in the folder. Fails as TileNodes does.
  static absl::StatusOr<TileWriter> Load(const std::string& folder, uint64_t size);

  void Write(LeafTiles which) { leaf_tiles_ = which; }
  void Append(const Hash& leaf) { Add(0, leaf); }
  uint64_t size() const { return levels_[0].full * kTileWidth + levels_[0].hashes.size(); }
  // The tree so far, made from the partial tiles: nodes above the leaves are hashed when a tile is full or asked for,
  // not twice.
  CompactRange Range() const;
  // Writes the tiles that became full, and the partial ones; removes the partial ones written before. Tiles can be made
  // anew from the entries, so they are not synced. Fails kDiskFull, kFileUnwritable; call again later.
  absl::Status Save();

 private:
  struct Level {
    uint64_t full = 0;         // full tiles so far
    std::vector<Hash> hashes;  // of the partial tile
    std::string partial_path;  // as written last
  };
  void Add(std::size_t level, const Hash& hash);

  std::string folder_;
  LeafTiles leaf_tiles_ = LeafTiles::kAll;
  std::vector<Level> levels_;
  std::vector<std::pair<std::string, std::string>> ready_;  // path and bytes of full tiles not yet written
};

}  // namespace credbroker::audit
