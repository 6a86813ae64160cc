#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "crypto/object_hash.h"

namespace credbroker::wire {

// The texts of git's objects (gitformat-pack, git-fsck), read as strictly as git's own checks: another reader must not find
// anything else in them. Ids are raw, 20 or 32 bytes.

// The id of an object: the digest over its type, size and content.
std::string ObjectId(crypto::ObjectFormat format, std::string_view type, std::string_view content);

struct CommitLinks {
  std::string tree;
  std::string parents;  // one after the other
};
// False, and nothing in `out`, when the lines are not exactly those that git itself takes.
//
//   commit := "tree " id LF ("parent " id LF)* "author " ...
bool ReadCommit(std::string_view content, std::size_t id_bytes, CommitLinks* out);

// What a tag object names: its target's id and type (`commit`, `tree`, `blob`, `tag`, a view into `content`).
//
//   tag := "object " id LF "type " type LF "tag " name LF ...
bool ReadTag(std::string_view content, std::size_t id_bytes, std::string* target, std::string_view* type);

struct TreeEntry {
  enum class Kind { kFile, kDirectory, kLink, kModule };
  Kind kind = Kind::kFile;
  unsigned mode = 0;
  std::string_view name, id;  // views into the content
};

// Entries of a tree, one after the other.
//
//   tree := (mode SP name NUL id)*      mode in octal without leading zero
class TreeReader {
 public:
  TreeReader(std::string_view content, std::size_t id_bytes) : rest_(content), id_bytes_(id_bytes) {}
  // False at the end and at the first broken entry; then ok() tells which.
  bool Next(TreeEntry* out);
  bool ok() const { return ok_; }

 private:
  std::string_view rest_;
  const std::size_t id_bytes_;
  bool ok_ = true;
};

// Whether git's own checks would take the tree: known modes, names that are one path segment and not `.git` in any
// spelling, in order, none twice (a file and a folder of one name included). Fails kBadPack, or kBodyTooLarge for more than
// `max_entries`.
absl::Status CheckTree(std::string_view content, std::size_t id_bytes, std::size_t max_entries);

}  // namespace credbroker::wire
