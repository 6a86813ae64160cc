#include <utility>

#include "base/macros.h"
#include "control/evidence.h"
#include "control/rpc.h"
#include "control/services.h"
#include "credbroker/v1/evidence.grpc.pb.h"

namespace credbroker::control {
namespace {

Finding Read(const v1::PilotFinding& in) { return {in.id(), in.group(), in.name(), in.passed(), in.detail(), in.request_id()}; }

void Write(const Finding& in, v1::PilotFinding* out) {
  out->set_id(in.id);
  out->set_group(in.group);
  out->set_name(in.name);
  out->set_passed(in.passed);
  out->set_detail(in.detail);
  out->set_request_id(in.request_id);
  out->set_confirmed(in.confirmed);
}

class EvidenceService final : public v1::EvidenceService::Service {
 public:
  EvidenceService(Core& core, const Door& door) : core_(core), door_(door) {}

  grpc::Status GetAnswers(grpc::ServerContext* context, const v1::GetAnswersRequest* request, v1::GetAnswersReply* reply) override {
    return Serve(core_, door_, context, Rpc::kGetAnswers, [&](const Caller&) -> absl::Status {
      ASSIGN_OR_RETURN(std::string document, AnswersDocument(core_, request->format(), request->group(), request->audience()));
      reply->set_document(std::move(document));
      return absl::OkStatus();
    });
  }

  grpc::Status GetBundle(grpc::ServerContext* context, const v1::GetBundleRequest*, v1::GetBundleReply* reply) override {
    return Serve(core_, door_, context, Rpc::kGetBundle, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(Bundle bundle, MakeBundle(core_, {.actor = caller.actor}));
      reply->set_tar(std::move(bundle.tar));
      reply->set_key(std::move(bundle.key));
      return absl::OkStatus();
    });
  }

  grpc::Status SubmitPilot(grpc::ServerContext* context, const v1::SubmitPilotRequest* request, v1::SubmitPilotReply* reply) override {
    return Serve(core_, door_, context, Rpc::kSubmitPilot, [&](const Caller& caller) -> absl::Status {
      std::vector<Finding> findings;
      for (const v1::PilotFinding& finding : request->findings()) findings.push_back(Read(finding));
      ASSIGN_OR_RETURN(PilotOutcome outcome, control::SubmitPilot(core_, caller, std::move(findings)));
      reply->set_passed(outcome.passed);
      reply->set_note(std::move(outcome.note));
      reply->set_key(std::move(outcome.key));
      for (const Finding& finding : outcome.findings) Write(finding, reply->add_findings());
      return absl::OkStatus();
    });
  }

 private:
  Core& core_;
  const Door& door_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeEvidenceService(Core& core, const Door& door) { return std::make_unique<EvidenceService>(core, door); }

}  // namespace credbroker::control
