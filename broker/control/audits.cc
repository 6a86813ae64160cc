#include "control/audits.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "audit/outcomes.h"
#include "audit/reader.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::control {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::size_t kMaxOfRequest = 1000;
constexpr std::size_t kMaxCheckpointBytes = 64 * 1024;
constexpr absl::Duration kTailPoll = absl::Milliseconds(200);

// One ledger that a tail follows.
struct Tailed {
  Tailed(const std::string& folder, uint64_t from) : follower(folder, from), outcomes(folder) {}
  audit::Follower follower;
  audit::Outcomes outcomes;
};

// `edge-17` is entry 17 of the ledger `edge`.
std::optional<std::pair<std::string, uint64_t>> SplitRecordId(const std::string& id) {
  const std::size_t dash = id.rfind('-');
  uint64_t index = 0;
  if (dash == std::string::npos || !base::ParseInt(std::string_view(id).substr(dash + 1), &index)) return std::nullopt;
  return std::make_pair(id.substr(0, dash), index);
}

struct Countdown {
  std::atomic<int>& count;
  ~Countdown() { --count; }
};

}  // namespace

std::vector<LedgerPlace> Audits::Places() const {
  std::vector<LedgerPlace> places = {{"broker", ledger_.folder(), ledger_.key_text(), ledger_.health().durable_size}};
  for (LedgerPlace& place : archives_.List()) places.push_back(std::move(place));
  return places;
}

std::vector<std::string> Audits::Folders() const {
  std::vector<std::string> folders;
  for (const LedgerPlace& place : Places()) folders.push_back(place.folder);
  return folders;
}

absl::StatusOr<ListedRecords> Audits::List(const audit::Filter& filter) {
  ListedRecords listed;
  listed.edges_current = hub_.ShipAll(kShipWait);
  ASSIGN_OR_RETURN(const std::vector<audit::Entry> entries, audit::Query(Folders(), filter), "listing records");
  for (const audit::Entry& entry : entries) listed.lines.push_back(entry.line);
  return listed;
}

absl::Status Audits::Tail(const audit::Filter& filter, const std::function<bool()>& cancelled,
                          const std::function<bool(std::string_view)>& emit) {
  const Countdown countdown{tails_};
  if (++tails_ > kMaxTails) return Error(ErrorCode::kOverloaded, "too many tails");
  // Counted before the query: an entry that arrives in between is seen by the query, and then skipped by its index.
  std::map<std::string, uint64_t> next;
  for (const std::string& folder : Folders()) {
    ASSIGN_OR_RETURN(next[folder], audit::CountEntries(folder), "tailing");
  }
  ASSIGN_OR_RETURN(const std::vector<audit::Entry> entries, audit::Query(Folders(), filter), "tailing");
  for (const audit::Entry& entry : entries) {
    if (!emit(entry.line)) return absl::OkStatus();
    next[entry.folder] = std::max(next[entry.folder], entry.index + 1);
  }
  std::map<std::string, Tailed> tailed;
  bool open = true;
  while (open && !cancelled()) {
    for (const std::string& folder : Folders()) {
      Tailed& one = tailed.try_emplace(folder, folder, next[folder]).first->second;
      const auto visit = [&](uint64_t index, std::string_view line) {
        const std::string joined = one.outcomes.Join(index, line);
        if (audit::Matches(filter, joined)) open = emit(joined);
        return open;
      };
      RETURN_IF_ERROR(one.follower.Poll(visit).status(), "tailing");
    }
    hub_.WaitShipped(kTailPoll);
  }
  return absl::OkStatus();
}

absl::Status Audits::Export(const ExportOrder& order, const std::function<bool()>& cancelled,
                            const std::function<bool(const ExportEvent&)>& emit) {
  const Countdown countdown{tails_};
  if (++tails_ > kMaxTails) return Error(ErrorCode::kOverloaded, "too many exports and tails");
  // Only what is durable is exported: what a power loss may take back must not be behind a cursor. A ledger that cannot be
  // written still gives what it has.
  ledger_.Flush().IgnoreError();
  hub_.ShipAll(kShipWait);
  ExportStream stream(order.filter);
  RETURN_IF_ERROR(stream.Start(Places(), order.cursor), "exporting");
  uint64_t sent = 0;
  std::string told;
  while (!cancelled()) {
    ASSIGN_OR_RETURN(ExportEvent event, stream.Next(), "exporting");
    const bool idle = event.json.empty() && stream.at_end();
    if (!event.json.empty() || event.cursor != told) {
      told = event.cursor;
      sent += event.json.empty() ? 0 : 1;
      if (!emit(event)) return absl::OkStatus();
    }
    if (order.max_records > 0 && sent == order.max_records) return absl::OkStatus();
    if (!idle) continue;
    if (order.follow == Follow::kNo) return absl::OkStatus();
    hub_.WaitShipped(kTailPoll);
    RETURN_IF_ERROR(stream.Refresh(Places()), "exporting");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> Audits::Get(const std::string& id) {
  hub_.ShipAll(kShipWait);
  if (const auto split = SplitRecordId(id)) {
    for (const LedgerPlace& place : Places()) {
      if (place.name != split->first) continue;
      ASSIGN_OR_RETURN(const std::string line, audit::ReadEntry(place.folder, split->second), "reading a record");
      return std::vector<std::string>{audit::Outcomes(place.folder).Join(split->second, line)};
    }
  }
  ASSIGN_OR_RETURN(const std::vector<audit::Entry> entries,
                   audit::Query(Folders(), audit::Filter{.request_id = id, .limit = kMaxOfRequest}), "reading records");
  if (id.empty() || entries.empty()) return Error(ErrorCode::kRecordNotFound, id);
  std::vector<std::string> lines;
  for (const audit::Entry& entry : entries) lines.push_back(entry.line);
  return lines;
}

absl::StatusOr<std::vector<LedgerCheckpoint>> Audits::Checkpoints() {
  RETURN_IF_ERROR(ledger_.Flush(), "making a checkpoint");
  hub_.ShipAll(kShipWait);
  std::vector<LedgerCheckpoint> checkpoints;
  for (LedgerPlace& place : Places()) {
    ASSIGN_OR_RETURN(std::string note, base::ReadFile(base::StrCat(place.folder, "/checkpoint"), kMaxCheckpointBytes),
                     place.name);
    checkpoints.push_back({std::move(place), std::move(note)});
  }
  return checkpoints;
}

std::vector<LedgerVerdict> Audits::Verify() {
  std::vector<LedgerVerdict> verdicts;
  for (LedgerPlace& place : Places()) {
    audit::VerifyReport report = audit::Verify(place.folder, place.vkey, {});
    verdicts.push_back({std::move(place), std::move(report)});
  }
  return verdicts;
}

}  // namespace credbroker::control
