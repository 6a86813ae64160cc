#include "control/archives.h"

#include <utility>

#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "control/event_log.h"

namespace credbroker::control {
namespace {

// The name becomes a folder and the prefix of record ids.
bool IsEdgeName(std::string_view name) {
  if (name.empty() || name.size() > 32 || name == "broker") return false;
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_')) return false;
  }
  return true;
}

}  // namespace

absl::Status Archives::Open() {
  RETURN_IF_ERROR(base::MakeFolder(folder_, 0700));
  ASSIGN_OR_RETURN(const std::vector<store::EdgeRow> edges, store_.edges().List(), "listing edges");
  const std::lock_guard lock(mutex_);
  for (const store::EdgeRow& edge : edges) RETURN_IF_ERROR(OpenOne(edge.id, edge.public_key).status(), edge.id);
  return absl::OkStatus();
}

absl::StatusOr<audit::Archive*> Archives::OpenOne(const std::string& edge, const std::string& vkey) {
  Entry& entry = archives_[edge];
  if (!entry.archive) {
    ASSIGN_OR_RETURN(entry.archive, audit::Archive::Open(base::StrCat(folder_, "/", edge), vkey), "opening an archive");
    entry.vkey = vkey;
  }
  return entry.archive.get();
}

absl::Status Archives::Enroll(std::string_view edge, const std::string& ledger_vkey) {
  if (!IsEdgeName(edge)) return base::Error(base::ErrorCode::kBadName, "an edge's name");
  const std::string id(edge);
  const std::lock_guard lock(mutex_);
  absl::StatusOr<store::EdgeRow> row = store_.edges().Find(id);
  if (base::CodeOf(row.status()) == base::ErrorCode::kEdgeNotFound) {
    row =
        store::EdgeRow{.id = id, .public_key = ledger_vkey, .enrolled_at = clock_.Now(), .last_seen_at = clock_.Now()};
    RETURN_IF_ERROR(OpenOne(id, ledger_vkey).status());
    RETURN_IF_ERROR(store_.edges().Insert(*row), "enrolling an edge");
  }
  RETURN_IF_ERROR(row.status(), "finding an edge");
  if (row->public_key != ledger_vkey) {
    return base::Error(base::ErrorCode::kLedgerForked, base::StrCat("edge ", id, " shows another ledger key"));
  }
  RETURN_IF_ERROR(OpenOne(id, ledger_vkey).status());
  return store_.edges().Touch(id, clock_.Now());
}

absl::StatusOr<uint64_t> Archives::Append(std::string_view edge, const EdgeBatch& batch) {
  if (batch.lines.size() > kMaxBatchBytes) return base::Error(base::ErrorCode::kTooLarge, "a batch of entries");
  audit::Archive* archive = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto it = archives_.find(edge);
    if (it == archives_.end()) return base::Error(base::ErrorCode::kEdgeNotFound, edge);
    archive = it->second.archive.get();
  }
  if (batch.lines.empty() && batch.checkpoint.empty()) return archive->size();
  const uint64_t first = batch.lines.empty() ? archive->size() : batch.first_index;
  const absl::Status kept = archive->Append(first, batch.lines, batch.checkpoint);
  if (kept.ok()) return archive->size();
  LogEvent(Level::kError, "archive_refused", {{"edge", std::string(edge)}, {"error", std::string(kept.message())}});
  model::Record record{.kind = model::RecordKind::kSystem};
  record.action = "archive.refused";
  record.subject = std::string(edge);
  record.code = std::string(base::Lookup(base::CodeOf(kept)).name);
  recorder_.WriteOrOwe(std::move(record));
  return kept;
}

std::vector<LedgerPlace> Archives::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<LedgerPlace> places;
  for (const auto& [edge, entry] : archives_) {
    if (entry.archive) places.push_back({edge, entry.archive->folder(), entry.vkey, entry.archive->size()});
  }
  return places;
}

}  // namespace credbroker::control
