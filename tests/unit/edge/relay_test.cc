#include "edge/relay.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>

#include "audit/ledger.h"
#include "base/id.h"
#include "gate/gate.h"
#include "kit/status_matchers.h"
#include "policy/source.h"
#include "unit/edge/two_ends.h"

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
class RelayTest : public TwoEnds {
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
    Open();
    loop_.Spawn(Run());
    Turn();
  }
  void TearDown() override { Turn(); }

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
  void BeginEvents() {
    Say(upstream_end_, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n");
    EXPECT_THAT(Hear(client_end_), HasSubstr("data: 1\n\n"));
  }

  std::unique_ptr<audit::Ledger> ledger_;
  gate::StateBoard board_;
  NoLeases leases_;
  NoWait wait_;
  std::optional<gate::Gate> gate_;
  std::optional<gate::Passage> passage_;
  std::optional<Relay::Result> result_;
};

TEST_F(RelayTest, AnEventStreamMayBeSilentForTenMinutes_B81) {
  EXPECT_GE(options_.stream_idle, absl::Minutes(10));
  BeginEvents();
  for (int i = 0; i < 3; ++i) {
    Pass(options_.stream_idle - absl::Seconds(1));
    ASSERT_FALSE(result_.has_value());
    Say(upstream_end_, "9\r\ndata: 2\n\n\r\n");
    EXPECT_THAT(Hear(client_end_), HasSubstr("data: 2\n\n"));
  }
  Say(upstream_end_, "0\r\n\r\n");
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->error, ErrorCode::kNone);
  EXPECT_THAT(Hear(client_end_), EndsWith("0\r\n\r\n"));
}

TEST_F(RelayTest, BeyondThatTheClientSeesACutAndNoCleanEnd_B81) {
  BeginEvents();
  Pass(options_.stream_idle + absl::Seconds(1));
  ASSERT_TRUE(result_.has_value());
  EXPECT_EQ(result_->error, ErrorCode::kUpstreamTimeout);
  EXPECT_TRUE(result_->answered);
  EXPECT_TRUE(result_->cut_shows);
  EXPECT_FALSE(result_->client_reusable);
  EXPECT_THAT(Hear(client_end_), Not(HasSubstr("0\r\n\r\n")));
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
