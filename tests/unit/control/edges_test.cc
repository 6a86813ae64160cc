#include "control/edges.h"

#include <fcntl.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <sys/socket.h>

#include <thread>

#include "audit/ledger.h"
#include "control/servers.h"
#include "credbroker/v1/edge.grpc.pb.h"
#include "crypto/certificate.h"
#include "crypto/seal.h"
#include "fixture.h"
#include "reveal/secret_reveal.h"

namespace credbroker::control {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

EdgeRevocation Fell(std::string id) { return {"token", std::move(id), absl::UnixEpoch(), absl::InfiniteFuture()}; }

TEST(EdgeFeedTest, FirstTheWholeStateThenChangesInOrder) {
  EdgeState state;
  state.revocations.emplace_back(2, Fell("t-1"));
  state.serial = 2;
  EdgeFeed feed;
  auto message = feed.Next(state);
  EXPECT_TRUE(message && std::holds_alternative<EdgeKeys>(message->body));
  EXPECT_EQ(message->serial, 0u) << "nothing is complete yet";
  message = feed.Next(state);
  EXPECT_TRUE(message && std::holds_alternative<std::shared_ptr<const EdgePolicy>>(message->body));
  EXPECT_EQ(message->serial, 0u);
  message = feed.Next(state);
  ASSERT_TRUE(message && std::holds_alternative<RevocationBatch>(message->body));
  EXPECT_TRUE(std::get<RevocationBatch>(message->body).whole);
  EXPECT_EQ(std::get<RevocationBatch>(message->body).revocations.size(), 1u);
  EXPECT_EQ(message->serial, 2u);
  EXPECT_FALSE(feed.Next(state));

  // A revocation and a policy at once: the revocation goes first, and only the last message moves the serial on.
  state.policy_serial = state.serial = 3;
  state.revocations.emplace_back(state.serial = 4, Fell("t-2"));
  message = feed.Next(state);
  ASSERT_TRUE(message && std::holds_alternative<RevocationBatch>(message->body));
  EXPECT_FALSE(std::get<RevocationBatch>(message->body).whole);
  EXPECT_EQ(std::get<RevocationBatch>(message->body).revocations.size(), 1u);
  EXPECT_EQ(message->serial, 2u);
  message = feed.Next(state);
  ASSERT_TRUE(message && std::holds_alternative<std::shared_ptr<const EdgePolicy>>(message->body));
  EXPECT_EQ(message->serial, 4u);

  state.ticket = 9;
  message = feed.Next(state);
  ASSERT_TRUE(message && std::holds_alternative<ShipNow>(message->body));
  EXPECT_EQ(std::get<ShipNow>(message->body).ticket, 9u);
  EXPECT_FALSE(feed.Next(state));
}

// A socket's token comes after what says whose it is; the confirmed serial covers it.
TEST(EdgeFeedTest, SocketsComeLastAndMoveTheSerial) {
  EdgeState state;
  const auto token = std::make_shared<const base::Secret>(base::Secret::Copy("token"));
  state.sockets["s-1"] = {2, token};
  state.sockets_serial = state.serial = 2;
  EdgeFeed feed;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(feed.Next(state)->serial, 0u) << "keys, policy, revocations";
  auto message = feed.Next(state);
  ASSERT_TRUE(message && std::holds_alternative<SocketBatch>(message->body));
  EXPECT_EQ(std::get<SocketBatch>(message->body).sockets.front().session, "s-1");
  EXPECT_EQ(message->serial, 2u);
  EXPECT_FALSE(feed.Next(state));
  state.sockets["s-1"] = {3, token};
  state.sockets["s-2"] = {4, token};
  state.sockets_serial = state.serial = 4;
  message = feed.Next(state);
  ASSERT_TRUE(message && std::holds_alternative<SocketBatch>(message->body));
  EXPECT_EQ(std::get<SocketBatch>(message->body).sockets.size(), 2u);
  EXPECT_EQ(message->serial, 4u);
}

TEST(EdgeFeedTest, SocketsComeInBoundedMessages) {
  EdgeState state;
  const auto token = std::make_shared<const base::Secret>(base::Secret::Copy("token"));
  for (uint64_t i = 1; i <= 5000; ++i) state.sockets["s-" + std::to_string(i)] = {++state.serial, token};
  state.sockets_serial = state.serial;
  EdgeFeed feed;
  for (int i = 0; i < 3; ++i) feed.Next(state);
  auto message = feed.Next(state);
  ASSERT_TRUE(message && std::holds_alternative<SocketBatch>(message->body));
  EXPECT_EQ(std::get<SocketBatch>(message->body).sockets.size(), 4096u);
  EXPECT_EQ(message->serial, 0u) << "the state is not whole yet";
  message = feed.Next(state);
  ASSERT_TRUE(message && std::holds_alternative<SocketBatch>(message->body));
  EXPECT_EQ(std::get<SocketBatch>(message->body).sockets.size(), 904u);
  EXPECT_EQ(message->serial, state.serial);
}

TEST(EdgeHubTest, ASecondStreamEndsTheFirst) {
  base::FakeClock clock;
  EdgeHub hub({}, clock);
  const uint64_t first = hub.Connect({.edge = "edge"});
  const uint64_t second = hub.Connect({.edge = "edge"});
  EXPECT_FALSE(hub.Next("edge", first, absl::ZeroDuration()));
  EXPECT_TRUE(hub.Next("edge", second, absl::ZeroDuration()));
  hub.Disconnect("edge", first);
  EXPECT_EQ(hub.connected(), 1);
  hub.Disconnect("edge", second);
  EXPECT_EQ(hub.connected(), 0);
  EXPECT_FALSE(hub.ShipAll(absl::ZeroDuration())) << "an edge that is gone has not shipped";
}

TEST(EdgeHubTest, ASilentEdgeDoesNotHoldAnybodyForever) {
  base::FakeClock clock;
  EdgeHub hub({}, clock);
  hub.Connect({.edge = "edge"});
  EXPECT_EQ(hub.WaitConfirmed(hub.Revoke({Fell("t-1")}), absl::Milliseconds(1)), 0);
  EXPECT_THAT(hub.Report("edge", {.serial = 100}), IsOk());
  EXPECT_EQ(hub.WaitConfirmed(2, absl::Milliseconds(1)), 1);
  EXPECT_THAT(hub.Report("other", {.serial = 100}), FailsWith(ErrorCode::kEdgeNotFound));
}

// An edge in this process, over a real socket pair and the real server: what it got, and what it may call.
class FakeEdge {
 public:
  FakeEdge(Servers& servers, std::string name, const std::string& ledger_folder, const base::Clock& clock)
      : name_(std::move(name)), box_(crypto::BoxKey::Generate()) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    EXPECT_THAT(servers.AdoptEdge(base::Fd(ends[0])), IsOk());
    stub_ = v1::EdgeService::NewStub(grpc::CreateInsecureChannelFromFd("broker", ends[1]));
    auto ledger =
        audit::Ledger::Open(ledger_folder, "credbroker/edge", crypto::SigningKey::Generate(), {.name = "edge"}, clock);
    EXPECT_THAT(ledger, IsOk());
    ledger_ = *std::move(ledger);
  }
  ~FakeEdge() {
    context_.TryCancel();
    if (thread_.joinable()) thread_.join();
  }

  void Start() {
    thread_ = std::thread([this] { Watch(); });
  }

  v1::EdgeService::Stub& stub() { return *stub_; }
  audit::Ledger& ledger() { return *ledger_; }
  const crypto::BoxKey& box() const { return box_; }
  const std::string& name() const { return name_; }

  // Waits until `done` holds for what arrived so far.
  bool Await(const std::function<bool(const std::vector<v1::EdgeUpdate>&)>& done) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(20), [&] { return done(updates_); });
  }
  grpc::Status finished() {
    if (thread_.joinable()) thread_.join();
    return finished_;
  }

 private:
  void Watch() {
    v1::WatchRequest request;
    request.set_edge(name_);
    request.set_sealing_key(box_.public_key());
    request.set_ledger_vkey(ledger_->key_text());
    request.set_proxy_url("http://127.0.0.1:7480");
    request.add_listeners("proxy http://127.0.0.1:7480");
    const auto reader = stub_->Watch(&context_, request);
    v1::EdgeUpdate update;
    while (reader->Read(&update)) {
      Confirm(update.serial());
      if (update.has_ship_now()) Ship(update.ship_now().ticket());
      const std::lock_guard lock(mutex_);
      updates_.push_back(update);
      changed_.notify_all();
    }
    finished_ = reader->Finish();
  }
  void Confirm(uint64_t serial) {
    grpc::ClientContext context;
    v1::ReportRequest request;
    request.set_edge(name_);
    request.set_serial(serial);
    request.set_ledger_ok(true);
    v1::ReportReply reply;
    stub_->Report(&context, request, &reply);
  }
  void Ship(uint64_t ticket) {
    EXPECT_THAT(ledger_->Flush(), IsOk());
    grpc::ClientContext context;
    v1::ShipRequest request;
    request.set_edge(name_);
    request.set_ticket(ticket);
    const auto lines = base::ReadFile(ledger_->folder() + "/entries/00000000000000000000.jsonl", 1 << 20);
    request.set_lines(lines.ok() ? *lines : "");
    request.set_checkpoint(ledger_->checkpoint());
    request.set_ledger_entries(ledger_->health().size);
    v1::ShipReply reply;
    stub_->Ship(&context, request, &reply);
  }

  const std::string name_;
  const crypto::BoxKey box_;
  std::unique_ptr<v1::EdgeService::Stub> stub_;
  std::unique_ptr<audit::Ledger> ledger_;
  grpc::ClientContext context_;
  grpc::Status finished_;
  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<v1::EdgeUpdate> updates_;
};

class EdgeServiceTest : public CoreTest {
 protected:
  void SetUp() override {
    CoreTest::SetUp();
    ASSERT_OK_AND_ASSIGN(servers_, Servers::Start(*core_, {.api_address = "127.0.0.1:0"}));
    edge_ = std::make_unique<FakeEdge>(*servers_, std::string(kChildEdge), folder_.path() + "/edge-ledger", clock_);
    edge_->Start();
    ASSERT_TRUE(edge_->Await([](const auto& updates) { return !updates.empty() && updates.back().serial() > 0; }));
  }
  void TearDown() override {
    if (servers_) servers_->Shutdown(absl::Seconds(1));
    edge_.reset();
    servers_.reset();
    core_.reset();
  }

  static int CodeIn(const grpc::ClientContext& context) {
    const auto found = context.GetServerTrailingMetadata().find("credbroker-error");
    if (found == context.GetServerTrailingMetadata().end()) return 0;
    return std::stoi(std::string(found->second.data(), found->second.size()));
  }

  // 0 when it lent.
  int Lend(const std::string& session, const std::string& credential, v1::LendReply* reply) {
    grpc::ClientContext context;
    v1::LendRequest request;
    request.set_edge(edge_->name());
    request.set_session(session);
    request.set_credential(credential);
    return edge_->stub().Lend(&context, request, reply).ok() ? 0 : CodeIn(context);
  }
  int SignLeaf(const std::string& host, v1::SignLeafReply* reply) {
    const auto key = crypto::GenerateP256Key();
    grpc::ClientContext context;
    v1::SignLeafRequest request;
    request.set_edge(edge_->name());
    request.set_host(host);
    request.set_public_key(key->public_key_der);
    return edge_->stub().SignLeaf(&context, request, reply).ok() ? 0 : CodeIn(context);
  }

  std::unique_ptr<Servers> servers_;
  std::unique_ptr<FakeEdge> edge_;
};

TEST_F(EdgeServiceTest, GetsTheWholeStateAndConfirmsARevocation) {
  EXPECT_TRUE(edge_->Await([](const auto& updates) {
    bool keys = false, policy = false, whole = false;
    for (const auto& update : updates) {
      keys = keys || (update.has_keys() && update.keys().verify_keys_size() == 1 && update.keys().audience() == "edge");
      policy = policy || (update.has_policy() && update.policy().version() == 1);
      whole = whole || (update.has_revocations() && update.revocations().whole());
    }
    return keys && policy && whole;
  }));
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open());
  ASSERT_OK_AND_ASSIGN(
      const Revoked revoked,
      core_->revocations().Revoke({store::RevocationKind::kToken, opened.token.id}, {.actor = "uid:0"}));
  EXPECT_EQ(revoked.edges_told, 1);
  EXPECT_TRUE(edge_->Await([&](const auto& updates) {
    for (const auto& update : updates) {
      for (const auto& row : update.revocations().revocations()) {
        if (row.kind() == "token" && row.value() == opened.token.id) return true;
      }
    }
    return false;
  }));
  EXPECT_TRUE(core_->hub().ready());
}

TEST_F(EdgeServiceTest, LendsSealedToTheEdgeAndToSessionsThatMayUseItOnly) {
  ASSERT_OK_AND_ASSIGN(const SessionAndToken opened, Open(absl::Minutes(3)));
  ASSERT_OK_AND_ASSIGN(const SessionAndToken docs,
                       core_->sessions().Open(Admin(), {.requester = "team-docs", .scopes = {"docs"}}));
  v1::LendReply reply;
  EXPECT_EQ(Lend(opened.session.id, "llm-key", &reply), 6001) << "named, but not set";
  ASSERT_THAT(core_->secrets().Put("llm", base::Secret::Copy("the-value"), Overwrite::kNo, {.actor = "uid:0"}), IsOk());
  ASSERT_EQ(Lend(opened.session.id, "llm-key", &reply), 0);
  EXPECT_EQ(reply.sealed_lease().find("the-value"), std::string::npos);
  ASSERT_OK_AND_ASSIGN(const base::Secret value, crypto::OpenSealed(edge_->box(), reply.sealed_lease()));
  EXPECT_EQ(value.Reveal(base::SecretReveal{}), "the-value");
  EXPECT_EQ(reply.expires_at().seconds(), absl::ToUnixSeconds(opened.session.expires_at)) << "never past the session";
  EXPECT_EQ(Lend(docs.session.id, "llm-key", &reply), 2103);
  EXPECT_EQ(Lend(opened.session.id, "no-such", &reply), 2103);
  EXPECT_EQ(Lend("s-none", "llm-key", &reply), 1012);
  ASSERT_THAT(core_->sessions().Close(Admin(), opened.session.id, ""), IsOk());
  EXPECT_EQ(Lend(opened.session.id, "llm-key", &reply), 1011);
}

TEST_F(EdgeServiceTest, RotationDropsLeases) {
  ASSERT_THAT(core_->secrets().Put("llm", base::Secret::Copy("value-one"), Overwrite::kNo, {.actor = "uid:0"}), IsOk());
  ASSERT_THAT(core_->secrets().Rotate("llm", base::Secret::Copy("value-two"), {.actor = "uid:0"}), IsOk());
  EXPECT_TRUE(edge_->Await([](const auto& updates) {
    for (const auto& update : updates) {
      for (const auto& row : update.revocations().revocations()) {
        if (row.kind() == "lease" && row.value() == "llm-key") return true;
      }
    }
    return false;
  }));
}

TEST_F(EdgeServiceTest, SignsLeavesForInspectedHostsOnly) {
  v1::SignLeafReply reply;
  ASSERT_EQ(SignLeaf("api.llm.example", &reply), 0);
  ASSERT_OK_AND_ASSIGN(const crypto::CertificateFacts facts, crypto::ReadCertificate(reply.chain_pem()));
  EXPECT_GT(facts.not_after, clock_.Now());
  for (const char* own : {"localhost", "127.0.0.1", "::1"}) EXPECT_EQ(SignLeaf(own, &reply), 0) << "the gateway by its own name";
  EXPECT_EQ(SignLeaf("elsewhere.example", &reply), 2101);
  EXPECT_EQ(SignLeaf("pinned.vendor.example", &reply), 2101) << "a tunnel is not ours to open";
  EXPECT_EQ(SignLeaf("a..b", &reply), 3005);
}

TEST_F(EdgeServiceTest, SpeaksForItselfOnly) {
  for (const char* name : {"other", "", "broker"}) {
    grpc::ClientContext context;
    v1::ReportRequest request;
    request.set_edge(name);
    v1::ReportReply reply;
    EXPECT_FALSE(edge_->stub().Report(&context, request, &reply).ok());
    EXPECT_EQ(CodeIn(context), 1010);
  }
}

TEST_F(EdgeServiceTest, ShipsIntoTheArchiveWithoutGaps) {
  model::Record record{
      .kind = model::RecordKind::kDeny, .time = clock_.Now(), .request_id = "r-1", .host = "elsewhere.example"};
  ASSERT_THAT(edge_->ledger().Append(record, nullptr), IsOk());
  ASSERT_OK_AND_ASSIGN(const ListedRecords listed, core_->audits().List({.request_id = "r-1"}));
  EXPECT_TRUE(listed.edges_current);
  ASSERT_EQ(listed.lines.size(), 1u);
  EXPECT_THAT(listed.lines[0], testing::HasSubstr("\"edge-0\""));

  grpc::ClientContext context;
  v1::ShipRequest gap;
  gap.set_edge(edge_->name());
  gap.set_first_index(7);
  gap.set_lines(listed.lines[0] + "\n");
  v1::ShipReply reply;
  EXPECT_FALSE(edge_->stub().Ship(&context, gap, &reply).ok());
  EXPECT_EQ(CodeIn(context), 4011);
  EXPECT_EQ(Records("system").back().find("archive.refused") == std::string::npos, false);
}

TEST_F(EdgeServiceTest, AnotherLedgerKeyUnderTheSameNameIsRefused) {
  FakeEdge impostor(*servers_, std::string(kChildEdge), folder_.path() + "/impostor-ledger", clock_);
  impostor.Start();
  const grpc::Status finished = impostor.finished();
  EXPECT_EQ(finished.error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(core_->hub().connected(), 1) << "the true edge stays";
}

TEST_F(EdgeServiceTest, WhatAnEdgeSendsIsBounded) {
  const auto report = [&](const v1::ReportRequest& request) {
    grpc::ClientContext context;
    v1::ReportReply reply;
    return edge_->stub().Report(&context, request, &reply).ok() ? 0 : CodeIn(context);
  };
  v1::ReportRequest uses;
  uses.set_edge(edge_->name());
  for (int i = 0; i < 10'000; ++i) uses.add_sessions()->set_session("s-none");
  EXPECT_EQ(report(uses), 0);
  uses.add_sessions();
  EXPECT_EQ(report(uses), 5009);
  v1::ReportRequest exceptions;
  exceptions.set_edge(edge_->name());
  for (int i = 0; i < 10'001; ++i) exceptions.add_exceptions();
  EXPECT_EQ(report(exceptions), 5009);
  v1::ReportRequest one;
  one.set_edge(edge_->name());
  one.add_exceptions()->set_id("EX-7");
  one.mutable_exceptions(0)->set_uses(1'000'001);
  EXPECT_EQ(report(one), 5006);

  const auto ship = [&](std::size_t bytes) {
    grpc::ClientContext context;
    v1::ShipRequest request;
    request.set_edge(edge_->name());
    request.set_lines(std::string(bytes, '\n'));
    v1::ShipReply reply;
    EXPECT_FALSE(edge_->stub().Ship(&context, request, &reply).ok());
    return CodeIn(context);
  };
  EXPECT_EQ(ship(Archives::kMaxBatchBytes + 1), 5009);
  EXPECT_NE(ship(Archives::kMaxBatchBytes), 5009) << "read, and refused for what it holds";

  const auto watch = [&](int listeners) {
    grpc::ClientContext context;
    v1::WatchRequest request;
    request.set_edge(edge_->name());
    request.set_sealing_key(edge_->box().public_key());
    request.set_ledger_vkey("not a key, so that no stream opens");
    for (int i = 0; i < listeners; ++i) request.add_listeners("proxy");
    const auto reader = edge_->stub().Watch(&context, request);
    v1::EdgeUpdate update;
    EXPECT_FALSE(reader->Read(&update));
    EXPECT_FALSE(reader->Finish().ok());
    return CodeIn(context);
  };
  EXPECT_EQ(watch(65), 5009);
  EXPECT_NE(watch(64), 5009);
}

TEST_F(EdgeServiceTest, CountsUsesOfExceptionsThatExist) {
  grpc::ClientContext context;
  v1::ReportRequest request;
  request.set_edge(edge_->name());
  for (const char* id : {"EX-7", "EX-unknown"}) {
    v1::ExceptionUse* use = request.add_exceptions();
    use->set_id(id);
    use->set_uses(2);
  }
  v1::ReportReply reply;
  ASSERT_TRUE(edge_->stub().Report(&context, request, &reply).ok());
  ASSERT_OK_AND_ASSIGN(const auto uses, core_->store().exception_uses().List());
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0].count, 2);
}

}  // namespace
}  // namespace credbroker::control
