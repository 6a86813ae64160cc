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

  void Write(LeafTiles which) { tiles_.Write(which); }
  void Append(const Hash& leaf) { tiles_.Append(leaf); }
  // Whole lines, each with its newline.
  void AppendLines(std::string_view lines);
  absl::Status SaveTiles() { return tiles_.Save(); }

  uint64_t size() const { return tiles_.size(); }
  // Costs up to some hundred hashes: for a checkpoint, not for each entry.
  Hash Root() const { return tiles_.Range().Root(); }

 private:
  explicit Chain(TileWriter tiles) : tiles_(std::move(tiles)) {}
  TileWriter tiles_;
};

}  // namespace credbroker::audit
