#include "policy/protected_path.h"

#include "base/error.h"
#include "base/file_name.h"
#include "base/text.h"

namespace credbroker::policy {
namespace {

absl::Status Bad(std::string_view why) { return base::Error(base::ErrorCode::kBadArgument, why); }

constexpr std::size_t kMaxSegments = 32;  // a position of a pattern is a bit of 64

std::vector<std::string_view> SplitSegments(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t slash = text.find('/');
    out.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    text.remove_prefix(slash + 1);
  }
}

}  // namespace

FoldedPath::FoldedPath(std::string_view path) {
  if (path.empty()) return;
  for (const std::string_view segment : SplitSegments(path)) segments_.push_back(base::FoldFileName(segment));
}

absl::StatusOr<ProtectedPath> ProtectedPath::Parse(std::string_view text) {
  ProtectedPath out;
  out.text_ = text;
  if (text.size() > 512) return Bad("a protected path is longer than 512 bytes");
  if (base::EscapeText(text, text.size()) != text) return Bad("a protected path holds invisible characters or a backslash");
  if (text.ends_with('/')) text.remove_suffix(1);
  const bool from_root = text.find('/') != std::string_view::npos;
  if (text.starts_with('/')) text.remove_prefix(1);
  if (text.empty()) return Bad("a protected path is empty; `**` protects everything");
  if (!from_root && text != "**") out.segments_.push_back(SegmentGlob::Many());
  for (const std::string_view segment : SplitSegments(text)) {
    if (segment.empty() || segment == "." || segment == "..") return Bad("a protected path has an empty or dot segment");
    if (segment == "**") {
      out.segments_.push_back(SegmentGlob::Many());
    } else if (segment.find("**") != std::string_view::npos) {
      return Bad("`**` must be a whole segment");
    } else {
      out.segments_.push_back(SegmentGlob::One(base::FoldFileName(segment), false));
    }
  }
  if (out.segments_.size() > kMaxSegments) return Bad("a protected path has more than 32 segments");
  return out;
}

// `**` may stand for nothing: whoever is in front of it is behind it as well.
ProtectedPath::Positions ProtectedPath::Spread(Positions at) const {
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if ((at >> i & 1) != 0 && segments_[i].kind() == SegmentGlob::Kind::kMany) at |= Positions{2} << i;
  }
  return at;
}

ProtectedPath::Positions ProtectedPath::Follow(const FoldedPath& path, bool* covered) const {
  const Positions end = Positions{1} << segments_.size();
  Positions at = Spread(1);
  *covered = false;
  for (const std::string& segment : path.segments()) {
    Positions next = 0;
    for (std::size_t i = 0; i < segments_.size(); ++i) {
      if ((at >> i & 1) == 0) continue;
      if (segments_[i].kind() == SegmentGlob::Kind::kMany) {
        next |= Positions{1} << i;
      } else if (segments_[i].Matches(segment, {})) {
        next |= Positions{2} << i;
      }
    }
    at = Spread(next);
    *covered = *covered || (at & end) != 0;
  }
  return at;
}

bool ProtectedPath::Covers(const FoldedPath& path, Leaf leaf) const {
  bool covered = false;
  const Positions at = Follow(path, &covered);
  if (covered || leaf == Leaf::kFile || at == 0) return covered;
  for (std::size_t i = 0; i < path.segments().size() && i < segments_.size(); ++i) {
    if (segments_[i].kind() == SegmentGlob::Kind::kMany) return false;
  }
  return true;
}

bool ProtectedPath::MayCover(const FoldedPath& folder) const {
  bool covered = false;
  return Follow(folder, &covered) != 0 || covered;
}

const ProtectedPath* FindCover(const std::vector<ProtectedPath>& patterns, std::string_view path, ProtectedPath::Leaf leaf) {
  const FoldedPath folded(path);
  for (const ProtectedPath& pattern : patterns) {
    if (pattern.Covers(folded, leaf)) return &pattern;
  }
  return nullptr;
}

}  // namespace credbroker::policy
