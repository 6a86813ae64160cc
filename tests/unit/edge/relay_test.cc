#include "edge/relay.h"

#include <gmock/gmock.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>

#include "audit/ledger.h"
#include "base/id.h"
#include "gate/gate.h"
#include "kit/status_matchers.h"
#include "policy/source.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing_kit::IsOk;

constexpr std::string_view kPolicy = R"(
apiVersion: credbroker/v1
scopes:
  web-agent:
    requesters: [team-web]
    egress:
      - {hosts: [models.corp.example], methods: [GET, POST]}
)";

// The host needs no credential.
class NoLeases final : public gate::LeaseSource {
 public:
  base::Task<absl::StatusOr<std::shared_ptr<const gate::Lease>>> Borrow(const model::Allow&, const audit::IntentReceipt&, std::string,
                                                                       absl::Duration) override {
    co_return base::Error(ErrorCode::kInternal, "nothing is lent");
  }
};

class NoWait final : public gate::LedgerWait {
 public:
  base::Task<void> Company() override { co_return; }
  base::Task<absl::Status> Durable(audit::Ledger&, audit::Position, absl::Duration) override { co_return absl::OkStatus(); }
};

// One allowed GET between two sockets of the test, on a clock of the test.
class RelayTest : public testing::Test {
 protected:
  void SetUp() override {
    auto ledger = audit::Ledger::Open(testing::TempDir() + base::RandomId("relay-"), "credbroker/edge", crypto::SigningKey::Generate(), {},
                                      base::SystemClock());
    ASSERT_THAT(ledger, IsOk());
    ledger_ = *std::move(ledger);
    auto rules = policy::RuleSet::Load({{{"policy.yaml", std::string(kPolicy)}}, {}}, 1, "digest");
    ASSERT_THAT(rules, IsOk());
    gate::EdgeState state;
    state.rules = *rules;
    state.revocations = std::make_shared<gate::RevocationSet>();
    board_.Publish(std::make_shared<gate::EdgeState>(state));
    board_.NoteHeard(clock_.Monotonic());
    gate_.emplace(board_, *ledger_, leases_, wait_, clock_, gate::GateOptions());
    client_ = Connect(&client_end_);
    upstream_ = Connect(&upstream_end_);
    Open();
    loop_.Spawn(Run());
    Turn();
  }
  void TearDown() override { Turn(); }

  std::unique_ptr<net::Stream> Connect(base::Fd* other) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    *other = base::Fd(fds[0]);
    net::Endpoint peer;
    peer.unix_path = "test";
    return std::make_unique<net::Stream>(loop_, base::Fd(fds[1]), peer);
  }

  void Open() {
    auto caller = std::make_shared<gate::Caller>();
    caller->grant.session = "s-one";
    caller->grant.requester = "team-web";
    caller->grant.scopes = {"web-agent"};
    caller->grant.expires_at = clock_.Now() + absl::Hours(1);
    caller->issued_at = clock_.Now();
    model::Facts facts;
    facts.authority = {"models.corp.example", 443, false};
    facts.method = "GET";
    facts.path = "/v1/events";
    auto opening = gate_->Open(std::move(caller), facts, {"r-1", "connect", "127.0.0.1:5", {}}, absl::Seconds(1));
    opening.Start();
    ASSERT_TRUE(opening.done());
    gate::Gate::Opening opened = opening.Take();
    ASSERT_TRUE(std::holds_alternative<gate::Passage>(opened));
    passage_.emplace(std::get<gate::Passage>(std::move(opened)));
  }

  base::Task<void> Run() {
    Relay relay({*client_, "GET", false, true}, *upstream_, {}, *passage_, options_);
    const Relay::Result result = co_await relay.Run();
    result_ = result;
  }
  void Turn() {
    for (int i = 0; i < 20; ++i) loop_.RunOnce(absl::ZeroDuration());
  }
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    Turn();
  }
  void Say(std::string_view bytes) {
    EXPECT_EQ(send(upstream_end_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    Turn();
  }
  std::string Hear() {
    std::string out(100000, '\0');
    const ssize_t got = recv(client_end_.get(), out.data(), out.size(), MSG_DONTWAIT);
    out.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return out;
  }
  void BeginEvents() {
    Say("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
    EXPECT_THAT(Hear(), HasSubstr("data: 1\n\n"));
  }

  base::FakeClock clock_;
  EdgeOptions options_;
  std::unique_ptr<audit::Ledger> ledger_;
  gate::StateBoard board_;
  NoLeases leases_;
  NoWait wait_;
  std::optional<gate::Gate> gate_;
  std::optional<gate::Passage> passage_;
  net::Loop loop_{clock_};
  base::Fd client_end_, upstream_end_;
  std::unique_ptr<net::Stream> client_, upstream_;
  std::optional<Relay::Result> result_;
};

TEST_F(RelayTest, AnEventStreamMayBeSilentForTenMinutes_B81) {
  EXPECT_GE(options_.stream_idle, absl::Minutes(10));
  BeginEvents();
  for (int i = 0; i < 3; ++i) {
    Pass(options_.stream_idle - absl::Seconds(1));
    ASSERT_FALSE(result_.has_value());
    Say("9\r\ndata: 2\n\n\r\n");
    EXPECT_THAT(Hear(), HasSubstr("data: 2\n\n"));
  }
  Say("0\r\n\r\n");
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->error, ErrorCode::kNone);
  EXPECT_THAT(Hear(), EndsWith("0\r\n\r\n"));
}

TEST_F(RelayTest, BeyondThatTheClientSeesACutAndNoCleanEnd_B81) {
  BeginEvents();
  Pass(options_.stream_idle + absl::Seconds(1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->error, ErrorCode::kUpstreamTimeout);
  EXPECT_TRUE(result_->answered);
  EXPECT_TRUE(result_->cut_shows);
  EXPECT_FALSE(result_->client_reusable);
  EXPECT_THAT(Hear(), Not(HasSubstr("0\r\n\r\n")));
}

TEST_F(RelayTest, AClientThatLeavesASilentStreamEndsIt_B81) {
  BeginEvents();
  Pass(absl::Minutes(5));
  client_end_ = base::Fd();
  Turn();
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->error, ErrorCode::kClientClosed);
  EXPECT_FALSE(result_->upstream_reusable);
}

TEST_F(RelayTest, ASilentUpstreamIsATimeoutWithoutAnswer) {
  Pass(options_.stream_idle + absl::Seconds(1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->error, ErrorCode::kUpstreamTimeout);
  EXPECT_FALSE(result_->answered);
}

}  // namespace
}  // namespace credbroker::edge
