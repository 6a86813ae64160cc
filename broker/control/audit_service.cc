#include <string>
#include <utility>

#include "base/macros.h"
#include "control/convert.h"
#include "control/rpc.h"
#include "control/services.h"
#include "credbroker/v1/audit.grpc.pb.h"

namespace credbroker::control {
namespace {

// Reviewers and admins see every record; a requester those of its own sessions (S22, S43).
bool SeesAll(const Caller& caller) { return caller.roles.Meets(Roles::Of(Role::kAdmin, Role::kReviewer)); }

// Fails kRequesterNotAllowed for another requester's records, kCallerNotAllowed for a requester without a name.
absl::StatusOr<audit::Filter> ReadBound(const v1::ListRecordsRequest& request, const Caller& caller) {
  ASSIGN_OR_RETURN(audit::Filter filter, Read(request));
  if (SeesAll(caller)) return filter;
  if (caller.requester.empty()) return base::Error(base::ErrorCode::kCallerNotAllowed, "records");
  if (!filter.requester.empty()) RETURN_IF_ERROR(caller.MayActFor(filter.requester));
  filter.requester = caller.requester;
  return filter;
}

class AuditService final : public v1::AuditService::Service {
 public:
  AuditService(Core& core, const Door& door) : core_(core), door_(door) {}

  grpc::Status ListRecords(grpc::ServerContext* context, const v1::ListRecordsRequest* request,
                           v1::ListRecordsReply* reply) override {
    return Serve(core_, door_, context, Rpc::kListRecords, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const audit::Filter filter, ReadBound(*request, caller));
      ASSIGN_OR_RETURN(ListedRecords listed, core_.audits().List(filter));
      for (std::string& line : listed.lines) reply->add_json(std::move(line));
      reply->set_edges_current(listed.edges_current);
      return absl::OkStatus();
    });
  }

  grpc::Status TailRecords(grpc::ServerContext* context, const v1::ListRecordsRequest* request,
                           grpc::ServerWriter<v1::RecordLine>* writer) override {
    return Serve(core_, door_, context, Rpc::kTailRecords, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const audit::Filter filter, ReadBound(*request, caller));
      const auto cancelled = [&] { return context->IsCancelled() || core_.stopping(); };
      const auto emit = [&](std::string_view line) {
        v1::RecordLine record;
        record.set_json(std::string(line));
        return writer->Write(record);
      };
      return core_.audits().Tail(filter, cancelled, emit);
    });
  }

  grpc::Status ExportRecords(grpc::ServerContext* context, const v1::ExportRecordsRequest* request,
                             grpc::ServerWriter<v1::ExportedRecord>* writer) override {
    return Serve(core_, door_, context, Rpc::kExportRecords, [&](const Caller&) -> absl::Status {
      ExportOrder order{.cursor = request->cursor(),
                        .follow = request->follow() ? Follow::kYes : Follow::kNo,
                        .max_records = request->max_records()};
      ASSIGN_OR_RETURN(order.filter, Read(request->filter()));
      const auto cancelled = [&] { return context->IsCancelled() || core_.stopping(); };
      const auto emit = [&](const ExportEvent& event) {
        core_.metrics().export_behind = event.behind;
        v1::ExportedRecord record;
        record.set_json(event.json);
        record.set_cursor(event.cursor);
        record.set_behind(event.behind);
        return writer->Write(record);
      };
      const absl::Status status = core_.audits().Export(order, cancelled, emit);
      ++core_.metrics().exports_ended;
      return status;
    });
  }

  grpc::Status GetRecord(grpc::ServerContext* context, const v1::GetRecordRequest* request,
                         v1::GetRecordReply* reply) override {
    return Serve(core_, door_, context, Rpc::kGetRecord, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const audit::Filter bound, ReadBound({}, caller));
      ASSIGN_OR_RETURN(std::vector<std::string> lines, core_.audits().Get(request->id()));
      if (!SeesAll(caller)) std::erase_if(lines, [&](const std::string& line) { return !audit::Matches(bound, line); });
      // As if it did not exist: ids are guessable, and whether one is taken is nobody else's business.
      if (lines.empty()) return base::Error(base::ErrorCode::kRecordNotFound, request->id());
      for (std::string& line : lines) reply->add_json(std::move(line));
      return absl::OkStatus();
    });
  }

  grpc::Status GetCheckpoints(grpc::ServerContext* context, const v1::GetCheckpointsRequest*,
                              v1::GetCheckpointsReply* reply) override {
    return Serve(core_, door_, context, Rpc::kGetCheckpoints, [&](const Caller&) -> absl::Status {
      ASSIGN_OR_RETURN(const auto checkpoints, core_.audits().Checkpoints());
      for (const LedgerCheckpoint& checkpoint : checkpoints) {
        v1::LedgerCheckpoint* row = reply->add_checkpoints();
        row->set_ledger(checkpoint.place.name);
        row->set_folder(checkpoint.place.folder);
        row->set_note(checkpoint.note);
        row->set_vkey(checkpoint.place.vkey);
      }
      return absl::OkStatus();
    });
  }

  grpc::Status VerifyLedgers(grpc::ServerContext* context, const v1::VerifyLedgersRequest*,
                             v1::VerifyLedgersReply* reply) override {
    return Serve(core_, door_, context, Rpc::kVerifyLedgers, [&](const Caller&) -> absl::Status {
      for (const LedgerVerdict& verdict : core_.audits().Verify()) {
        v1::LedgerVerdict* row = reply->add_verdicts();
        row->set_ledger(verdict.place.name);
        row->set_folder(verdict.place.folder);
        row->set_whole(verdict.report.whole());
        row->set_verdict(std::string(audit::VerdictName(verdict.report.verdict)));
        row->set_words(verdict.report.words);
        row->set_entries(verdict.report.entries);
      }
      return absl::OkStatus();
    });
  }

 private:
  Core& core_;
  const Door& door_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAuditService(Core& core, const Door& door) {
  return std::make_unique<AuditService>(core, door);
}

}  // namespace credbroker::control
