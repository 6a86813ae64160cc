#include "client/checkpoint_file.h"

#include <algorithm>

#include "base/str.h"

namespace credbroker::client {
namespace {

constexpr std::string_view kSignature = "\u2014 ";

}  // namespace

std::string JoinNotes(const std::vector<std::string>& notes) {
  std::string file;
  for (const std::string& note : notes) {
    base::StrAppend(&file, file.empty() ? "" : "\n", note, note.ends_with('\n') ? "" : "\n");
  }
  return file;
}

std::vector<std::string> SplitNotes(std::string_view file) {
  std::vector<std::string> notes;
  std::string note;
  bool signed_already = false;
  while (!file.empty()) {
    const std::size_t end = std::min(file.find('\n'), file.size());
    const std::string_view line = file.substr(0, end);
    file.remove_prefix(std::min(end + 1, file.size()));
    const bool signature = line.starts_with(kSignature);
    if (signed_already && !signature) {
      notes.push_back(std::move(note));
      note.clear();
      signed_already = false;
    }
    if (note.empty() && line.empty()) continue;
    base::StrAppend(&note, line, "\n");
    signed_already = signature;
  }
  if (!note.empty()) notes.push_back(std::move(note));
  return notes;
}

std::string_view NoteOrigin(std::string_view note) { return note.substr(0, note.find('\n')); }

}  // namespace credbroker::client
