#include "control/servers.h"

#include <grpcpp/grpcpp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "control/local_socket.h"
#include "credbroker/v1/policy.grpc.pb.h"
#include "credbroker/v1/session.grpc.pb.h"
#include "credbroker/v1/status.grpc.pb.h"
#include "credbroker/v1/token.grpc.pb.h"
#include "fixture.h"
#include "reveal/secret_reveal.h"

namespace credbroker::control {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class ServersTest : public CoreTest {
 protected:
  ServersTest() : CoreTest(base::SystemClock().Now()) {}

  void SetUp() override {
    CoreTest::SetUp();
    ASSERT_OK_AND_ASSIGN(servers_, Servers::Start(*core_, {.api_address = "127.0.0.1:0"}));
  }
  void TearDown() override {
    servers_.reset();
    core_.reset();
  }

  std::shared_ptr<grpc::Channel> Local() const {
    return grpc::CreateChannel(servers_->socket_address(), grpc::InsecureChannelCredentials());
  }
  nlohmann::json AccessFile() const {
    return nlohmann::json::parse(*base::ReadFile(folder_.path() + "/data/admin/admin.access", 1 << 16));
  }
  std::shared_ptr<grpc::Channel> Tcp() const {
    const nlohmann::json access = AccessFile();
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = access["ca_pem"];
    return grpc::CreateChannel(access["address"].get<std::string>(), grpc::SslCredentials(options));
  }
  // The catalogue's number of the failure, 0 for success.
  static int ListSessions(const std::shared_ptr<grpc::Channel>& channel, const std::string& bearer) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    if (!bearer.empty()) context.AddMetadata("authorization", "Bearer " + bearer);
    v1::ListSessionsReply reply;
    const grpc::Status status = v1::SessionService::NewStub(channel)->ListSessions(&context, {}, &reply);
    return status.ok() ? 0 : CodeIn(context, status);
  }
  static int CodeIn(const grpc::ClientContext& context, const grpc::Status& status) {
    const auto found = context.GetServerTrailingMetadata().find("credbroker-error");
    if (found == context.GetServerTrailingMetadata().end()) return -static_cast<int>(status.error_code());
    return std::stoi(std::string(found->second.data(), found->second.size()));
  }

  std::unique_ptr<Servers> servers_;
};

TEST_F(ServersTest, TheSocketGivesItsOwnerEveryRole) {
  EXPECT_EQ(ListSessions(Local(), ""), 0);
  struct stat info;
  ASSERT_EQ(stat((folder_.path() + "/data/run/api.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0666u);
}

TEST_F(ServersTest, TcpNeedsTheAdminsBearer) {
  const std::string bearer = AccessFile()["token"];
  EXPECT_EQ(ListSessions(Tcp(), bearer), 0);
  EXPECT_EQ(ListSessions(Tcp(), ""), 1010);
  EXPECT_EQ(ListSessions(Tcp(), bearer + "x"), 1010);
  struct stat info;
  ASSERT_EQ(stat((folder_.path() + "/data/admin/admin.access").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(ServersTest, TheAccessFileKeepsItsTokenOverARestart) {
  const std::string bearer = AccessFile()["token"];
  servers_.reset();
  Reopen();
  ASSERT_OK_AND_ASSIGN(servers_, Servers::Start(*core_, {.api_address = "127.0.0.1:0"}));
  EXPECT_EQ(AccessFile()["token"], bearer);
  EXPECT_EQ(ListSessions(Tcp(), bearer), 0);
}

TEST_F(ServersTest, AHolderProvesItselfByItsToken) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  const auto whoami = [&](const std::string& text, v1::WhoAmIReply* reply) {
    grpc::ClientContext context;
    if (!text.empty()) context.AddMetadata("credbroker-token", text);
    const grpc::Status status = v1::TokenService::NewStub(Tcp())->WhoAmI(&context, {}, reply);
    return status.ok() ? 0 : CodeIn(context, status);
  };
  v1::WhoAmIReply reply;
  EXPECT_EQ(whoami(TextOf(opened.token), &reply), 0);
  EXPECT_EQ(reply.session().id(), opened.session.id);
  EXPECT_EQ(reply.repositories_size(), 1);
  EXPECT_EQ(reply.endpoints_size(), 1);
  EXPECT_EQ(whoami("", &reply), 1001);
  EXPECT_EQ(whoami("cbt_x", &reply), 1002);
}

TEST_F(ServersTest, AnotherUserOfTheMachineHasNoRole) {
  if (geteuid() != 0) {
    std::cout << "not root: another user's connection cannot be made here\n";
    return;
  }
  ASSERT_EQ(chmod(folder_.path().c_str(), 0755), 0);
  // Only the door is of interest, so a plain accept stands in for the server; the map from uid to server is in
  // servers.cc.
  std::promise<uid_t> seen;
  ASSERT_OK_AND_ASSIGN(const auto socket, LocalSocket::Listen(folder_.path() + "/test.sock",
                                                              [&](base::Fd, uid_t uid) { seen.set_value(uid); }));
  const pid_t child = fork();
  if (child == 0) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    (folder_.path() + "/test.sock").copy(address.sun_path, sizeof address.sun_path - 1);
    if (setuid(12345) != 0) _exit(1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    _exit(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 ? 0 : 2);
  }
  EXPECT_EQ(seen.get_future().get(), 12345u);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(ServersTest, AnybodyMayAskHowToConnectAndNothingElse) {
  grpc::ClientContext context;
  v1::GetConnectionReply reply;
  EXPECT_TRUE(v1::StatusService::NewStub(Tcp())->GetConnection(&context, {}, &reply).ok());
  EXPECT_NE(reply.ca_pem(), "");
  grpc::ClientContext refused;
  v1::GetStatusReply status;
  EXPECT_FALSE(v1::StatusService::NewStub(Tcp())->GetStatus(&refused, {}, &status).ok());
}

TEST_F(ServersTest, MessagesAreBounded) {
  const auto apply = [&](std::size_t bytes) {
    grpc::ClientContext context;
    v1::ApplyPolicyRequest request;
    v1::PolicyFile* file = request.mutable_source()->add_documents();
    file->set_name("policy.yaml");
    file->set_text(std::string(bytes, '#'));
    v1::ApplyPolicyReply reply;
    const grpc::Status status = v1::PolicyService::NewStub(Local())->ApplyPolicy(&context, request, &reply);
    return status.ok() ? 0 : CodeIn(context, status);
  };
  EXPECT_EQ(apply(9 << 20), 5009) << "read, and too large for a policy";
  EXPECT_EQ(apply(17 << 20), -grpc::StatusCode::RESOURCE_EXHAUSTED) << "not read at all";
}

TEST_F(ServersTest, DetailGoesToThePrivilegedOnly) {
  grpc::ClientContext context;
  v1::OpenSessionRequest request;
  request.set_requester("team-web");
  request.add_scopes("no-such-scope");
  v1::OpenSessionReply reply;
  const grpc::Status status = v1::SessionService::NewStub(Local())->OpenSession(&context, request, &reply);
  EXPECT_EQ(CodeIn(context, status), 5014);
  EXPECT_THAT(status.error_message(), testing::StartsWith(std::string(base::Lookup(ErrorCode::kScopeNotFound).text)));
  EXPECT_THAT(status.error_message(), testing::HasSubstr("no-such-scope"));
}

TEST_F(ServersTest, APortInUseIsSaid) {
  const std::string url = servers_->api_url();
  const std::string address = url.substr(url.rfind('/') + 1);
  TempFolder other;
  ASSERT_OK_AND_ASSIGN(const auto second, Core::Open({.data_dir = other.path() + "/data"}, clock_));
  EXPECT_THAT(Servers::Start(*second, {.api_address = address}), FailsWith(ErrorCode::kPortInUse));
}

TEST_F(ServersTest, ADataFolderHasOneBroker) {
  EXPECT_THAT(Core::Open({.data_dir = folder_.path() + "/data"}, clock_), FailsWith(ErrorCode::kAlreadyRunning));
}

}  // namespace
}  // namespace credbroker::control
