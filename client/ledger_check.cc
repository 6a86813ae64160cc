#include "client/ledger_check.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "audit/note.h"
#include "audit/reader.h"
#include "audit/verify.h"
#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/checkpoint_file.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr std::size_t kMaxPinFile = 4 << 20;
constexpr int kMaxDepth = 3;

// `name+hash+key`: origins may hold dashes and slashes but no plus.
std::string_view KeyOrigin(std::string_view key) { return key.substr(0, key.find('+')); }

std::vector<std::string> Lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
    if (!line.empty()) lines.emplace_back(line);
  }
  return lines;
}

using OriginOf = std::string_view (*)(std::string_view);

// Pins of one sort (keys or notes), found by the origin that they speak of.
class PinsByOrigin {
 public:
  PinsByOrigin(const std::vector<std::string>& pins, OriginOf origin_of, const std::vector<std::string>& origins)
      : pins_(pins), origin_of_(origin_of) {
    all_found_ = std::all_of(pins.begin(), pins.end(), [&](const std::string& pin) {
      return std::find(origins.begin(), origins.end(), origin_of(pin)) != origins.end();
    });
  }
  // nullopt: this ledger may be a pinned one under another name.
  std::optional<std::string> For(std::string_view origin, const std::string& otherwise) const {
    if (pins_.empty()) return otherwise;
    for (const std::string& pin : pins_) {
      if (origin_of_(pin) == origin) return pin;
    }
    if (all_found_) return std::string();
    return std::nullopt;
  }

 private:
  const std::vector<std::string>& pins_;
  OriginOf origin_of_;
  bool all_found_ = false;
};

std::string OwnOrigin(const std::string& folder) {
  const auto own = base::ReadFile(base::StrCat(folder, "/checkpoint"), audit::kMaxNoteBytes);
  return own.ok() ? std::string(NoteOrigin(*own)) : std::string();
}

LedgerCheck CheckOne(LedgerCheck check, const std::optional<std::string>& key, const std::optional<std::string>& note) {
  if (!key || !note) {
    check.verdict = audit::VerdictName(key ? audit::Verdict::kForked : audit::Verdict::kBadSignature);
    check.words = base::StrCat("None of the pinned ", key ? "checkpoints" : "keys", " is for this ledger.");
    return check;
  }
  const audit::VerifyReport report = audit::Verify(check.folder, *key, *note);
  check.whole = report.whole();
  check.verdict = audit::VerdictName(report.verdict);
  check.words = report.words;
  check.entries = report.entries;
  check.beyond_checkpoint = report.beyond_checkpoint;
  check.key_pinned = report.key_pinned;
  check.checkpoint_pinned = report.checkpoint_pinned;
  return check;
}

void FindBelow(const std::string& folder, int depth, std::vector<std::string>* found) {
  if (audit::IsLedgerFolder(folder)) {
    found->push_back(folder);
    return;
  }
  if (depth == 0) return;
  std::error_code unreadable;
  std::vector<std::string> below;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
    std::error_code gone;
    if (entry.is_directory(gone) && !entry.is_symlink(gone)) below.push_back(entry.path().string());
  }
  std::sort(below.begin(), below.end());
  for (const std::string& path : below) FindBelow(path, depth - 1, found);
}

}  // namespace

absl::StatusOr<Pins> Pins::Read(const std::string& key_path, const std::string& checkpoint_path) {
  Pins pins;
  if (!key_path.empty()) {
    ASSIGN_OR_RETURN(const std::string text, base::ReadFile(key_path, kMaxPinFile), "reading the pinned keys");
    pins.keys = Lines(text);
    if (pins.keys.empty()) return base::Error(base::ErrorCode::kBadArgument, base::StrCat("no key in ", key_path));
  }
  if (!checkpoint_path.empty()) {
    ASSIGN_OR_RETURN(const std::string text, base::ReadFile(checkpoint_path, kMaxPinFile),
                     "reading the pinned checkpoints");
    pins.notes = SplitNotes(text);
    if (pins.notes.empty())
      return base::Error(base::ErrorCode::kBadArgument, base::StrCat("no checkpoint in ", checkpoint_path));
  }
  return pins;
}

std::vector<LedgerCheck> CheckLedgers(const std::vector<LedgerPlace>& places, const Pins& pins) {
  std::vector<std::string> origins;
  for (const LedgerPlace& place : places) origins.push_back(OwnOrigin(place.folder));
  const PinsByOrigin keys(pins.keys, KeyOrigin, origins);
  const PinsByOrigin notes(pins.notes, NoteOrigin, origins);
  std::vector<LedgerCheck> checks;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const LedgerPlace& place = places[i];
    const std::string& name = place.name.empty() ? origins[i].empty() ? place.folder : origins[i] : place.name;
    checks.push_back(CheckOne({.ledger = name, .folder = place.folder}, keys.For(origins[i], place.key),
                              notes.For(origins[i], place.note)));
  }
  return checks;
}

std::vector<std::string> FindLedgers(const std::string& folder) {
  std::vector<std::string> found;
  FindBelow(folder, kMaxDepth, &found);
  return found;
}

Json CheckJson(const LedgerCheck& check) {
  return {{"ledger", check.ledger},
          {"folder", check.folder},
          {"whole", check.whole},
          {"verdict", check.verdict},
          {"words", check.words},
          {"entries", check.entries},
          {"beyond_checkpoint", check.beyond_checkpoint},
          {"key_pinned", check.key_pinned},
          {"checkpoint_pinned", check.checkpoint_pinned},
          {"checked_by", check.checked_by}};
}

absl::Status VerdictError(const LedgerCheck& check) {
  base::ErrorCode code = base::ErrorCode::kLedgerTampered;
  if (check.verdict == audit::VerdictName(audit::Verdict::kTornTail)) code = base::ErrorCode::kLedgerTorn;
  if (check.verdict == audit::VerdictName(audit::Verdict::kTruncated)) code = base::ErrorCode::kLedgerTruncated;
  if (check.verdict == audit::VerdictName(audit::Verdict::kForked)) code = base::ErrorCode::kLedgerForked;
  if (check.verdict == audit::VerdictName(audit::Verdict::kUnreadable)) code = base::ErrorCode::kFileUnreadable;
  return base::Error(code, base::StrCat(check.ledger, ": ", check.words));
}

}  // namespace credbroker::client
