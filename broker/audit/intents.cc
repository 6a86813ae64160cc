#include "audit/intents.h"

#include <string.h>

#include <algorithm>

#include "audit/reader.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::audit {
namespace {

std::string HintPath(const std::string& folder) { return base::StrCat(folder, "/open-from"); }

uint64_t LoadOpenFrom(const std::string& folder, uint64_t size) {
  const absl::StatusOr<std::string> text = base::ReadFile(HintPath(folder), 64);
  uint64_t index = 0;
  if (!text.ok() || !text->ends_with('\n') || !base::ParseInt(std::string_view(*text).substr(0, text->size() - 1), &index)) {
    return 0;
  }
  return index <= size ? index : 0;
}

// What stands behind `opening`. A quote inside of a text is escaped, so `"name":` cannot stand in one. memmem, since a search
// that stops at each first byte stops at every quote.
std::string_view After(std::string_view line, std::string_view opening) {
  const void* const found = memmem(line.data(), line.size(), opening.data(), opening.size());
  if (found == nullptr) return {};
  const std::size_t at = static_cast<std::size_t>(static_cast<const char*>(found) - line.data());
  return line.substr(at + opening.size());
}

}  // namespace

std::string_view PlainMember(std::string_view line, std::string_view name) {
  const std::string_view rest = After(line, base::StrCat('"', name, "\":\""));
  return rest.substr(0, rest.find('"'));
}

std::optional<uint64_t> IntentOf(std::string_view line) {
  const std::string_view rest = After(line, "\"intent\":");
  uint64_t index = 0;
  if (!base::ParseInt(rest.substr(0, rest.find_first_of(",}")), &index)) return std::nullopt;
  return index;
}

void IntentSet::Scan(uint64_t index, std::string_view line) {
  // Members are sorted: in an outcome the intent's index stands right in front of its kind.
  if (After(line, "\"kind\":").starts_with("\"intent\"")) {
    open_.insert(index);
  } else if (const std::optional<uint64_t> intent = IntentOf(line)) {
    open_.erase(*intent);
  }
}

uint64_t IntentSet::Floor(uint64_t size) const {
  for (const uint64_t index : open_) size = std::min(size, index);
  return size;
}

absl::StatusOr<std::vector<OpenIntent>> IntentSet::Load(const std::string& folder, uint64_t size) {
  RETURN_IF_ERROR(ReadEntries(folder, Direction::kOldestFirst, LoadOpenFrom(folder, size),
                              [&](uint64_t index, std::string_view line) {
                                Scan(index, line);
                                return true;
                              }));
  std::vector<OpenIntent> intents;
  for (const uint64_t index : open_) intents.push_back({index, {}, {}});
  std::sort(intents.begin(), intents.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  std::size_t next = 0;
  if (intents.empty()) return intents;
  RETURN_IF_ERROR(ReadEntries(folder, Direction::kOldestFirst, intents.front().index,
                              [&](uint64_t index, std::string_view line) {
                                if (index != intents[next].index) return true;
                                intents[next].request_id = PlainMember(line, "request_id");
                                intents[next++].line = std::string(line);
                                return next < intents.size();
                              }));
  return intents;
}

absl::Status SaveOpenFrom(const std::string& folder, uint64_t index) {
  return base::WriteFileAtomic(HintPath(folder), base::StrCat(index, '\n'), 0600);
}

}  // namespace credbroker::audit
