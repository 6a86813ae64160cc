#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace credbroker::policy {

// One segment of a pattern: text in which `*` stands for any bytes of the segment, and `{session}` for the session's
// id, which is compared as data. A lone `*` needs at least one byte. There are no other metacharacters.
class SegmentGlob {
 public:
  enum class Kind { kOne, kMany };  // kMany: any number of whole segments, none included

  static SegmentGlob Many() { return SegmentGlob(Kind::kMany); }
  // `text` holds no slash. Placeholders are read only when `with_session`.
  static SegmentGlob One(std::string_view text, bool with_session);

  Kind kind() const { return kind_; }
  bool literal() const { return pieces_.size() == 1 && pieces_.front().kind == Piece::kText; }
  std::string_view text() const {
    return pieces_.empty() ? std::string_view() : std::string_view(pieces_.front().text);
  }
  bool Matches(std::string_view segment, std::string_view session) const;

 private:
  struct Piece {
    enum Kind { kText, kStar, kSession } kind;
    std::string text;
  };
  explicit SegmentGlob(Kind kind) : kind_(kind) {}
  Kind kind_;
  std::vector<Piece> pieces_;
};

// A pattern for ref names, compared byte for byte: `refs/heads/agent/{session}/**`. `*` matches within one segment,
// `**` one or more whole segments. Only refs under refs/heads/ and refs/tags/ match, unless the pattern names another
// namespace letter by letter (`refs/notes/**`). A value; const use is thread-safe.
class RefPattern {
 public:
  // Fails kBadArgument: not under `refs/`, names that git does not take, `**` beside other bytes, other metacharacters.
  // Limits: 512 bytes, 32 segments.
  static absl::StatusOr<RefPattern> Parse(std::string_view text);
  bool Matches(std::string_view ref, std::string_view session) const;
  const std::string& text() const { return text_; }
  // The pattern with `{session}` filled in, for people.
  std::string Filled(std::string_view session) const;

 private:
  std::string text_;
  std::vector<SegmentGlob> segments_;
};

// A pattern for canonical request paths: `/v1/*/items/**`. `*` matches within one segment, `**` any number of whole
// segments. Both sides are compared with percent-encoding undone. Const use is thread-safe.
class PathPattern {
 public:
  // kLoose is for entries that deny: ASCII case and one final slash are ignored, so that a spelling which a server
  // reads alike does not slip past.
  enum class Comparison { kExact, kLoose };

  // Fails kBadArgument: no leading slash, what model::CheckPath refuses, `**` beside other bytes. Limit: 1,024 bytes.
  static absl::StatusOr<PathPattern> Parse(std::string_view text, Comparison comparison = Comparison::kExact);
  // `path` has passed model::CheckPath.
  bool Matches(std::string_view path) const;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  Comparison comparison_ = Comparison::kExact;
  std::vector<SegmentGlob> segments_;
};

// A repository as a rule names it: `acme/web`, or `acme/*` for every repository directly under an owner, except wikis
// (`web.wiki` is a repository of its own, outside review). Compared without ASCII case; one final `.git` of the rule's
// own name is dropped.
class RepositoryPattern {
 public:
  // Fails kBadArgument: characters that hosts do not take, dot segments, `*` elsewhere, more than `max_segments` parts.
  static absl::StatusOr<RepositoryPattern> Parse(std::string_view text, int min_segments, int max_segments);
  // `name` without final `.git`, as GitFacts and the catalogue have it.
  bool Matches(std::string_view name) const;
  bool owner_wide() const { return owner_wide_; }
  // Lower case; the owner alone when owner_wide().
  const std::string& key() const { return key_; }
  std::string Text() const { return owner_wide_ ? key_ + "/*" : key_; }

 private:
  std::string key_;
  bool owner_wide_ = false;
};

// True for a ref name that every git and every host takes and reads alike: git's own check-ref-format rules, and no
// branch that looks like an object id, an option or `HEAD`, no `refs/heads/refs/`, no invisible characters.
bool IsPlainRef(std::string_view ref);

}  // namespace credbroker::policy
