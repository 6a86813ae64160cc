#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "audit/tiles.h"
#include "audit/tree.h"

namespace credbroker::audit {

// The tree over a ledger's entries as it grows: its root and its tiles. Movable; not thread-safe.
class Chain {
 public:
  explicit Chain(std::string folder) : tiles_(std::move(folder)) {}
  // Goes on behind `size` entries, from the folder's tiles. Fails kFileUnreadable when tiles are missing.
  static absl::StatusOr<Chain> Load(const std::string& folder, uint64_t size);

  void Append(const Hash& leaf);
  // Whole lines, each with its newline.
  void AppendLines(std::string_view lines);
  absl::Status SaveTiles() { return tiles_.Save(); }

  uint64_t size() const { return range_.size(); }
  Hash Root() const { return range_.Root(); }

 private:
  Chain(TileWriter tiles, CompactRange range) : tiles_(std::move(tiles)), range_(std::move(range)) {}
  TileWriter tiles_;
  CompactRange range_;
};

}  // namespace credbroker::audit
