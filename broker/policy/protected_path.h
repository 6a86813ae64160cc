#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "policy/pattern.h"

namespace credbroker::policy {

// A path in a repository, folded segment by segment (base/file_name.h), for all patterns to look at.
class FoldedPath {
 public:
  explicit FoldedPath(std::string_view path);  // the empty path is the root
  const std::vector<std::string>& segments() const { return segments_; }

 private:
  std::vector<std::string> segments_;
};

// A path that pushes may not change: `.github/workflows/**`, `CODEOWNERS`, `/Makefile`. As in a .gitignore: a pattern without
// a slash holds in every folder, one with a slash from the root on; `*` matches within a segment, `**` any number of segments.
// What a pattern names is protected with everything below it. Compared without letter case and as careless file systems
// would (FoldFileName). A value; const use is thread-safe.
class ProtectedPath {
 public:
  // Fails kBadArgument. Limits: 512 bytes, 32 segments.
  static absl::StatusOr<ProtectedPath> Parse(std::string_view text);
  const std::string& text() const { return text_; }

  // Whether the path is protected. A link or module that stands where a folder on the way to a protected path would stand
  // counts too, since it can bring one: only where the pattern names each folder on that way.
  enum class Leaf { kFile, kLink };
  bool Covers(const FoldedPath& path, Leaf leaf) const;
  // Whether some path below this folder could be protected.
  bool MayCover(const FoldedPath& folder) const;

 private:
  // Where in the pattern one may be after some segments, one bit a position.
  using Positions = uint64_t;
  Positions Follow(const FoldedPath& path, bool* covered) const;
  Positions Spread(Positions at) const;

  std::string text_;
  std::vector<SegmentGlob> segments_;
};

// The first of `patterns` that the path is protected by, or null.
const ProtectedPath* FindCover(const std::vector<ProtectedPath>& patterns, std::string_view path, ProtectedPath::Leaf leaf);

}  // namespace credbroker::policy
