#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace credbroker::client {

// A file that pins ledgers: C2SP signed notes one after the other, an empty line between them.
//   file := note (LF+ note)*
//   note := text LF LF signature+          a signature line begins with U+2014 and a space
std::string JoinNotes(const std::vector<std::string>& notes);

// The notes of such a file, each whole and ending in a line break. What follows the last signature stays with the piece
// it stands in, so that a broken note is refused where it is opened. Pure, thread-safe.
std::vector<std::string> SplitNotes(std::string_view file);

// The origin that a note speaks of: its first line.
std::string_view NoteOrigin(std::string_view note);

}  // namespace credbroker::client
