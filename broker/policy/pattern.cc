#include "policy/pattern.h"

#include "absl/container/inlined_vector.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "model/target.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using Segments = absl::InlinedVector<std::string_view, 16>;

constexpr std::string_view kSession = "{session}";

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadArgument, why); }

Segments Split(std::string_view text) {
  Segments out;
  for (;;) {
    const std::size_t slash = text.find('/');
    out.push_back(text.substr(0, slash));
    if (slash == std::string_view::npos) return out;
    text.remove_prefix(slash + 1);
  }
}

// Backtracks to the last kMany only, which is enough: an earlier one could take no more than a later one can.
bool MatchSegments(const std::vector<SegmentGlob>& pattern, const Segments& text, std::string_view session) {
  std::size_t p = 0, t = 0;
  std::size_t many = std::string_view::npos, many_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p].kind() == SegmentGlob::Kind::kMany) {
      many = p++;
      many_text = t;
    } else if (p < pattern.size() && pattern[p].Matches(text[t], session)) {
      ++p;
      ++t;
    } else if (many != std::string_view::npos) {
      p = many + 1;
      t = ++many_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p].kind() == SegmentGlob::Kind::kMany) ++p;
  return p == pattern.size();
}

int Hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string Decoded(std::string_view path) {
  std::string out;
  out.reserve(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool coded = path[i] == '%' && i + 2 < path.size() && Hex(path[i + 1]) >= 0 && Hex(path[i + 2]) >= 0;
    out.push_back(coded ? static_cast<char>(Hex(path[i + 1]) * 16 + Hex(path[i + 2])) : path[i]);
    if (coded) i += 2;
  }
  return out;
}

bool IsHexId(std::string_view name) {
  if (name.size() != 40 && name.size() != 64) return false;
  for (const char c : name) {
    if (Hex(c) < 0) return false;
  }
  return true;
}

bool IsPlainComponent(std::string_view part) {
  return !part.empty() && part.front() != '.' && part.front() != '-' && !part.ends_with(".lock") &&
         !part.ends_with('.');
}

bool IsRepositoryByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool EqualsLowered(std::string_view lowered, std::string_view text) {
  if (lowered.size() != text.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (lowered[i] != Lower(text[i])) return false;
  }
  return true;
}

absl::Status AddSegments(std::string_view text, bool with_session, bool many_needs_one, std::vector<SegmentGlob>* out) {
  for (const std::string_view segment : Split(text)) {
    if (segment == "**") {
      if (many_needs_one) out->push_back(SegmentGlob::One("*", false));
      out->push_back(SegmentGlob::Many());
      continue;
    }
    if (segment.find("**") != std::string_view::npos) return Bad("`**` must be a whole segment");
    out->push_back(SegmentGlob::One(segment, with_session));
  }
  return absl::OkStatus();
}

}  // namespace

SegmentGlob SegmentGlob::One(std::string_view text, bool with_session) {
  SegmentGlob out(Kind::kOne);
  const auto text_piece = [&](std::string_view bytes) {
    if (!bytes.empty()) out.pieces_.push_back({Piece::kText, std::string(bytes)});
  };
  while (!text.empty()) {
    const std::size_t star = text.find('*');
    const std::size_t session = with_session ? text.find(kSession) : std::string_view::npos;
    const std::size_t next = std::min(star, session);
    text_piece(text.substr(0, next));
    if (next == std::string_view::npos) break;
    out.pieces_.push_back({next == star ? Piece::kStar : Piece::kSession, {}});
    text.remove_prefix(next + (next == star ? 1 : kSession.size()));
  }
  return out;
}

bool SegmentGlob::Matches(std::string_view segment, std::string_view session) const {
  if (literal()) return segment == text();
  if (pieces_.empty() || segment.empty()) return pieces_.empty() && segment.empty();
  std::size_t piece = 0, at = 0;
  std::size_t star = std::string_view::npos, star_at = 0;
  for (;;) {
    if (piece == pieces_.size() && at == segment.size()) return true;
    if (piece < pieces_.size() && pieces_[piece].kind == Piece::kStar) {
      star = piece++;
      star_at = at;
      continue;
    }
    if (piece < pieces_.size()) {
      const std::string_view want = pieces_[piece].kind == Piece::kSession ? session : pieces_[piece].text;
      if (!want.empty() && segment.substr(at).starts_with(want)) {
        ++piece;
        at += want.size();
        continue;
      }
    }
    if (star == std::string_view::npos || star_at >= segment.size()) return false;
    piece = star + 1;
    at = ++star_at;
  }
}

absl::StatusOr<RefPattern> RefPattern::Parse(std::string_view text) {
  if (text.size() > 512) return Bad("a ref pattern is longer than 512 bytes");
  if (!text.starts_with("refs/")) return Bad("a ref pattern starts with `refs/`");
  RefPattern out;
  out.text_ = text;
  // What stands for `*` and `{session}` is a letter here: the rest must be a name that git takes.
  std::string sample;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const std::string_view wild =
        rest.starts_with(kSession) ? kSession : rest.substr(0, rest.starts_with("**") ? 2 : 1);
    const bool is_wild = wild == kSession || wild.front() == '*';
    sample += !is_wild ? wild : wild == "**" ? "x/x" : "x";
    i += wild.size() - 1;
  }
  if (sample.find_first_of("{}") != std::string::npos) return Bad("the only placeholder is `{session}`");
  if (!IsPlainRef(sample))
    return Bad("no ref that git takes could match; `*`, `**` and `{session}` are the only metacharacters");
  RETURN_IF_ERROR(AddSegments(text, true, true, &out.segments_));
  if (out.segments_.size() > 32) return Bad("a ref pattern has more than 32 segments");
  return out;
}

bool RefPattern::Matches(std::string_view ref, std::string_view session) const {
  const Segments parts = Split(ref);
  if (parts.size() < 2 || segments_.size() < 2) return false;
  // Hidden namespaces (refs/pull, refs/for, refs/replace) change more than a branch: a wildcard never reaches them.
  const bool named = segments_[1].kind() == SegmentGlob::Kind::kOne && segments_[1].literal();
  if (parts[1] != "heads" && parts[1] != "tags" && !named) return false;
  return MatchSegments(segments_, parts, session);
}

std::string RefPattern::Filled(std::string_view session) const {
  std::string out = text_;
  for (std::size_t at = out.find(kSession); at != std::string::npos; at = out.find(kSession, at + session.size())) {
    out.replace(at, kSession.size(), session);
  }
  return out;
}

absl::StatusOr<PathPattern> PathPattern::Parse(std::string_view text, Comparison comparison) {
  if (text.size() > 1024) return Bad("a path pattern is longer than 1024 bytes");
  RETURN_IF_ERROR(model::CheckPath(text), "no canonical path could match");
  PathPattern out;
  out.text_ = text;
  out.comparison_ = comparison;
  std::string decoded = Decoded(text.substr(1));
  if (comparison == Comparison::kLoose) {
    decoded = base::AsciiLower(decoded);
    if (decoded.ends_with('/')) decoded.pop_back();
  }
  RETURN_IF_ERROR(AddSegments(decoded, false, false, &out.segments_));
  return out;
}

bool PathPattern::Matches(std::string_view path) const {
  if (!path.starts_with('/')) return false;
  path.remove_prefix(1);
  if (comparison_ == Comparison::kExact && path.find('%') == std::string_view::npos) {
    return MatchSegments(segments_, Split(path), {});
  }
  std::string decoded = Decoded(path);
  if (comparison_ == Comparison::kLoose) {
    decoded = base::AsciiLower(decoded);
    if (decoded.ends_with('/')) decoded.pop_back();
  }
  return MatchSegments(segments_, Split(decoded), {});
}

absl::StatusOr<RepositoryPattern> RepositoryPattern::Parse(std::string_view text, int min_segments, int max_segments) {
  RepositoryPattern out;
  out.key_ = base::AsciiLower(text);
  if (out.key_.size() > 250) return Bad("a repository name is longer than 250 bytes");
  if (out.key_.ends_with(".git")) out.key_.resize(out.key_.size() - 4);
  out.owner_wide_ = out.key_.ends_with("/*");
  const Segments parts = Split(out.key_);
  const int count = static_cast<int>(parts.size());
  if (count < min_segments || count > max_segments) return Bad("a repository is written `owner/name` or `owner/*`");
  for (int i = 0; i < count - (out.owner_wide_ ? 1 : 0); ++i) {
    if (parts[i].empty() || parts[i] == "." || parts[i] == "..")
      return Bad("a repository name has an empty or dot segment");
    for (const char c : parts[i]) {
      if (!IsRepositoryByte(c))
        return Bad("a repository name holds letters, digits, `-`, `_` and `.`; `*` only as `owner/*`");
    }
  }
  if (out.owner_wide_) out.key_.resize(out.key_.size() - 2);
  return out;
}

bool RepositoryPattern::Matches(std::string_view name) const {
  if (!owner_wide_) return EqualsLowered(key_, name);
  const std::size_t slash = name.rfind('/');
  if (slash == std::string_view::npos || slash + 1 == name.size() || !EqualsLowered(key_, name.substr(0, slash)))
    return false;
  return !base::AsciiLower(name).ends_with(".wiki");
}

bool IsPlainRef(std::string_view ref) {
  if (!ref.starts_with("refs/") || ref.size() > 1024) return false;
  bool ascii = true;
  for (std::size_t i = 0; i < ref.size(); ++i) {
    const auto c = static_cast<unsigned char>(ref[i]);
    if (c <= 0x20 || c == 0x7F || std::string_view("~^:?*[\\").find(ref[i]) != std::string_view::npos) return false;
    if (i > 0 && ((ref[i - 1] == '.' && c == '.') || (ref[i - 1] == '@' && c == '{'))) return false;
    ascii = ascii && c < 0x80;
  }
  const Segments parts = Split(ref);
  if (parts.size() < 3) return false;
  for (const std::string_view part : parts) {
    if (!IsPlainComponent(part)) return false;
  }
  // `refs/heads/refs/...`, ids and HEAD are read as something else wherever short names are resolved.
  if (parts[2] == "refs" || (parts.size() == 3 && (IsHexId(parts[2]) || parts[2] == "HEAD" || parts[2] == "@")))
    return false;
  return ascii || base::EscapeText(ref, ref.size()) == ref;
}

}  // namespace credbroker::policy
