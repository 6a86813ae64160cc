#include "audit/query.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "audit/intents.h"
#include "audit/outcomes.h"
#include "audit/reader.h"
#include "base/duration.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/text.h"

namespace credbroker::audit {
namespace {

using Json = nlohmann::json;

// Within one ledger times may step back a little (clock changes, threads); a record this much older ends the search.
constexpr absl::Duration kDisorder = absl::Minutes(10);

std::string Text(const Json& record, const char* name) {
  const auto found = record.find(name);
  return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
}

bool Equals(const Json& record, const char* name, const std::string& wanted) {
  return wanted.empty() || Text(record, name) == wanted;
}

std::string RepositoryName(std::string_view name) {
  std::string lower = base::AsciiLower(name);
  if (lower.ends_with(".git")) lower.resize(lower.size() - 4);
  return lower;
}

bool IsVisible(const Filter& filter, const std::string& repository) {
  if (filter.visible_repositories.empty() || repository.empty()) return true;
  return std::any_of(filter.visible_repositories.begin(), filter.visible_repositories.end(),
                     [&](const std::string& visible) { return RepositoryName(visible) == RepositoryName(repository); });
}

bool DecisionFits(const std::string& wanted, const std::string& kind) {
  if (wanted.empty()) return true;
  if (wanted == "allow") return kind == "intent" || kind == "outcome";
  return wanted == kind;
}

bool VersionFits(int64_t wanted, const Json& record) {
  if (wanted == 0) return true;
  const auto found = record.find("policy_version");
  return found != record.end() && found->is_number_integer() && found->get<int64_t>() == wanted;
}

absl::Time TimeOf(const Json& record) { return base::ParseTime(Text(record, "time")).value_or(absl::InfinitePast()); }

bool RecordMatches(const Filter& filter, const Json& record) {
  const std::string repository = Text(record, "repository");
  const absl::Time time = TimeOf(record);
  return time >= filter.since && time < filter.until && Equals(record, "session", filter.session) &&
         Equals(record, "requester", filter.requester) && Equals(record, "rule", filter.rule) &&
         Equals(record, "effect_class", filter.effect_class) && Equals(record, "exception", filter.exception) &&
         Equals(record, "request_id", filter.request_id) && Equals(record, "token_id", filter.token) &&
         Equals(record, "credential", filter.credential) && Equals(record, "host", filter.host) &&
         Equals(record, "code", filter.code) && Equals(record, "kind", filter.kind) &&
         Equals(record, "action", filter.action) && VersionFits(filter.policy_version, record) && DecisionFits(filter.decision, Text(record, "kind")) &&
         (filter.repository.empty() || RepositoryName(filter.repository) == RepositoryName(repository)) &&
         IsVisible(filter, repository);
}

// A line out of a file is not to be trusted; this parser keeps its own stack, and gives `discarded` for what is no JSON.
Json Parse(std::string_view line) { return Json::parse(line.begin(), line.end(), nullptr, false); }

constexpr std::size_t kMaxWaiting = 16384;       // outcomes whose intents are still to come
constexpr std::size_t kMaxWaitingBytes = 4096;   // of one; ours have some 200
constexpr int kMaxLookBack = 200'000;            // entries read for their sake alone
constexpr int kMaxSingleReads = 64;              // and intents that stand still further back, a stream of hours for example

// The newest wanted records of one ledger, found from its end backward. An outcome waits for its intent, which stands in front
// of it. An edge's ledger is not to be trusted: what is beyond the bounds stays without its intent.
class BackwardSearch {
 public:
  BackwardSearch(const std::string& folder, const Filter& filter) : folder_(folder), filter_(filter) {}

  absl::StatusOr<std::vector<Entry>> Run() {
    RETURN_IF_ERROR(ReadEntries(folder_, Direction::kNewestFirst, 0,
                                [&](uint64_t index, std::string_view line) { return Visit(index, line); }));
    int reads = 0;
    for (const auto& [intent, outcome] : waiting_) {
      const absl::StatusOr<std::string> line =
          reads++ < kMaxSingleReads ? ReadEntry(folder_, intent) : base::Error(base::ErrorCode::kRecordNotFound);
      line.ok() ? Take(outcome.index, JoinOutcome(outcome.line, *line)) : TakeAlone(outcome.index, outcome.line);
    }
    return Ordered();
  }

 private:
  struct Outcome {
    uint64_t index;
    std::string line;
  };

  // False ends the search.
  bool Visit(uint64_t index, std::string_view line) {
    const bool enough = past_border_ || found_.size() >= filter_.limit;
    if (enough && (!WaitsForMore() || ++looked_back_ > kMaxLookBack)) return false;
    const Json record = Parse(line);
    if (!record.is_object()) return true;
    const absl::Time time = TimeOf(record);
    past_border_ = past_border_ || (time < filter_.since - kDisorder && time != absl::InfinitePast());
    const std::optional<uint64_t> intent = IntentOf(line);
    if (!intent || *intent >= index) {
      if (!enough) TakeParsed(index, record, line);
    } else if (!enough && time >= filter_.since && time < filter_.until) {
      Wait(*intent, index, line);
    }
    if (const auto outcome = waiting_.find(index); outcome != waiting_.end()) {
      Take(outcome->second.index, JoinOutcome(outcome->second.line, line));
      waiting_order_.erase(outcome->second.index);
      waiting_.erase(outcome);
    }
    return true;
  }

  void Wait(uint64_t intent, uint64_t index, std::string_view line) {
    const bool room = line.size() <= kMaxWaitingBytes && waiting_.size() < kMaxWaiting;
    if (!room || !waiting_.try_emplace(intent, Outcome{index, std::string(line)}).second) return TakeAlone(index, line);
    waiting_order_.insert(index);
  }

  // An outcome that waits may be newer than the oldest that was found.
  bool WaitsForMore() const {
    if (waiting_.empty() || filter_.limit == 0) return false;
    return found_.size() < filter_.limit || *waiting_order_.rbegin() > found_.begin()->first;
  }

  void Take(uint64_t index, const std::string& line) { TakeParsed(index, Parse(line), line); }

  // Without its intent nobody knows whose repository an outcome is about.
  void TakeAlone(uint64_t index, std::string_view line) {
    if (filter_.visible_repositories.empty()) TakeParsed(index, Parse(line), line);
  }

  void TakeParsed(uint64_t index, const Json& record, std::string_view line) {
    if (!record.is_object() || !RecordMatches(filter_, record)) return;
    found_.insert_or_assign(index, Entry{folder_, index, TimeOf(record), std::string(line)});
    if (found_.size() > filter_.limit) found_.erase(found_.begin());
  }

  std::vector<Entry> Ordered() {
    std::vector<Entry> entries;
    for (auto& [index, entry] : found_) entries.push_back(std::move(entry));
    // Made monotone, so that a sort by time keeps the ledger's own order.
    for (std::size_t i = 1; i < entries.size(); ++i) entries[i].time = std::max(entries[i].time, entries[i - 1].time);
    return entries;
  }

  const std::string& folder_;
  const Filter& filter_;
  bool past_border_ = false;  // what comes now is too old
  int looked_back_ = 0;
  std::map<uint64_t, Entry> found_;
  std::unordered_map<uint64_t, Outcome> waiting_;  // by the index of the intent
  std::set<uint64_t> waiting_order_;               // their own indexes
};

}  // namespace

bool Matches(const Filter& filter, std::string_view line) {
  const Json record = Parse(line);
  return record.is_object() && RecordMatches(filter, record);
}

absl::StatusOr<std::vector<Entry>> Query(const std::vector<std::string>& folders, const Filter& filter) {
  if (filter.limit > kMaxQueryRecords) return base::Error(base::ErrorCode::kBadArgument, "limit too large");
  std::vector<Entry> all;
  for (const std::string& folder : folders) {
    ASSIGN_OR_RETURN(std::vector<Entry> entries, BackwardSearch(folder, filter).Run(), folder);
    std::move(entries.begin(), entries.end(), std::back_inserter(all));
    std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.time, a.folder, a.index) < std::tie(b.time, b.folder, b.index);
    });
    if (all.size() > filter.limit) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(filter.limit));
  }
  return all;
}

}  // namespace credbroker::audit
