#include "app/health_pages.h"

#include <vector>

#include "base/error.h"
#include "base/str.h"

namespace credbroker::app {
namespace {

constexpr int64_t kMaxCounted = 1'000'000;

class MetricsText {
 public:
  template <typename Number>
  void Add(std::string_view name, std::string_view type, std::string_view help, Number value) {
    Head(name, type, help);
    base::StrAppend(&text_, name, " ", value, "\n");
  }
  void Head(std::string_view name, std::string_view type, std::string_view help) {
    base::StrAppend(&text_, "# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }
  template <typename Number>
  void Row(std::string_view name, std::string_view label, std::string_view value, Number number) {
    base::StrAppend(&text_, name, "{", label, "=\"", value, "\"} ", number, "\n");
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

Page Reasons(const std::vector<std::string>& reasons) {
  if (reasons.empty()) return {.body = "ok\n"};
  Page page{.status = 503};
  for (const std::string& reason : reasons) base::StrAppend(&page.body, reason, "\n");
  return page;
}

}  // namespace

Page HealthPages::Get(std::string_view path) const {
  if (path == "/healthz") return Health();
  if (path == "/readyz") return Ready();
  if (path == "/metrics") return Metrics();
  return {.status = 404, .body = "paths: /healthz /readyz /metrics\n"};
}

Page HealthPages::Health() const { return Reasons(core_.Ailments()); }

Page HealthPages::Ready() const {
  std::vector<std::string> reasons = core_.Ailments();
  if (wants_edge_ == WantsEdge::kYes && !core_.hub().ready()) reasons.push_back("edge: none is connected and current");
  return Reasons(reasons);
}

Page HealthPages::Metrics() const {
  MetricsText text;
  const control::Metrics& metrics = core_.metrics();
  const audit::LedgerHealth ledger = core_.ledger().health();
  if (const auto open = core_.store().sessions().List({.live_only = true, .limit = kMaxCounted}); open.ok()) {
    text.Add("credbroker_sessions_open", "gauge", "Sessions that are not closed.", open->size());
  }
  text.Add("credbroker_tokens_issued_total", "counter", "Tokens minted, derived and renewed.",
           metrics.tokens_issued.load());
  text.Add("credbroker_revocations_total", "counter", "Revocations.", metrics.revocations.load());
  text.Add("credbroker_leases_lent_total", "counter", "Leases lent to edges.", metrics.leases_lent.load());
  text.Add("credbroker_leaves_signed_total", "counter", "Leaf certificates signed for edges.",
           metrics.leaves_signed.load());
  text.Add("credbroker_ledger_entries", "gauge", "Entries of the broker's ledger.", ledger.size);
  text.Add("credbroker_ledger_fsyncs_total", "counter", "Times the ledger was synced.", ledger.fsync_count);
  text.Add("credbroker_ledger_failed_appends_total", "counter", "Records that could not be written.",
           ledger.failed_appends);
  text.Add("credbroker_ledger_writable", "gauge", "1 when the ledger can be written.", ledger.writable ? 1 : 0);
  text.Add("credbroker_records_owed", "gauge", "Records of revocations that wait for the ledger.",
           core_.recorder().owed());
  text.Add("credbroker_export_behind_entries", "gauge", "Entries that the export heard from last has not read yet.",
           metrics.export_behind.load());
  text.Add("credbroker_exports_ended_total", "counter", "Exports that ended.", metrics.exports_ended.load());
  text.Add("credbroker_edges_connected", "gauge", "Edges that are connected.", core_.hub().connected());
  text.Add("credbroker_policy_version", "gauge", "Version of the policy in force.", core_.rules().Get()->version());
  text.Add("credbroker_grpc_calls_total", "counter", "Calls of the API.", metrics.calls.load());
  text.Head("credbroker_grpc_errors_total", "counter", "Calls that failed, by catalogue number.");
  for (const auto& [code, count] : metrics.errors()) {
    text.Row("credbroker_grpc_errors_total", "code", base::StrCat(static_cast<int>(code)), count);
  }
  return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = text.Take()};
}

}  // namespace credbroker::app
