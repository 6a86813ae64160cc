#include "wire/git_object.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/file_name.h"
#include "base/str.h"
#include "base/text.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

absl::Status Bad(std::string_view why) { return base::Error(ErrorCode::kBadPack, why); }

// Takes `word` id LF off `text`. False, and nothing taken, when that is not what it starts with.
bool TakeIdLine(std::string_view* text, std::string_view word, std::size_t id_bytes, std::string* raw) {
  const std::size_t digits = id_bytes * 2, end = word.size() + digits;
  if (text->size() <= end || !text->starts_with(word) || (*text)[end] != '\n') return false;
  const std::string_view hex = text->substr(word.size(), digits);
  if (!base::HexDecode(hex, raw) || base::HexEncode(*raw) != hex) return false;
  text->remove_prefix(end + 1);
  return true;
}

// 100664 is what very old versions wrote; git reads it as a file.
bool KindOf(unsigned mode, TreeEntry::Kind* out) {
  switch (mode) {
    case 0100644: case 0100755: case 0100664: *out = TreeEntry::Kind::kFile; return true;
    case 040000: *out = TreeEntry::Kind::kDirectory; return true;
    case 0120000: *out = TreeEntry::Kind::kLink; return true;
    case 0160000: *out = TreeEntry::Kind::kModule; return true;
    default: return false;
  }
}

// `.git` as some file system would read it, its short name at NTFS included.
bool IsDotGit(std::string_view name) {
  const std::string folded = base::FoldFileName(name);
  return folded == ".git" || folded == "git~1";
}

// Directories sort as if a slash followed their names.
bool Before(const TreeEntry& a, const TreeEntry& b) {
  const std::size_t common = std::min(a.name.size(), b.name.size());
  const int order = a.name.substr(0, common).compare(b.name.substr(0, common));
  if (order != 0) return order < 0;
  const auto end = [common](const TreeEntry& e) -> unsigned char {
    if (e.name.size() > common) return static_cast<unsigned char>(e.name[common]);
    return e.kind == TreeEntry::Kind::kDirectory ? '/' : 0;
  };
  return end(a) < end(b);
}

}  // namespace

std::string ObjectId(crypto::ObjectFormat format, std::string_view type, std::string_view content) {
  crypto::ObjectHash id(format);
  id.Add(base::StrCat(type, " ", content.size(), '\0'));
  id.Add(content);
  return id.Take();
}

bool ReadCommit(std::string_view content, std::size_t id_bytes, CommitLinks* out) {
  CommitLinks links;
  std::string id;
  if (!TakeIdLine(&content, "tree ", id_bytes, &links.tree)) return false;
  while (TakeIdLine(&content, "parent ", id_bytes, &id)) links.parents.append(id);
  if (!content.starts_with("author ")) return false;
  *out = std::move(links);
  return true;
}

bool ReadTag(std::string_view content, std::size_t id_bytes, std::string* target, std::string_view* type) {
  std::string id;
  if (!TakeIdLine(&content, "object ", id_bytes, &id) || !content.starts_with("type ")) return false;
  content.remove_prefix(5);
  const std::size_t end = content.find('\n');
  if (end == std::string_view::npos || !content.substr(end + 1).starts_with("tag ")) return false;
  *type = content.substr(0, end);
  *target = std::move(id);
  return *type == "commit" || *type == "tree" || *type == "blob" || *type == "tag";
}

bool TreeReader::Next(TreeEntry* out) {
  if (rest_.empty() || !ok_) return false;
  ok_ = false;
  unsigned mode = 0;
  std::size_t at = 0;
  for (; at < rest_.size() && rest_[at] >= '0' && rest_[at] <= '7' && at < 7; ++at) {
    mode = mode << 3 | static_cast<unsigned>(rest_[at] - '0');
  }
  if (at < 5 || rest_[0] == '0' || at == rest_.size() || rest_[at] != ' ') return false;
  const std::size_t nul = rest_.find('\0', at);
  if (nul == std::string_view::npos || rest_.size() - nul - 1 < id_bytes_) return false;
  if (!KindOf(mode, &out->kind)) return false;
  out->mode = mode;
  out->name = rest_.substr(at + 1, nul - at - 1);
  out->id = rest_.substr(nul + 1, id_bytes_);
  rest_.remove_prefix(nul + 1 + id_bytes_);
  ok_ = true;
  return true;
}

absl::Status CheckTree(std::string_view content, std::size_t id_bytes, std::size_t max_entries) {
  TreeReader reader(content, id_bytes);
  TreeEntry entry, last;
  std::vector<std::string_view> files;  // names that begin the one at hand, so that a folder may not repeat them
  for (std::size_t count = 0; reader.Next(&entry); ++count) {
    if (count == max_entries) return base::Error(ErrorCode::kBodyTooLarge, "entries of a tree");
    if (entry.name.empty() || entry.name == "." || entry.name == ".." || entry.name.find('/') != std::string_view::npos ||
        IsDotGit(entry.name)) {
      return Bad("a tree with a name that no checkout takes");
    }
    if (count > 0 && !Before(last, entry)) return Bad("a tree out of order, or with a name twice");
    while (!files.empty() && !entry.name.starts_with(files.back())) files.pop_back();
    const bool directory = entry.kind == TreeEntry::Kind::kDirectory;
    if (directory && std::find(files.begin(), files.end(), entry.name) != files.end()) return Bad("a tree with a name twice");
    if (!directory) files.push_back(entry.name);
    last = entry;
  }
  return reader.ok() ? absl::OkStatus() : Bad("a tree that cannot be read");
}

}  // namespace credbroker::wire
