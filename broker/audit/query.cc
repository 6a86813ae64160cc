#include "audit/query.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>

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
         Equals(record, "action", filter.action) && DecisionFits(filter.decision, Text(record, "kind")) &&
         (filter.repository.empty() || RepositoryName(filter.repository) == RepositoryName(repository)) &&
         IsVisible(filter, repository);
}

// A line out of a file is not to be trusted; this parser keeps its own stack, and gives `discarded` for what is no JSON.
Json Parse(std::string_view line) { return Json::parse(line.begin(), line.end(), nullptr, false); }

absl::StatusOr<std::vector<Entry>> NewestOf(const std::string& folder, const Filter& filter) {
  std::vector<Entry> entries;
  RETURN_IF_ERROR(ReadEntries(folder, Direction::kNewestFirst, 0, [&](uint64_t index, std::string_view line) {
    if (entries.size() == filter.limit) return false;
    const Json record = Parse(line);
    if (!record.is_object()) return true;
    const absl::Time time = TimeOf(record);
    if (RecordMatches(filter, record)) entries.push_back({folder, index, time, std::string(line)});
    return time >= filter.since - kDisorder || time == absl::InfinitePast();
  }));
  // Made monotone, so that a sort by time keeps the ledger's own order.
  std::reverse(entries.begin(), entries.end());
  for (std::size_t i = 1; i < entries.size(); ++i) entries[i].time = std::max(entries[i].time, entries[i - 1].time);
  return entries;
}

}  // namespace

bool Matches(const Filter& filter, std::string_view line) {
  const Json record = Parse(line);
  return record.is_object() && RecordMatches(filter, record);
}

absl::StatusOr<std::vector<Entry>> Query(const std::vector<std::string>& folders, const Filter& filter) {
  if (filter.limit > kMaxQueryRecords) return base::Error(base::ErrorCode::kBadArgument, "limit too large");
  std::vector<Entry> all;
  for (const std::string& folder : folders) {
    ASSIGN_OR_RETURN(std::vector<Entry> entries, NewestOf(folder, filter), folder);
    std::move(entries.begin(), entries.end(), std::back_inserter(all));
    std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.time, a.folder, a.index) < std::tie(b.time, b.folder, b.index);
    });
    if (all.size() > filter.limit) all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(filter.limit));
  }
  return all;
}

}  // namespace credbroker::audit
