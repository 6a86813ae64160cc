#include "audit/tree.h"

#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "crypto/hash.h"

namespace credbroker::audit {
namespace {

absl::Status Refuse(std::string_view why) { return base::Error(base::ErrorCode::kLedgerTampered, why); }
absl::Status BadRange(std::string_view why) { return base::Error(base::ErrorCode::kBadArgument, why); }

// The largest power of two below `size`, which is at least 2 (RFC 6962's k).
uint64_t Split(uint64_t size) { return std::bit_floor(size - 1); }

// Root of the leaves [begin, end); begin is a multiple of the range's left split, as in every proof.
absl::StatusOr<Hash> RangeRoot(const NodeSource& nodes, uint64_t begin, uint64_t end) {
  const uint64_t size = end - begin;
  if (std::has_single_bit(size)) {
    const int level = std::countr_zero(size);
    return nodes.Node(level, begin >> level);
  }
  const uint64_t k = Split(size);
  ASSIGN_OR_RETURN(const Hash left, RangeRoot(nodes, begin, begin + k));
  ASSIGN_OR_RETURN(const Hash right, RangeRoot(nodes, begin + k, end));
  return NodeHash(left, right);
}

// PATH of RFC 6962 section 2.1.1, walked from the root down; the caller turns it round.
absl::Status Path(const NodeSource& nodes, uint64_t index, uint64_t begin, uint64_t end, std::vector<Hash>* down) {
  while (end - begin > 1) {
    const uint64_t middle = begin + Split(end - begin);
    const bool left = index < middle;
    ASSIGN_OR_RETURN(const Hash sibling, left ? RangeRoot(nodes, middle, end) : RangeRoot(nodes, begin, middle));
    down->push_back(sibling);
    (left ? end : begin) = middle;
  }
  return absl::OkStatus();
}

// Takes the proof's hashes one by one; a wrong length shows as failure.
class ProofReader {
 public:
  explicit ProofReader(std::span<const std::string> proof) : proof_(proof) {}
  bool Next(Hash* hash) { return at_ < proof_.size() && ToHash(proof_[at_++], hash); }
  bool AtEnd() const { return at_ == proof_.size(); }

 private:
  std::span<const std::string> proof_;
  std::size_t at_ = 0;
};

}  // namespace

Hash LeafHash(std::string_view entry) { return crypto::Sha256(std::string_view("\0", 1), entry); }

Hash NodeHash(const Hash& left, const Hash& right) {
  char both[65];
  both[0] = 1;
  std::memcpy(both + 1, left.data(), 32);
  std::memcpy(both + 33, right.data(), 32);
  return crypto::Sha256(std::string_view(both, sizeof both));
}

Hash EmptyRoot() { return crypto::Sha256(std::string_view()); }

bool ToHash(std::string_view bytes, Hash* hash) {
  if (bytes.size() != hash->size()) return false;
  std::memcpy(hash->data(), bytes.data(), hash->size());
  return true;
}

void CompactRange::Append(const Hash& leaf) {
  Hash hash = leaf;
  for (uint64_t size = size_; (size & 1) != 0; size >>= 1) {
    hash = NodeHash(peaks_.back(), hash);
    peaks_.pop_back();
  }
  peaks_.push_back(hash);
  ++size_;
}

Hash CompactRange::Root() const {
  if (peaks_.empty()) return EmptyRoot();
  Hash root = peaks_.back();
  for (std::size_t i = peaks_.size() - 1; i-- > 0;) root = NodeHash(peaks_[i], root);
  return root;
}

absl::StatusOr<Hash> MemoryNodes::Node(int level, uint64_t index) const {
  while (level >= 0 && level < 64 && levels_.size() <= static_cast<std::size_t>(level)) {
    const std::vector<Hash>& below = levels_.back();
    std::vector<Hash> next;
    for (std::size_t i = 0; i + 1 < below.size(); i += 2) next.push_back(NodeHash(below[i], below[i + 1]));
    levels_.push_back(std::move(next));
  }
  if (level < 0 || level >= 64 || index >= levels_[static_cast<std::size_t>(level)].size()) return BadRange("outside the tree");
  return levels_[static_cast<std::size_t>(level)][index];
}

absl::StatusOr<CompactRange> LoadRange(const NodeSource& nodes, uint64_t size) {
  std::vector<Hash> peaks;
  uint64_t begin = 0;
  for (int level = 63; level >= 0; --level) {
    if ((size >> level & 1) == 0) continue;
    ASSIGN_OR_RETURN(const Hash peak, nodes.Node(level, begin >> level));
    peaks.push_back(peak);
    begin += uint64_t{1} << level;
  }
  return CompactRange(size, std::move(peaks));
}

absl::StatusOr<Hash> RootAt(const NodeSource& nodes, uint64_t size) {
  ASSIGN_OR_RETURN(const CompactRange range, LoadRange(nodes, size));
  return range.Root();
}

absl::StatusOr<std::vector<Hash>> ProveInclusion(const NodeSource& nodes, uint64_t index, uint64_t size) {
  if (index >= size) return BadRange("index outside the tree");
  std::vector<Hash> down;
  RETURN_IF_ERROR(Path(nodes, index, 0, size, &down));
  return std::vector<Hash>(down.rbegin(), down.rend());
}

absl::StatusOr<std::vector<Hash>> ProveConsistency(const NodeSource& nodes, uint64_t size1, uint64_t size2) {
  if (size1 == 0 || size1 > size2) return BadRange("no consistency proof between these sizes");
  // SUBPROOF of RFC 6962 section 2.1.2, from the root down. `whole`: the old tree is still a complete left part.
  std::vector<Hash> down;
  uint64_t begin = 0, end = size2;
  bool whole = true;
  while (end != size1) {
    const uint64_t middle = begin + Split(end - begin);
    const bool left = size1 <= middle;
    ASSIGN_OR_RETURN(const Hash sibling, left ? RangeRoot(nodes, middle, end) : RangeRoot(nodes, begin, middle));
    down.push_back(sibling);
    if (!left) whole = false;
    (left ? end : begin) = middle;
  }
  if (!whole) {
    ASSIGN_OR_RETURN(const Hash last, RangeRoot(nodes, begin, end));
    down.push_back(last);
  }
  return std::vector<Hash>(down.rbegin(), down.rend());
}

// RFC 9162 section 2.1.3.2.
absl::Status CheckInclusion(uint64_t index, uint64_t size, std::string_view leaf_hash,
                            std::span<const std::string> proof, std::string_view root) {
  Hash hash, expected, sibling;
  if (index >= size) return Refuse("index outside the tree");
  if (!ToHash(leaf_hash, &hash) || !ToHash(root, &expected)) return Refuse("a hash has not 32 bytes");
  ProofReader reader(proof);
  uint64_t last = size - 1;
  for (uint64_t at = index; last > 0; at >>= 1, last >>= 1) {
    if ((at & 1) == 0 && at == last) continue;  // a right edge without sibling at this level
    if (!reader.Next(&sibling)) return Refuse("the proof is too short, or a hash has not 32 bytes");
    hash = (at & 1) != 0 ? NodeHash(sibling, hash) : NodeHash(hash, sibling);
  }
  if (!reader.AtEnd()) return Refuse("the proof is too long");
  if (hash != expected) return Refuse("the proof leads to another root");
  return absl::OkStatus();
}

// RFC 9162 section 2.1.4.2.
absl::Status CheckConsistency(uint64_t size1, uint64_t size2, std::string_view root1, std::string_view root2,
                              std::span<const std::string> proof) {
  Hash old_root, new_root, sibling;
  if (size1 == 0 || size1 > size2) return Refuse("no consistency can be proven between these sizes");
  if (!ToHash(root1, &old_root) || !ToHash(root2, &new_root)) return Refuse("a root has not 32 bytes");
  ProofReader reader(proof);
  if (size1 == size2) {
    return reader.AtEnd() && old_root == new_root ? absl::OkStatus() : Refuse("equal sizes need equal roots and no proof");
  }
  uint64_t at = size1 - 1, last = size2 - 1;
  for (; (at & 1) != 0; at >>= 1) last >>= 1;
  Hash old_hash = old_root;
  if (at != 0 && !reader.Next(&old_hash)) return Refuse("the proof is too short, or a hash has not 32 bytes");
  Hash new_hash = old_hash;
  for (; last > 0; at >>= 1, last >>= 1) {
    if ((at & 1) == 0 && at == last) continue;
    if (!reader.Next(&sibling)) return Refuse("the proof is too short, or a hash has not 32 bytes");
    if ((at & 1) != 0) {
      old_hash = NodeHash(sibling, old_hash);
      new_hash = NodeHash(sibling, new_hash);
    } else {
      new_hash = NodeHash(new_hash, sibling);
    }
  }
  if (!reader.AtEnd()) return Refuse("the proof is too long");
  if (old_hash != old_root || new_hash != new_root) return Refuse("the proof leads to other roots");
  return absl::OkStatus();
}

}  // namespace credbroker::audit
