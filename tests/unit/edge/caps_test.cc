#include <optional>
#include <string>
#include <vector>

#include "audit/ledger.h"
#include "base/id.h"
#include "crypto/sign.h"
#include "edge/lease_cache.h"
#include "kit/status_matchers.h"
#include "policy/decide.h"
#include "policy/source.h"

namespace credbroker::edge {
namespace {

constexpr std::string_view kPolicy = R"(
apiVersion: credbroker/v1
services:
  llm: {hosts: [api.llm.example]}
credentials:
  llm-key: {service: llm, provider: static, secret: secret:llm, place: {header: {name: x-api-key}}}
scopes:
  web-agent:
    requesters: [team-web]
    endpoints:
      - {service: llm, credential: llm-key, allow: [{methods: [POST], path: /v1/messages}]}
)";

// Answers at once and counts.
class CountingBroker final : public BrokerPort {
 public:
  explicit CountingBroker(const base::Clock& clock) : clock_(clock) {}
  void Lend(std::string session, std::string, int64_t, std::string, std::function<void(absl::StatusOr<Lent>)> done) override {
    lent.push_back(std::move(session));
    done(Lent{base::Secret::Copy("real-secret"), clock_.Now() + absl::Minutes(5), 1});
  }
  void SignLeaf(std::string, std::string, std::function<void(absl::StatusOr<std::string>)> done) override {
    done(base::Error(base::ErrorCode::kProviderDown));
  }
  std::vector<std::string> lent;

 private:
  const base::Clock& clock_;
};

base::Task<void> BorrowInto(LeaseCache* cache, const model::Allow* allow, const audit::IntentReceipt* receipt, std::string session,
                            absl::Duration deadline, absl::Status* out) {
  const auto lease = co_await cache->Borrow(*allow, *receipt, std::move(session), deadline);
  *out = lease.status();
}

// A full cache is emptied: nobody is refused, each asks the broker once more.
TEST(LeaseCacheTest, KeepsSoManyLeasesAndServesTheOthersToo) {
  base::FakeClock clock;
  net::Loop loop(clock);
  CountingBroker broker(clock);
  LeaseCache cache(loop, broker, clock, 2);
  ASSERT_OK_AND_ASSIGN(const auto rules, policy::RuleSet::Load({{{"policy.yaml", std::string(kPolicy)}}, {}}, 1, "digest"));
  model::Grant grant;
  grant.scopes = {"web-agent"};
  model::Facts facts;
  facts.authority = {"api.llm.example", 443, false};
  facts.method = "POST";
  facts.path = "/v1/messages";
  model::Decision decision = policy::Decide(facts, grant, rules, clock.Now());
  ASSERT_NE(decision.allow(), nullptr);
  const model::Allow allow = decision.TakeAllow();
  ASSERT_OK_AND_ASSIGN(const auto ledger, audit::Ledger::Open(testing::TempDir() + base::RandomId("caps-"), "credbroker/edge",
                                                              crypto::SigningKey::Generate(), {}, base::SystemClock()));
  model::Record record;
  record.kind = model::RecordKind::kIntent;
  record.request_id = "r-1";
  ASSERT_OK_AND_ASSIGN(const audit::IntentReceipt receipt, ledger->AppendIntent(record));
  const auto borrow = [&](const std::string& session) {
    absl::Status status = absl::UnknownError("not done");
    loop.Spawn(BorrowInto(&cache, &allow, &receipt, session, clock.Monotonic() + absl::Seconds(10), &status));
    for (int i = 0; i < 100 && loop.task_count() > 0; ++i) loop.RunOnce(absl::Milliseconds(10));
    return status;
  };
  for (const char* session : {"s-1", "s-2", "s-1", "s-2", "s-3", "s-1"}) EXPECT_THAT(borrow(session), testing_kit::IsOk());
  EXPECT_THAT(broker.lent, testing::ElementsAre("s-1", "s-2", "s-3", "s-1"));
}

}  // namespace
}  // namespace credbroker::edge
