#include "gate/gate.h"

#include <nlohmann/json.hpp>

#include "audit/reader.h"
#include "base/id.h"
#include "kit/status_matchers.h"
#include "policy/source.h"
#include "reveal/secret_reveal.h"
#include "token/mint/mint.h"

namespace credbroker::gate {
namespace {

using base::ErrorCode;
using testing_kit::IsOk;

constexpr std::string_view kPolicy = R"(
apiVersion: credbroker/v1
services:
  git.corp: {preset: gitea, hosts: [git.corp.example]}
credentials:
  corp-bot: {service: git.corp, provider: static, secret: secret:corp-bot, place: {basic: {username: bot}}}
scopes:
  web-agent:
    requesters: [team-web]
    limits: {}
    repositories:
      - service: git.corp
        name: acme/web
        credential: corp-bot
        git: {fetch: allow, push: {refs: ["refs/heads/agent/{session}/**"], create: allow}}
)";

// Lends one value, or fails as told; counts.
class FakeLeases final : public LeaseSource {
 public:
  base::Task<absl::StatusOr<std::shared_ptr<const Lease>>> Borrow(const model::Allow& allow, const audit::IntentReceipt&, std::string session,
                                                                 absl::Duration) override {
    asked.push_back(session + " " + allow->credential->name);
    if (!answer.ok()) co_return answer;
    auto lease = std::make_shared<Lease>();
    lease->secret = base::Secret::Copy("real-secret");
    lease->scrub = rewrite::ScrubSet::Empty();
    co_return std::shared_ptr<const Lease>(lease);
  }
  absl::Status answer;
  std::vector<std::string> asked;
};

class NoWait final : public LedgerWait {
 public:
  base::Task<void> Company() override { co_return; }
  base::Task<absl::Status> Durable(audit::Ledger&, audit::Position, absl::Duration) override { co_return absl::OkStatus(); }
};

class GateTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + base::RandomId("gate-");
    auto ledger = audit::Ledger::Open(folder_, "credbroker/edge", crypto::SigningKey::Generate(), {}, base::SystemClock());
    ASSERT_THAT(ledger, IsOk());
    ledger_ = *std::move(ledger);
    LoadPolicy("limits: {requests_per_minute: 600}");
    state_.verifier = std::make_shared<token::Verifier>(token::KeySet({key_.public_key()}), "edge");
    state_.revocations = std::make_shared<RevocationSet>();
    Publish();
    gate_.emplace(board_, *ledger_, leases_, wait_, clock_, GateOptions());
  }

  void LoadPolicy(std::string_view limits) {
    std::string text(kPolicy);
    text.replace(text.find("limits: {}"), 10, limits);
    auto rules = policy::RuleSet::Load({{{"policy.yaml", text}}, {}}, 7, "digest");
    ASSERT_THAT(rules, IsOk());
    state_.rules = *rules;
    if (state_.verifier != nullptr) Publish();
  }
  void Publish() {
    board_.Publish(std::make_shared<EdgeState>(state_));
    board_.NoteHeard(clock_.Monotonic());
  }
  void Revoke(const std::string& kind, const std::string& value) {
    auto set = std::make_shared<RevocationSet>(*state_.revocations);
    set->Add({kind, value, clock_.Now()});
    state_.revocations = set;
    Publish();
  }

  token::Claims MakeClaims(const std::string& id, absl::Duration ttl = absl::Minutes(15)) {
    token::Claims claims;
    claims.id = id;
    claims.session = "s-one";
    claims.audience = "edge";
    claims.requester = "team-web";
    claims.issued_at = claims.not_before = clock_.Now();
    claims.expires_at = clock_.Now() + ttl;
    claims.scopes = {"web-agent"};
    return claims;
  }
  std::shared_ptr<const Caller> CallerOf(const token::Claims& claims) {
    auto caller = std::make_shared<Caller>();
    caller->grant = token::ToGrant(claims);
    caller->issued_at = claims.issued_at;
    return caller;
  }

  model::Facts Fetch(const std::string& repository = "acme/web") {
    model::Facts facts;
    facts.authority = {"git.corp.example", 443, false};
    facts.method = "POST";
    facts.path = "/" + repository + ".git/git-upload-pack";
    facts.git = model::GitFacts{model::GitFacts::Operation::kFetch, repository, {}};
    return facts;
  }

  Gate::Opening Open(const token::Claims& claims, const model::Facts& facts, const std::string& id = "r-1") {
    base::Task<Gate::Opening> task = gate_->Open(CallerOf(claims), facts, {id, "connect", "127.0.0.1:5", {}}, absl::Seconds(1));
    task.Start();
    EXPECT_TRUE(task.done());
    return task.Take();
  }
  ErrorCode RefusalOf(const Gate::Opening& opening) {
    const Refusal* refusal = std::get_if<Refusal>(&opening);
    return refusal == nullptr ? ErrorCode::kNone : refusal->code;
  }

  std::vector<nlohmann::json> Records() {
    EXPECT_THAT(ledger_->Flush(), IsOk());
    std::vector<nlohmann::json> records;
    EXPECT_THAT(audit::ReadEntries(folder_, audit::Direction::kOldestFirst, 0,
                                   [&](uint64_t, std::string_view line) {
                                     records.push_back(nlohmann::json::parse(line));
                                     return true;
                                   }),
                IsOk());
    return records;
  }

  base::FakeClock clock_;
  crypto::SigningKey key_ = crypto::SigningKey::Generate();
  std::string folder_;
  std::unique_ptr<audit::Ledger> ledger_;
  EdgeState state_;
  StateBoard board_;
  FakeLeases leases_;
  NoWait wait_;
  std::optional<Gate> gate_;
};

TEST_F(GateTest, IntentComesBeforeTheLeaseAndTheOutcomeAfter) {
  Gate::Opening opening = Open(MakeClaims("t-1"), Fetch());
  ASSERT_TRUE(std::holds_alternative<Passage>(opening));
  Passage& passage = std::get<Passage>(opening);
  EXPECT_EQ(Records().back()["kind"], "intent");
  ASSERT_NE(passage.lease(), nullptr);
  gate_->Close(passage, {Outcome::Result::kDone, ErrorCode::kNone, 200, 10, 20});
  const auto records = Records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1]["kind"], "outcome");
  EXPECT_EQ(records[1]["outcome"], "done");
  EXPECT_EQ(records[1]["status"], 200);
  EXPECT_EQ(records[1]["request_id"], records[0]["request_id"]);
  EXPECT_EQ(records[1]["intent"], 0);
  for (const char* field : {"session", "token_id", "requester", "credential", "rule", "repository", "policy_version"}) {
    EXPECT_FALSE(records[0][field].is_null()) << field;
    EXPECT_FALSE(records[1].contains(field)) << field;  // that stands in the intent
  }
  EXPECT_EQ(records[0]["credential"], "corp-bot");
  EXPECT_EQ(records[0]["policy_version"], 7);
}

TEST_F(GateTest, RefusalIsInTheLedgerWithTheSameRequestId) {
  EXPECT_EQ(RefusalOf(Open(MakeClaims("t-1"), Fetch("acme/other"), "r-77")), ErrorCode::kRepositoryNotAllowed);
  const auto records = Records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0]["kind"], "deny");
  EXPECT_EQ(records[0]["request_id"], "r-77");
  EXPECT_TRUE(leases_.asked.empty());
}

TEST_F(GateTest, FailedLeaseClosesTheIntent) {
  leases_.answer = base::Error(ErrorCode::kCredentialNotSet);
  EXPECT_EQ(RefusalOf(Open(MakeClaims("t-1"), Fetch())), ErrorCode::kCredentialNotSet);
  const auto records = Records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1]["outcome"], "failed");
  EXPECT_EQ(records[1]["code"], "credential_not_set");
}

TEST_F(GateTest, PassageThatDiesIsClosedAsUnknown) {
  { const Gate::Opening opening = Open(MakeClaims("t-1"), Fetch()); }
  const auto records = Records();
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1]["outcome"], "unknown");
}

// S6: one second before and after.
TEST_F(GateTest, TokenEndsAtItsExpiry) {
  const token::Claims claims = MakeClaims("t-1", absl::Minutes(15));
  clock_.Advance(absl::Minutes(15) - absl::Seconds(1));
  board_.NoteHeard(clock_.Monotonic());
  EXPECT_EQ(RefusalOf(Open(claims, Fetch())), ErrorCode::kNone);
  clock_.Advance(absl::Seconds(2));
  board_.NoteHeard(clock_.Monotonic());
  EXPECT_EQ(RefusalOf(Open(claims, Fetch())), ErrorCode::kTokenExpired);
}

// S47, B89.
TEST_F(GateTest, RevocationActsOnTheNextRequest) {
  token::Claims child = MakeClaims("t-child");
  child.parent_id = "t-parent";
  EXPECT_EQ(RefusalOf(Open(child, Fetch())), ErrorCode::kNone);
  Revoke("token", "t-parent");
  EXPECT_EQ(RefusalOf(Open(child, Fetch())), ErrorCode::kTokenRevoked);
  EXPECT_EQ(RefusalOf(Open(MakeClaims("t-2"), Fetch())), ErrorCode::kNone);
  Revoke("session", "s-one");
  EXPECT_EQ(RefusalOf(Open(MakeClaims("t-2"), Fetch())), ErrorCode::kTokenRevoked);
}

TEST_F(GateTest, ScopeRepositoryAndCredentialRevocationsHitOlderTokensOnly) {
  for (const auto& [kind, value] : {std::pair{"scope", "web-agent"}, {"repository", "Acme/Web.git"}, {"credential", "corp-bot"}, {"all", ""}}) {
    const token::Claims older = MakeClaims("t-old");
    clock_.Advance(absl::Seconds(1));
    Revoke(kind, value);
    clock_.Advance(absl::Seconds(1));
    EXPECT_EQ(RefusalOf(Open(older, Fetch())), ErrorCode::kTokenRevoked) << kind;
    EXPECT_EQ(RefusalOf(Open(MakeClaims("t-new"), Fetch())), ErrorCode::kNone) << kind;
  }
}

TEST_F(GateTest, UnknownKindOfRevocationRevokesAll) {
  const token::Claims older = MakeClaims("t-old");
  Revoke("galaxy", "x");
  EXPECT_EQ(RefusalOf(Open(older, Fetch())), ErrorCode::kTokenRevoked);
}

// design.md 5: without the broker the edge refuses after its freshness bound.
TEST_F(GateTest, StaleStateRefuses) {
  const token::Claims claims = MakeClaims("t-1");
  clock_.Advance(absl::Seconds(59));
  EXPECT_EQ(RefusalOf(Open(claims, Fetch())), ErrorCode::kNone);
  clock_.Advance(absl::Seconds(2));
  EXPECT_EQ(RefusalOf(Open(claims, Fetch())), ErrorCode::kStateStale);
}

// Requests that run count until they are closed, whatever token of the session they came with.
TEST_F(GateTest, RunningRequestsAndBytesArePerSession) {
  LoadPolicy("limits: {concurrent_requests: 2, bytes: 1000}");
  const token::Claims claims = MakeClaims("t-1"), sister = MakeClaims("t-2");
  std::optional<Gate::Opening> first = Open(claims, Fetch()), second = Open(sister, Fetch());
  ASSERT_EQ(RefusalOf(*second), ErrorCode::kNone);
  EXPECT_EQ(RefusalOf(Open(claims, Fetch())), ErrorCode::kTooManyRunning);
  gate_->Close(std::get<Passage>(*second), {Outcome::Result::kDone});
  EXPECT_TRUE(std::get<Passage>(*first).Move(600));
  std::optional<Gate::Opening> third = Open(claims, Fetch());
  ASSERT_EQ(RefusalOf(*third), ErrorCode::kNone);
  EXPECT_FALSE(std::get<Passage>(*third).Move(600)) << "together they pass the limit";
  gate_->Close(std::get<Passage>(*third), {Outcome::Result::kFailed, ErrorCode::kByteLimit});
  EXPECT_EQ(RefusalOf(Open(claims, Fetch())), ErrorCode::kByteLimit);
}

TEST_F(GateTest, RateLimitIsPerSession) {
  const token::Claims claims = MakeClaims("t-1");
  for (int i = 0; i < 600; ++i) ASSERT_EQ(RefusalOf(Open(claims, Fetch())), ErrorCode::kNone);
  EXPECT_EQ(RefusalOf(Open(claims, Fetch())), ErrorCode::kRateLimited);
  token::Claims other = MakeClaims("t-2");
  other.session = "s-two";
  EXPECT_EQ(RefusalOf(Open(other, Fetch())), ErrorCode::kNone);
}

// A request that runs for hours keeps its session in use, and falls with its repository or credential.
TEST_F(GateTest, ARunningRequestIsUseAndFallsWithWhatItWasLent) {
  const token::Claims claims = MakeClaims("t-1");
  const auto caller = CallerOf(claims);
  std::optional<Gate::Opening> opening = Open(claims, Fetch());
  ASSERT_EQ(RefusalOf(*opening), ErrorCode::kNone);
  EXPECT_EQ(gate_->TakeUses().sessions.count("s-one"), 1u);
  clock_.Advance(absl::Seconds(50));
  const Gate::Uses later = gate_->TakeUses();
  ASSERT_EQ(later.sessions.count("s-one"), 1u);
  EXPECT_EQ(later.sessions.at("s-one").last, clock_.Now());
  const model::Allow allow = std::get<Passage>(*opening).allow();
  EXPECT_TRUE(gate_->StillLent(*caller, Fetch(), allow));
  Revoke("credential", "other");
  EXPECT_TRUE(gate_->StillLent(*caller, Fetch(), allow));
  Revoke("credential", "corp-bot");
  EXPECT_FALSE(gate_->StillLent(*caller, Fetch(), allow));
  opening.reset();
  EXPECT_TRUE(gate_->TakeUses().sessions.empty());
}

// B97: no record, no effect, and no wait.
TEST_F(GateTest, LedgerThatCannotBeWrittenRefusesBeforeAnyLease) {
  ASSERT_THAT(ledger_->Close(), IsOk());
  EXPECT_EQ(RefusalOf(Open(MakeClaims("t-1"), Fetch())), ErrorCode::kLedgerUnavailable);
  EXPECT_EQ(RefusalOf(Open(MakeClaims("t-1"), Fetch("acme/other"))), ErrorCode::kLedgerUnavailable);
  EXPECT_TRUE(leases_.asked.empty());
}

TEST_F(GateTest, IdentifyChecksTheSignatureOnceAndTheRestAlways) {
  ASSERT_OK_AND_ASSIGN(crypto::SigningKey same, crypto::SigningKey::FromSeed(key_.Seed()));
  const token::Minter minter(std::move(same), "edge");
  ASSERT_OK_AND_ASSIGN(const token::Minted minted, minter.Mint(MakeClaims("t-1")));
  const std::string text(minted.text.Reveal(base::SecretReveal{}));
  ASSERT_OK_AND_ASSIGN(const auto first, gate_->Identify(text));
  ASSERT_OK_AND_ASSIGN(const auto second, gate_->Identify(text));
  EXPECT_EQ(first, second);
  std::string flipped = text;
  flipped[text.size() / 2] ^= 1;
  EXPECT_THAT(gate_->Identify(flipped), testing_kit::FailsWith(ErrorCode::kBadToken));
  Revoke("token", "t-1");
  EXPECT_THAT(gate_->Identify(text), testing_kit::FailsWith(ErrorCode::kTokenRevoked));
}

TEST_F(GateTest, FloodOfStrangersDoesNotFillTheLedger) {
  model::Facts facts = Fetch();
  for (int i = 0; i < 1000; ++i) gate_->Refuse(nullptr, facts, {"r-1", "connect", "127.0.0.1:" + std::to_string(i), {}}, ErrorCode::kNoToken);
  EXPECT_LE(Records().size(), 61u);
}

}  // namespace
}  // namespace credbroker::gate
