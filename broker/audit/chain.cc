#include "audit/chain.h"

#include "base/macros.h"

namespace credbroker::audit {

absl::StatusOr<Chain> Chain::Load(const std::string& folder, uint64_t size) {
  ASSIGN_OR_RETURN(TileWriter tiles, TileWriter::Load(folder, size));
  return Chain(std::move(tiles));
}

void Chain::AppendLines(std::string_view lines) {
  for (std::size_t end; (end = lines.find('\n')) != std::string_view::npos; lines.remove_prefix(end + 1)) {
    Append(LeafHash(lines.substr(0, end)));
  }
}

}  // namespace credbroker::audit
