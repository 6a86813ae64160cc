#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace credbroker::audit {

// The Merkle tree of RFC 6962 section 2.1 over SHA-256. Sizes and indexes are unsigned 64 bit. All functions are pure
// and thread-safe.
using Hash = std::array<uint8_t, 32>;

Hash LeafHash(std::string_view entry);
Hash NodeHash(const Hash& left, const Hash& right);
Hash EmptyRoot();  // SHA-256 of nothing

inline std::string_view Bytes(const Hash& hash) { return {reinterpret_cast<const char*>(hash.data()), hash.size()}; }
// False unless there are exactly 32 bytes.
bool ToHash(std::string_view bytes, Hash* hash);

// The roots of the complete subtrees of a tree, largest first: enough to grow it and to know its root.
class CompactRange {
 public:
  CompactRange() = default;
  CompactRange(uint64_t size, std::vector<Hash> peaks) : size_(size), peaks_(std::move(peaks)) {}
  void Append(const Hash& leaf);
  Hash Root() const;
  uint64_t size() const { return size_; }

 private:
  uint64_t size_ = 0;
  std::vector<Hash> peaks_;
};

// Gives the root of the complete subtree over leaves [index << level, (index + 1) << level).
class NodeSource {
 public:
  virtual ~NodeSource() = default;
  virtual absl::StatusOr<Hash> Node(int level, uint64_t index) const = 0;
};

// All leaves in memory, for tests, small trees and verification.
class MemoryNodes final : public NodeSource {
 public:
  explicit MemoryNodes(std::vector<Hash> leaves) : levels_{std::move(leaves)} {}
  // Fails kBadArgument outside the tree.
  absl::StatusOr<Hash> Node(int level, uint64_t index) const override;

 private:
  mutable std::vector<std::vector<Hash>> levels_;  // filled upwards when first asked: not thread-safe
};

absl::StatusOr<CompactRange> LoadRange(const NodeSource& nodes, uint64_t size);
absl::StatusOr<Hash> RootAt(const NodeSource& nodes, uint64_t size);

// Proof paths, leaf to root. Fail kBadArgument when index >= size, size1 > size2 or size1 == 0.
absl::StatusOr<std::vector<Hash>> ProveInclusion(const NodeSource& nodes, uint64_t index, uint64_t size);
absl::StatusOr<std::vector<Hash>> ProveConsistency(const NodeSource& nodes, uint64_t size1, uint64_t size2);

// Check a proof from a stranger. Hashes are raw bytes; one that has not 32 is refused. Fail kLedgerTampered.
absl::Status CheckInclusion(uint64_t index, uint64_t size, std::string_view leaf_hash,
                            std::span<const std::string> proof, std::string_view root);
// Equal sizes need equal roots and an empty proof. From size 0 nothing can be proven: that is an error, even to 0.
absl::Status CheckConsistency(uint64_t size1, uint64_t size2, std::string_view root1, std::string_view root2,
                              std::span<const std::string> proof);

}  // namespace credbroker::audit
