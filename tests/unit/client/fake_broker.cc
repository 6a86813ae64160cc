#include "client/fake_broker.h"

#include <grpcpp/grpcpp.h>
#include <stdlib.h>

#include <filesystem>
#include <mutex>
#include <sstream>

#include "base/error.h"
#include "base/str.h"
#include "credbroker/credbroker.h"
#include "credbroker/v1/audit.grpc.pb.h"
#include "credbroker/v1/policy.grpc.pb.h"
#include "credbroker/v1/secret.grpc.pb.h"
#include "credbroker/v1/session.grpc.pb.h"
#include "credbroker/v1/status.grpc.pb.h"
#include "credbroker/v1/token.grpc.pb.h"

namespace credbroker::client {
namespace {

constexpr char kCaPem[] = "-----BEGIN CERTIFICATE-----\nQ0E=\n-----END CERTIFICATE-----\n";

std::string TokenOf(const grpc::ServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(kTokenMetadata);
  return found == metadata.end() ? std::string("no token") : std::string(found->second.data(), found->second.size());
}

// What the services share: the errors to give and the calls that were made.
class Notes {
 public:
  grpc::Status Take(grpc::ServerContext* context, std::string call) {
    const std::lock_guard lock(mu_);
    calls_.push_back(std::move(call));
    if (error_ == 0) return grpc::Status::OK;
    context->AddTrailingMetadata(kErrorMetadata, base::StrCat(error_));
    const base::ErrorEntry& entry = base::Lookup(static_cast<base::ErrorCode>(error_));
    return {grpc::StatusCode::FAILED_PRECONDITION, base::StrCat(entry.text, ": more\nlines \x1b[31m")};
  }
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mu_);
    return calls_;
  }
  void Fail(int error) {
    const std::lock_guard lock(mu_);
    error_ = error;
  }
  std::vector<std::string> records() const {
    const std::lock_guard lock(mu_);
    return records_;
  }
  void SetRecords(std::vector<std::string> records) {
    const std::lock_guard lock(mu_);
    records_ = std::move(records);
  }

 private:
  mutable std::mutex mu_;
  std::vector<std::string> calls_, records_;
  int error_ = 0;
};

void FillToken(v1::IssuedToken* token) {
  token->set_id("t-1");
  token->set_text("cbt_v4.public.abc-DEF_1");
  token->mutable_expires_at()->set_seconds(1'800'000'900);
}

void FillSession(v1::Session* session) {
  session->set_id("s-1");
  session->set_requester("team-web");
  session->add_scopes("web-agent");
  session->set_phase("agent");
  session->set_state("agent");
  session->mutable_opened_at()->set_seconds(1'800'000'000);
  session->mutable_idle_limit()->set_seconds(1200);
}

struct Sessions final : v1::SessionService::Service {
  explicit Sessions(Notes& notes) : notes_(notes) {}
  grpc::Status OpenSession(grpc::ServerContext* context, const v1::OpenSessionRequest* request,
                           v1::OpenSessionReply* reply) override {
    std::string asked = base::StrCat("OpenSession: ", request->requester());
    for (const std::string& scope : request->scopes()) base::StrAppend(&asked, " ", scope);
    base::StrAppend(&asked, " ttl=", request->token_ttl().seconds(), " ticket=", request->ticket());
    FillSession(reply->mutable_session());
    FillToken(reply->mutable_token());
    return notes_.Take(context, asked);
  }
  grpc::Status ListSessions(grpc::ServerContext* context, const v1::ListSessionsRequest*,
                            v1::ListSessionsReply* reply) override {
    FillSession(reply->add_sessions());
    return notes_.Take(context, "ListSessions");
  }
  grpc::Status CloseSession(grpc::ServerContext* context, const v1::CloseSessionRequest* request,
                            v1::CloseSessionReply* reply) override {
    FillSession(reply->mutable_session());
    reply->add_revoked_tokens("t-1");
    return notes_.Take(context, base::StrCat("CloseSession: ", request->id()));
  }
  Notes& notes_;
};

struct Tokens final : v1::TokenService::Service {
  explicit Tokens(Notes& notes) : notes_(notes) {}
  grpc::Status MintToken(grpc::ServerContext* context, const v1::MintTokenRequest* request,
                         v1::MintTokenReply* reply) override {
    std::string asked = base::StrCat("MintToken: ", request->session());
    for (const std::string& method : request->narrowing().methods()) base::StrAppend(&asked, " ", method);
    FillToken(reply->mutable_token());
    return notes_.Take(context, asked);
  }
  grpc::Status RevokeToken(grpc::ServerContext* context, const v1::RevokeTokenRequest* request,
                           v1::RevokeTokenReply* reply) override {
    reply->add_revoked_tokens("t-1");
    reply->set_edges_told(1);
    return notes_.Take(context, base::StrCat("RevokeToken: target ", static_cast<int>(request->target_case()), ", ",
                                             TokenOf(*context)));
  }
  grpc::Status WhoAmI(grpc::ServerContext* context, const v1::WhoAmIRequest*, v1::WhoAmIReply* reply) override {
    FillSession(reply->mutable_session());
    v1::RepositoryRule* rule = reply->add_repositories();
    rule->set_host("git.test");
    rule->set_name("acme/web");
    (*reply->mutable_placeholders())["GH_TOKEN"] = "ghp_placeholder";
    (*reply->mutable_placeholders())["SSL_CERT_FILE"] = "must not replace ours";
    (*reply->mutable_placeholders())["bad name;"] = "must not appear";
    return notes_.Take(context, base::StrCat("WhoAmI: ", TokenOf(*context)));
  }
  Notes& notes_;
};

struct Policies final : v1::PolicyService::Service {
  explicit Policies(Notes& notes) : notes_(notes) {}
  grpc::Status Explain(grpc::ServerContext* context, const v1::ExplainRequest* request,
                       v1::ExplainReply* reply) override {
    for (const auto& question : request->questions()) {
      v1::Explanation* answer = reply->add_answers();
      answer->set_decision("allow");
      answer->set_rule(question.git().empty()
                           ? base::StrCat(question.method(), " ", question.url())
                           : base::StrCat(question.git(), " ", question.ref(), " ", question.change()));
    }
    return notes_.Take(context, base::StrCat("Explain: ", request->questions_size(), " under ", request->scope(),
                                             request->token(), request->session(), ", ", TokenOf(*context)));
  }
  Notes& notes_;
};

struct Secrets final : v1::SecretService::Service {
  explicit Secrets(Notes& notes) : notes_(notes) {}
  grpc::Status PutSecret(grpc::ServerContext* context, const v1::PutSecretRequest* request,
                         v1::PutSecretReply* reply) override {
    reply->mutable_secret()->set_name(request->name());
    reply->mutable_secret()->set_version(1);
    return notes_.Take(context, base::StrCat("PutSecret: ", request->name(), " ", request->value().size(), " bytes"));
  }
  grpc::Status ListSecrets(grpc::ServerContext* context, const v1::ListSecretsRequest*,
                           v1::ListSecretsReply* reply) override {
    reply->add_secrets()->set_name("bot");
    reply->add_missing("llm");
    return notes_.Take(context, "ListSecrets");
  }
  Notes& notes_;
};

struct Audits final : v1::AuditService::Service {
  explicit Audits(Notes& notes) : notes_(notes) {}
  grpc::Status ListRecords(grpc::ServerContext* context, const v1::ListRecordsRequest* request,
                           v1::ListRecordsReply* reply) override {
    for (const std::string& line : notes_.records()) reply->add_json(line);
    return notes_.Take(context, base::StrCat("ListRecords: ", request->limit(), " ", request->session(),
                                             request->has_since() ? " since" : ""));
  }
  grpc::Status TailRecords(grpc::ServerContext* context, const v1::ListRecordsRequest*,
                           grpc::ServerWriter<v1::RecordLine>* writer) override {
    for (const std::string& line : notes_.records()) {
      v1::RecordLine record;
      record.set_json(line);
      if (!writer->Write(record)) break;
    }
    return notes_.Take(context, "TailRecords");
  }
  Notes& notes_;
};

struct Statuses final : v1::StatusService::Service {
  explicit Statuses(Notes& notes) : notes_(notes) {}
  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest*,
                         v1::GetStatusReply* reply) override {
    reply->set_version("0.1.0");
    reply->set_ledger_ok(true);
    reply->add_edges()->set_id("edge");
    return notes_.Take(context, "GetStatus");
  }
  grpc::Status GetConnection(grpc::ServerContext* context, const v1::GetConnectionRequest*,
                             v1::GetConnectionReply* reply) override {
    reply->set_proxy_url("http://127.0.0.1:7480");
    reply->set_gateway_url("http://127.0.0.1:7481");
    reply->set_ca_pem(kCaPem);
    return notes_.Take(context, "GetConnection");
  }
  Notes& notes_;
};

std::string NewFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "client-test-XXXXXX").string();
  return mkdtemp(pattern.data());
}

}  // namespace

struct FakeBroker::Services {
  Notes notes;
  Sessions sessions{notes};
  Tokens tokens{notes};
  Policies policies{notes};
  Secrets secrets{notes};
  Audits audits{notes};
  Statuses statuses{notes};
  std::unique_ptr<grpc::Server> server;
};

FakeBroker::FakeBroker() : folder_(NewFolder()), services_(std::make_unique<Services>()) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort(address(), grpc::InsecureServerCredentials());
  builder.RegisterService(&services_->sessions);
  builder.RegisterService(&services_->tokens);
  builder.RegisterService(&services_->policies);
  builder.RegisterService(&services_->secrets);
  builder.RegisterService(&services_->audits);
  builder.RegisterService(&services_->statuses);
  services_->server = builder.BuildAndStart();
}

FakeBroker::~FakeBroker() {
  services_->server->Shutdown();
  std::filesystem::remove_all(folder_);
}

std::string FakeBroker::address() const { return base::StrCat("unix:", folder_, "/api.sock"); }
std::vector<std::string> FakeBroker::calls() const { return services_->notes.calls(); }
void FakeBroker::FailWith(int error) { services_->notes.Fail(error); }
void FakeBroker::SetRecords(std::vector<std::string> lines) { services_->notes.SetRecords(std::move(lines)); }

RunResult RunLine(const std::vector<std::string>& arguments, Environment environment, const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out, err;
  Host host{in, out, err, std::move(environment), "/opt/credbroker/bin/credbroker"};
  const int code = RunCommandLine(arguments, host);
  return {code, out.str(), err.str()};
}

}  // namespace credbroker::client
