#include "audit/intents.h"

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

}  // namespace

std::string_view PlainMember(std::string_view line, std::string_view name) {
  // A quote inside of a text is escaped, so `"name":"` cannot stand in one.
  const std::string needle = base::StrCat('"', name, "\":\"");
  const std::size_t at = line.find(needle);
  if (at == std::string_view::npos) return {};
  const std::string_view value = line.substr(at + needle.size());
  return value.substr(0, value.find('"'));
}

void IntentSet::Scan(uint64_t index, std::string_view line) {
  const std::string_view kind = PlainMember(line, "kind");
  if (kind == "intent") {
    open_[std::string(PlainMember(line, "request_id"))] = index;
  } else if (kind == "outcome") {
    open_.erase(std::string(PlainMember(line, "request_id")));
  }
}

uint64_t IntentSet::Floor(uint64_t size) const {
  for (const auto& [request_id, index] : open_) size = std::min(size, index);
  return size;
}

absl::StatusOr<std::vector<OpenIntent>> IntentSet::Load(const std::string& folder, uint64_t size) {
  RETURN_IF_ERROR(ReadEntries(folder, Direction::kOldestFirst, LoadOpenFrom(folder, size),
                              [&](uint64_t index, std::string_view line) {
                                Scan(index, line);
                                return true;
                              }));
  std::vector<OpenIntent> intents;
  for (const auto& [request_id, index] : open_) intents.push_back({index, request_id, {}});
  std::sort(intents.begin(), intents.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  std::size_t next = 0;
  if (intents.empty()) return intents;
  RETURN_IF_ERROR(ReadEntries(folder, Direction::kOldestFirst, intents.front().index,
                              [&](uint64_t index, std::string_view line) {
                                if (index == intents[next].index) intents[next++].line = std::string(line);
                                return next < intents.size();
                              }));
  return intents;
}

absl::Status SaveOpenFrom(const std::string& folder, uint64_t index) {
  return base::WriteFileAtomic(HintPath(folder), base::StrCat(index, '\n'), 0600);
}

}  // namespace credbroker::audit
