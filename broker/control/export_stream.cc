#include "control/export_stream.h"

#include <algorithm>
#include <utility>

#include "audit/intents.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::control {

using base::Error;
using base::ErrorCode;

absl::Status ExportStream::Start(const std::vector<LedgerPlace>& places, const std::string& cursor) {
  if (!cursor.empty()) {
    ASSIGN_OR_RETURN(cursor_, audit::ParseCursor(cursor));
  }
  for (const auto& [name, index] : cursor_) {
    const auto place = std::find_if(places.begin(), places.end(), [&](const LedgerPlace& p) { return p.name == name; });
    if (place == places.end()) return Error(ErrorCode::kRecordNotFound, base::StrCat("no ledger is called ", name));
    ASSIGN_OR_RETURN(const uint64_t entries, audit::CountEntries(place->folder), name);
    if (index > entries) {
      return Error(ErrorCode::kLedgerTruncated, base::StrCat(name, " ends before entry ", index, ", which the cursor has seen"));
    }
  }
  return Refresh(places);
}

absl::Status ExportStream::Refresh(const std::vector<LedgerPlace>& places) {
  for (const LedgerPlace& place : places) {
    if (sources_.size() >= audit::kMaxCursorLedgers && !sources_.contains(place.name)) {
      return Error(ErrorCode::kTooLarge, "ledgers of one export");
    }
    const uint64_t from = cursor_.try_emplace(place.name, 0).first->second;
    sources_.try_emplace(place.name, place.folder, from).first->second.entries = place.entries;
  }
  return absl::OkStatus();
}

absl::Status ExportStream::Fill(Source& source) {
  if (!source.lines.empty()) return absl::OkStatus();
  return source.follower
      .Poll([&](uint64_t index, std::string_view line) {
        // Made monotone, so that the order within one ledger is its own.
        const std::string_view text = audit::PlainMember(line, "time");
        source.newest = std::max(source.newest, base::ParseTime(text).value_or(source.newest));
        source.lines.push_back({index, source.newest, std::string(line)});
        return source.lines.size() < kBuffered;
      })
      .status();
}

absl::StatusOr<ExportEvent> ExportStream::Next() {
  at_end_ = false;
  for (int looked = 0; looked < kStride; ++looked) {
    std::pair<const std::string, Source>* oldest = nullptr;
    for (auto& entry : sources_) {
      Source& source = entry.second;
      RETURN_IF_ERROR(Fill(source), entry.first);
      if (source.lines.empty() || source.lines.front().index >= source.entries) continue;
      if (oldest == nullptr || source.lines.front().time < oldest->second.lines.front().time) oldest = &entry;
    }
    if (oldest == nullptr) {
      at_end_ = true;
      return Event({});
    }
    Source& source = oldest->second;
    const Line line = std::move(source.lines.front());
    source.lines.pop_front();
    cursor_[oldest->first] = line.index + 1;
    std::string joined = source.outcomes.Join(line.index, line.text);
    if (audit::Matches(filter_, joined)) return Event(std::move(joined));
  }
  return Event({});
}

ExportEvent ExportStream::Event(std::string json) const {
  ExportEvent event{.json = std::move(json), .cursor = audit::CursorText(cursor_)};
  for (const auto& [name, source] : sources_) {
    event.behind += source.entries - std::min(source.entries, cursor_.find(name)->second);
  }
  return event;
}

}  // namespace credbroker::control
