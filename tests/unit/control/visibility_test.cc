#include <grpcpp/grpcpp.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "control/servers.h"
#include "credbroker/v1/audit.grpc.pb.h"
#include "fixture.h"
#include "reveal/secret_reveal.h"

// Who sees which records, over every call of the audit service (S22, S43).
namespace credbroker::control {
namespace {

using testing_kit::IsOk;

class VisibilityTest : public CoreTest {
 protected:
  VisibilityTest() : CoreTest(base::SystemClock().Now()) {}

  void SetUp() override {
    CoreTest::SetUp();
    ASSERT_OK_AND_ASSIGN(servers_, Servers::Start(*core_, {.api_address = "127.0.0.1:0"}));
    const nlohmann::json file =
        nlohmann::json::parse(*base::ReadFile(folder_.path() + "/data/admin/admin.access", 1 << 16));
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = file["ca_pem"];
    stub_ = v1::AuditService::NewStub(
        grpc::CreateChannel(file["address"].get<std::string>(), grpc::SslCredentials(options)));
    ASSERT_THAT(Open(), IsOk());  // team-web under `web`: records 2 and 3
    ASSERT_THAT(core_->sessions().Open(Admin(), {.requester = "team-docs", .scopes = {"docs"}}), IsOk());  // 4 and 5
  }
  void TearDown() override {
    servers_.reset();
    core_.reset();
  }

  std::string Bearer(const std::string& name, Role role, const std::string& requester = {}) {
    Access access{.name = name, .roles = Roles::Of(Role::kAnyone, role), .requester = requester};
    const auto secret = core_->accesses().Create(access);
    EXPECT_TRUE(secret.ok());
    return std::string(secret->Reveal(base::SecretReveal{}));
  }

  std::unique_ptr<grpc::ClientContext> As(const std::string& bearer) {
    auto context = std::make_unique<grpc::ClientContext>();
    context->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    if (!bearer.empty()) context->AddMetadata("authorization", "Bearer " + bearer);
    return context;
  }
  static int CodeIn(const grpc::ClientContext& context, const grpc::Status& status) {
    if (status.ok()) return 0;
    const auto found = context.GetServerTrailingMetadata().find("credbroker-error");
    if (found == context.GetServerTrailingMetadata().end()) return -static_cast<int>(status.error_code());
    return std::stoi(std::string(found->second.data(), found->second.size()));
  }

  // How many records the caller sees, or minus the catalogue's number.
  int List(const std::string& bearer, const v1::ListRecordsRequest& request = {}) {
    const auto context = As(bearer);
    v1::ListRecordsReply reply;
    const int code = CodeIn(*context, stub_->ListRecords(context.get(), request, &reply));
    return code == 0 ? reply.json_size() : -code;
  }
  int Get(const std::string& bearer, const std::string& id) {
    const auto context = As(bearer);
    v1::GetRecordRequest request;
    request.set_id(id);
    v1::GetRecordReply reply;
    const int code = CodeIn(*context, stub_->GetRecord(context.get(), request, &reply));
    return code == 0 ? reply.json_size() : -code;
  }
  int Export(const std::string& bearer) {
    const auto context = As(bearer);
    const auto reader = stub_->ExportRecords(context.get(), {});
    v1::ExportedRecord record;
    int seen = 0;
    while (reader->Read(&record)) seen += record.json().empty() ? 0 : 1;
    const int code = CodeIn(*context, reader->Finish());
    return code == 0 ? seen : -code;
  }
  // The first record that a tail shows.
  std::string Tail(const std::string& bearer) {
    const auto context = As(bearer);
    const auto reader = stub_->TailRecords(context.get(), {});
    v1::RecordLine record;
    if (reader->Read(&record)) {
      context->TryCancel();
      reader->Finish();
      return record.json();
    }
    return std::to_string(CodeIn(*context, reader->Finish()));
  }
  int Verify(const std::string& bearer) {
    const auto context = As(bearer);
    v1::VerifyLedgersReply reply;
    return CodeIn(*context, stub_->VerifyLedgers(context.get(), {}, &reply));
  }
  int Checkpoints(const std::string& bearer) {
    const auto context = As(bearer);
    v1::GetCheckpointsReply reply;
    return CodeIn(*context, stub_->GetCheckpoints(context.get(), {}, &reply));
  }

  std::unique_ptr<Servers> servers_;
  std::unique_ptr<v1::AuditService::Stub> stub_;
};

TEST_F(VisibilityTest, EveryRoleOverEveryCall) {
  const std::string one = Bearer("one", Role::kReviewer);
  const std::string other = Bearer("other", Role::kReviewer);
  const std::string web = Bearer("web", Role::kRequester, "team-web");
  const std::string docs = Bearer("docs", Role::kRequester, "team-docs");
  const std::string op = Bearer("op", Role::kOperator);
  constexpr int kRefused = -1010;
  for (const std::string& reviewer : {one, other}) {
    EXPECT_EQ(List(reviewer), 6);
    EXPECT_EQ(Get(reviewer, "broker-1"), 1);
    EXPECT_EQ(Export(reviewer), 6);
    EXPECT_THAT(Tail(reviewer), testing::HasSubstr("broker-0"));
    EXPECT_EQ(Verify(reviewer), 0);
    EXPECT_EQ(Checkpoints(reviewer), 0);
  }
  EXPECT_EQ(List(web), 2);
  EXPECT_EQ(List(docs), 2);
  EXPECT_THAT(Tail(web), testing::HasSubstr("broker-2"));
  EXPECT_THAT(Tail(docs), testing::HasSubstr("broker-4"));
  for (const std::string& requester : {web, docs}) {
    EXPECT_EQ(Export(requester), kRefused) << "cursors tell how much others do";
    EXPECT_EQ(Verify(requester), 1010);
    EXPECT_EQ(Checkpoints(requester), 1010);
  }
  EXPECT_EQ(Get(web, "broker-2"), 1);
  EXPECT_EQ(Get(web, "broker-4"), -4012) << "as if it were not there";
  EXPECT_EQ(Get(docs, "broker-1"), -4012);
  EXPECT_EQ(Get(docs, "broker-4"), 1);
  EXPECT_EQ(List(op), kRefused);
  EXPECT_EQ(Get(op, "broker-2"), kRefused);
  EXPECT_EQ(Export(op), kRefused);
  EXPECT_EQ(Tail(op), "1010");
  EXPECT_EQ(Verify(op), 0);
  EXPECT_EQ(List(""), kRefused);
  EXPECT_EQ(Export(""), kRefused);
}

TEST_F(VisibilityTest, ARequesterCannotFilterItselfIntoOthersRecords) {
  const std::string web = Bearer("web", Role::kRequester, "team-web");
  v1::ListRecordsRequest request;
  request.set_requester("team-docs");
  EXPECT_EQ(List(web, request), -1014);
  request.set_requester("team-web");
  EXPECT_EQ(List(web, request), 2);
  request.clear_requester();
  request.set_kind("admin");
  EXPECT_EQ(List(web, request), 0);
}

}  // namespace
}  // namespace credbroker::control
