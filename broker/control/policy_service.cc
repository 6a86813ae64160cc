#include <utility>

#include "base/macros.h"
#include "base/str.h"
#include "control/convert.h"
#include "control/rpc.h"
#include "control/services.h"
#include "credbroker/v1/policy.grpc.pb.h"

namespace credbroker::control {
namespace {

absl::StatusOr<AskedAbout> WhoOf(const v1::ExplainRequest& request, const Caller& caller) {
  switch (request.who_case()) {
    case v1::ExplainRequest::kSession:
      return AskSession{request.session()};
    case v1::ExplainRequest::kToken:
      return AskToken{request.token()};
    case v1::ExplainRequest::kScope:
      return AskScope{request.scope()};
    case v1::ExplainRequest::WHO_NOT_SET:
      break;
  }
  if (caller.holder) return AskSession{caller.holder->session};
  return base::Error(base::ErrorCode::kBadArgument, "name a session, a token or a scope");
}

class PolicyService final : public v1::PolicyService::Service {
 public:
  PolicyService(Core& core, const Door& door) : core_(core), door_(door) {}

  grpc::Status ApplyPolicy(grpc::ServerContext* context, const v1::ApplyPolicyRequest* request,
                           v1::ApplyPolicyReply* reply) override {
    return Serve(core_, door_, context, Rpc::kApplyPolicy, [&](const Caller& caller) -> absl::Status {
      const DryRun dry_run = request->dry_run() ? DryRun::kYes : DryRun::kNo;
      ASSIGN_OR_RETURN(const Applied applied,
                       core_.policies().Apply(Read(request->source()), dry_run, {caller.actor, request->comment()}));
      reply->set_version(applied.version);
      reply->set_digest(applied.digest);
      for (const std::string& line : applied.changes) reply->add_changes(line);
      for (const std::string& line : applied.warnings) reply->add_warnings(line);
      reply->set_unchanged(applied.unchanged);
      return absl::OkStatus();
    });
  }

  grpc::Status GetPolicy(grpc::ServerContext* context, const v1::GetPolicyRequest* request,
                         v1::GetPolicyReply* reply) override {
    return Serve(core_, door_, context, Rpc::kGetPolicy, [&](const Caller&) -> absl::Status {
      ASSIGN_OR_RETURN(const PolicyText text, core_.policies().Get(request->version()));
      Write(text.version, reply->mutable_version());
      Write(text.source, reply->mutable_source());
      return absl::OkStatus();
    });
  }

  grpc::Status ListPolicyVersions(grpc::ServerContext* context, const v1::ListPolicyVersionsRequest*,
                                  v1::ListPolicyVersionsReply* reply) override {
    return Serve(core_, door_, context, Rpc::kListPolicyVersions, [&](const Caller&) -> absl::Status {
      ASSIGN_OR_RETURN(const auto versions, core_.policies().History());
      for (const store::PolicyVersion& version : versions) Write(version, reply->add_versions());
      return absl::OkStatus();
    });
  }

  grpc::Status DiffPolicy(grpc::ServerContext* context, const v1::DiffPolicyRequest* request,
                          v1::DiffPolicyReply* reply) override {
    return Serve(core_, door_, context, Rpc::kDiffPolicy, [&](const Caller&) -> absl::Status {
      ASSIGN_OR_RETURN(const auto changes, core_.policies().Diff(request->from(), request->to()));
      for (const std::string& line : changes) reply->add_changes(line);
      return absl::OkStatus();
    });
  }

  grpc::Status Explain(grpc::ServerContext* context, const v1::ExplainRequest* request,
                       v1::ExplainReply* reply) override {
    return Serve(core_, door_, context, Rpc::kExplain, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const AskedAbout who, WhoOf(*request, caller));
      std::vector<policy::Question> questions;
      for (const v1::Question& question : request->questions()) questions.push_back(Read(question));
      ASSIGN_OR_RETURN(const auto answers, core_.policies().Explain(caller, who, questions));
      for (const policy::Explanation& answer : answers) Write(answer, reply->add_answers());
      return absl::OkStatus();
    });
  }

  grpc::Status ListExceptions(grpc::ServerContext* context, const v1::ListExceptionsRequest*,
                              v1::ListExceptionsReply* reply) override {
    return Serve(core_, door_, context, Rpc::kListExceptions, [&](const Caller&) -> absl::Status {
      ASSIGN_OR_RETURN(const auto views, core_.policies().Exceptions());
      for (const ExceptionView& view : views) Write(view, reply->add_exceptions());
      return absl::OkStatus();
    });
  }

  grpc::Status AddException(grpc::ServerContext* context, const v1::AddExceptionRequest* request, v1::AddExceptionReply* reply) override {
    return Serve(core_, door_, context, Rpc::kAddException, [&](const Caller& caller) -> absl::Status {
      const auto list = [](const auto& field) { return std::vector<std::string>(field.begin(), field.end()); };
      const ExceptionWish wish{.id = request->id(), .kind = request->kind(), .reason = request->reason(), .owner = request->owner(),
                               .approved_by = request->approved_by(), .expires = request->expires(), .hosts = list(request->hosts()),
                               .addresses = list(request->addresses()), .scopes = list(request->scopes())};
      ASSIGN_OR_RETURN(const Applied applied, core_.policies().AddException(wish, {.actor = caller.actor, .reason = "exception " + wish.id}));
      reply->set_version(applied.version);
      for (const std::string& change : applied.changes) reply->add_changes(change);
      for (const std::string& warning : applied.warnings) reply->add_warnings(warning);
      return absl::OkStatus();
    });
  }

  grpc::Status TurnException(grpc::ServerContext* context, const v1::TurnExceptionRequest* request, v1::TurnExceptionReply* reply) override {
    return Serve(core_, door_, context, Rpc::kTurnException, [&](const Caller& caller) -> absl::Status {
      const Cause cause{.actor = caller.actor, .reason = base::StrCat("exception ", request->id(), request->off() ? " off" : " on")};
      ASSIGN_OR_RETURN(const Applied applied, core_.policies().TurnException(request->id(), request->off(), cause));
      reply->set_version(applied.version);
      return absl::OkStatus();
    });
  }

 private:
  Core& core_;
  const Door& door_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakePolicyService(Core& core, const Door& door) {
  return std::make_unique<PolicyService>(core, door);
}

}  // namespace credbroker::control
