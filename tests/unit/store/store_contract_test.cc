#include "store_contract.h"

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "base/str.h"
#include "store/sqlite.h"

namespace credbroker::store {
namespace {

using base::ErrorCode;
using base::StrCat;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using testing_kit::FailsWith;
using testing_kit::IsOk;

TEST_P(StoreContract, SessionsComeBackEqual) {
  const Session session = SampleSession("s-1");
  ASSERT_THAT(store_->sessions().Insert(session), IsOk());
  ASSERT_OK_AND_ASSIGN(const Session found, store_->sessions().Find("s-1"));
  EXPECT_EQ(found, session);
  EXPECT_THAT(store_->sessions().Insert(session), FailsWith(ErrorCode::kStoreConflict));
  EXPECT_THAT(store_->sessions().Find("s-2"), FailsWith(ErrorCode::kSessionNotFound));

  Session endless = SampleSession("s-3");
  endless.scopes.clear();
  endless.expires_at = absl::InfiniteFuture();
  endless.closed_at = absl::InfinitePast();
  ASSERT_THAT(store_->sessions().Insert(endless), IsOk());
  ASSERT_OK_AND_ASSIGN(const Session same, store_->sessions().Find("s-3"));
  EXPECT_EQ(same, endless);
}

TEST_P(StoreContract, ScopeNamesThatWouldSplitAreRefused) {
  Session session = SampleSession("s-1");
  session.scopes = {"a\nb"};
  EXPECT_THAT(store_->sessions().Insert(session), FailsWith(ErrorCode::kBadArgument));
  session.scopes = {""};
  EXPECT_THAT(store_->sessions().Insert(session), FailsWith(ErrorCode::kBadArgument));
}

TEST_P(StoreContract, UpdateIsAllOrNothing) {
  ASSERT_THAT(store_->sessions().Insert(SampleSession("s-1")), IsOk());
  ASSERT_OK_AND_ASSIGN(const Session written, store_->sessions().Update("s-1", [](Session& session) {
    session.phase = model::Phase::kAgent;
    session.state = SessionState::kClosed;
    session.closed_at = kStart + absl::Hours(1);
    session.close_reason = "done";
    session.id = "s-9";  // cannot change
    return absl::OkStatus();
  }));
  EXPECT_EQ(written.id, "s-1");
  EXPECT_EQ(*store_->sessions().Find("s-1"), written);

  const auto refused = store_->sessions().Update("s-1", [](Session& session) {
    session.close_reason = "never";
    return base::Error(ErrorCode::kPhaseStep);
  });
  EXPECT_THAT(refused, FailsWith(ErrorCode::kPhaseStep));
  EXPECT_EQ(store_->sessions().Find("s-1")->close_reason, "done");
  EXPECT_THAT(store_->sessions().Update("s-2", [](Session&) { return absl::OkStatus(); }),
              FailsWith(ErrorCode::kSessionNotFound));
}

TEST_P(StoreContract, ListsFilterAndComeNewestFirst) {
  for (int i = 1; i <= 4; ++i) {
    Session session = SampleSession(StrCat("s-", i));
    session.opened_at += absl::Minutes(i);
    if (i == 2) session.requester = "team-api";
    if (i == 3) session.state = SessionState::kClosed;
    ASSERT_THAT(store_->sessions().Insert(session), IsOk());
  }
  const auto ids = [&](const SessionFilter& filter) {
    std::vector<std::string> names;
    const auto sessions = store_->sessions().List(filter);
    for (const Session& session : sessions.value()) names.push_back(session.id);
    return names;
  };
  EXPECT_THAT(ids({}), ElementsAre("s-4", "s-3", "s-2", "s-1"));
  EXPECT_THAT(ids({.requester = "team-web"}), ElementsAre("s-4", "s-3", "s-1"));
  EXPECT_THAT(ids({.live_only = true}), ElementsAre("s-4", "s-2", "s-1"));
  EXPECT_THAT(ids({.limit = 2}), ElementsAre("s-4", "s-3"));
  EXPECT_THAT(ids({.requester = "' OR 1=1 --"}), IsEmpty());
}

TEST_P(StoreContract, TouchOnlyMovesForward) {
  ASSERT_THAT(store_->sessions().Insert(SampleSession("s-1")), IsOk());
  ASSERT_THAT(store_->sessions().Touch("s-1", kStart + absl::Minutes(9)), IsOk());
  ASSERT_THAT(store_->sessions().Touch("s-1", kStart + absl::Minutes(3)), IsOk());
  EXPECT_EQ(store_->sessions().Find("s-1")->last_used_at, kStart + absl::Minutes(9));
  EXPECT_THAT(store_->sessions().Touch("s-2", kStart), FailsWith(ErrorCode::kSessionNotFound));
}

TEST_P(StoreContract, PruneForgetsClosedSessionsWithTheirTokens) {
  for (const std::string id : {"old", "open", "new"}) {
    Session session = SampleSession(id);
    if (id != "open") session.state = SessionState::kClosed;
    if (id != "open") session.closed_at = kStart + absl::Hours(id == "old" ? 1 : 9);
    ASSERT_THAT(store_->sessions().Insert(session), IsOk());
    ASSERT_THAT(store_->tokens().Insert(SampleToken("t-" + id, "", id)), IsOk());
  }
  EXPECT_EQ(*store_->sessions().Prune(kStart + absl::Hours(5)), 1);
  EXPECT_THAT(store_->tokens().Find("t-old"), FailsWith(ErrorCode::kTokenNotFound));
  EXPECT_THAT(store_->tokens().Find("t-open"), IsOk());
  EXPECT_THAT(store_->tokens().Find("t-new"), IsOk());
}

TEST_P(StoreContract, TokensBelongToASession) {
  EXPECT_THAT(store_->tokens().Insert(SampleToken("t-1", "", "s-1")), FailsWith(ErrorCode::kStoreConflict));
  ASSERT_THAT(store_->sessions().Insert(SampleSession("s-1")), IsOk());
  TokenRow token = SampleToken("t-1", "", "s-1");
  token.revoked_at = kStart + absl::Minutes(1);
  ASSERT_THAT(store_->tokens().Insert(token), IsOk());
  EXPECT_EQ(*store_->tokens().Find("t-1"), token);
  EXPECT_THAT(store_->tokens().Insert(token), FailsWith(ErrorCode::kStoreConflict));
  EXPECT_EQ(store_->tokens().ListOfSession("s-1")->size(), 1u);
  EXPECT_TRUE(store_->tokens().ListOfSession("s-2")->empty());
}

TEST_P(StoreContract, RevokingATokenTakesItsDescendants) {
  ASSERT_THAT(store_->sessions().Insert(SampleSession("s-1")), IsOk());
  const std::pair<const char*, const char*> tokens[] = {
      {"root", ""}, {"child", "root"}, {"grandchild", "child"}, {"other", ""}, {"cousin", "other"}};
  for (const auto& [id, parent] : tokens) ASSERT_THAT(store_->tokens().Insert(SampleToken(id, parent, "s-1")), IsOk());
  const absl::Time first = kStart + absl::Minutes(1);
  EXPECT_THAT(*store_->tokens().Revoke("child", first), UnorderedElementsAre("child", "grandchild"));
  EXPECT_THAT(*store_->tokens().Revoke("root", first + absl::Minutes(1)), ElementsAre("root"));
  EXPECT_EQ(store_->tokens().Find("grandchild")->revoked_at, first);
  EXPECT_EQ(store_->tokens().Find("cousin")->revoked_at, std::nullopt);
  EXPECT_THAT(*store_->tokens().RevokeSession("s-1", first), UnorderedElementsAre("other", "cousin"));
  EXPECT_THAT(*store_->tokens().RevokeSession("s-1", first), IsEmpty());
  EXPECT_THAT(store_->tokens().Revoke("none", first), FailsWith(ErrorCode::kTokenNotFound));
}

TEST_P(StoreContract, RevocationSerialsGrowAndAreNeverReused) {
  EXPECT_EQ(*store_->revocations().LatestSerial(), 0);
  Revocation first{0, RevocationKind::kToken, "t-1", kStart, "jo", "leaked", kStart + absl::Hours(1)};
  Revocation second{0, RevocationKind::kAll, "", kStart, "jo", "", absl::InfiniteFuture()};
  ASSERT_OK_AND_ASSIGN(first.serial, store_->revocations().Add(first));
  ASSERT_OK_AND_ASSIGN(second.serial, store_->revocations().Add(second));
  EXPECT_LT(first.serial, second.serial);
  EXPECT_THAT(*store_->revocations().Since(0), ElementsAre(first, second));
  EXPECT_THAT(*store_->revocations().Since(first.serial), ElementsAre(second));
  second.until = kStart + absl::Hours(1);
  ASSERT_OK_AND_ASSIGN(const int64_t third, store_->revocations().Add(second));
  EXPECT_EQ(*store_->revocations().Prune(kStart + absl::Hours(2)), 2);
  EXPECT_EQ(*store_->revocations().LatestSerial(), third);
  EXPECT_GT(*store_->revocations().Add(first), third);
}

TEST_P(StoreContract, EveryKindOfRevocationComesBack) {
  for (const RevocationKind kind :
       {RevocationKind::kToken, RevocationKind::kSession, RevocationKind::kScope, RevocationKind::kRepository,
        RevocationKind::kCredential, RevocationKind::kSandbox, RevocationKind::kKey, RevocationKind::kAll}) {
    ASSERT_OK_AND_ASSIGN(const int64_t serial,
                         store_->revocations().Add({0, kind, "v", kStart, "by", "why", absl::InfiniteFuture()}));
    EXPECT_EQ(store_->revocations().Since(serial - 1)->front().kind, kind);
  }
}

TEST_P(StoreContract, PolicyVersionsAreKept) {
  EXPECT_EQ(*store_->policies().Current(), std::nullopt);
  PolicyVersion one{0, "d1", std::string(200'000, 'x'), "jo", kStart, "first"};
  PolicyVersion two{0, "d2", "text", "sam", kStart + absl::Hours(1), ""};
  ASSERT_OK_AND_ASSIGN(one.version, store_->policies().Append(one));
  ASSERT_OK_AND_ASSIGN(two.version, store_->policies().Append(two));
  EXPECT_EQ(one.version, 1);
  EXPECT_EQ(two.version, 2);
  EXPECT_EQ(**store_->policies().Current(), two);
  EXPECT_EQ(*store_->policies().Find(1), one);
  EXPECT_THAT(store_->policies().Find(3), FailsWith(ErrorCode::kPolicyNotFound));
  one.text.clear();
  two.text.clear();
  EXPECT_THAT(*store_->policies().List(10), ElementsAre(two, one));
  EXPECT_THAT(*store_->policies().List(1), ElementsAre(two));
}

TEST_P(StoreContract, ExceptionUsesAddUp) {
  ASSERT_THAT(store_->exception_uses().Add("EX-7", 3, kStart + absl::Hours(1)), IsOk());
  ASSERT_THAT(store_->exception_uses().Add("EX-7", 2, kStart), IsOk());
  EXPECT_THAT(*store_->exception_uses().List(), ElementsAre(ExceptionUse{"EX-7", 5, kStart + absl::Hours(1)}));
}

TEST_P(StoreContract, SecretsAreOpaqueBytes) {
  SecretRow row{"llm", std::string("\0\x01\xff binary", 10), 1, kStart, kStart};
  ASSERT_THAT(store_->secrets().Insert(row), IsOk());
  EXPECT_THAT(store_->secrets().Insert(row), FailsWith(ErrorCode::kStoreConflict));
  EXPECT_EQ(*store_->secrets().Find("llm"), row);
  row.version = 2;
  row.sealed.clear();
  ASSERT_THAT(store_->secrets().Replace(row), IsOk());
  EXPECT_THAT(*store_->secrets().List(), ElementsAre(row));
  ASSERT_THAT(store_->secrets().Delete("llm"), IsOk());
  EXPECT_THAT(store_->secrets().Delete("llm"), FailsWith(ErrorCode::kSecretNotFound));
  EXPECT_THAT(store_->secrets().Replace(row), FailsWith(ErrorCode::kSecretNotFound));
  EXPECT_THAT(store_->secrets().Find("llm"), FailsWith(ErrorCode::kSecretNotFound));
}

TEST_P(StoreContract, EdgesAreUniqueByKey) {
  const EdgeRow edge{"edge-1", std::string(32, '\xfe'), kStart, kStart};
  ASSERT_THAT(store_->edges().Insert(edge), IsOk());
  EXPECT_THAT(store_->edges().Insert({"edge-2", edge.public_key, kStart, kStart}),
              FailsWith(ErrorCode::kStoreConflict));
  ASSERT_THAT(store_->edges().Touch("edge-1", kStart + absl::Minutes(1)), IsOk());
  EXPECT_EQ(store_->edges().Find("edge-1")->last_seen_at, kStart + absl::Minutes(1));
  EXPECT_EQ(store_->edges().List()->size(), 1u);
  ASSERT_THAT(store_->edges().Delete("edge-1"), IsOk());
  EXPECT_THAT(store_->edges().Find("edge-1"), FailsWith(ErrorCode::kEdgeNotFound));
  EXPECT_THAT(store_->edges().Touch("edge-1", kStart), FailsWith(ErrorCode::kEdgeNotFound));
  EXPECT_THAT(store_->edges().Delete("edge-1"), FailsWith(ErrorCode::kEdgeNotFound));
}

TEST_P(StoreContract, MetaKeepsBytes) {
  EXPECT_EQ(*store_->meta().Get("a"), std::nullopt);
  ASSERT_THAT(store_->meta().Set("a", std::string("\0x", 2)), IsOk());
  EXPECT_EQ(*store_->meta().Get("a"), std::string("\0x", 2));
  ASSERT_THAT(store_->meta().Set("a", ""), IsOk());
  EXPECT_EQ(*store_->meta().Get("a"), "");
  ASSERT_THAT(store_->meta().Set("p.2", "v"), IsOk());
  ASSERT_THAT(store_->meta().Set("p.1", "v"), IsOk());
  ASSERT_THAT(store_->meta().Set("pp", "v"), IsOk());
  EXPECT_THAT(*store_->meta().Keys("p."), ElementsAre("p.1", "p.2"));
  EXPECT_THAT(store_->meta().Delete("a"), IsOk());
  EXPECT_THAT(store_->meta().Delete("a"), IsOk());
  EXPECT_EQ(*store_->meta().Get("a"), std::nullopt);
}

TEST_P(StoreContract, TransactionsHoldTogetherAndSeeTheirOwnRows) {
  const absl::Status failed = store_->InTransaction([&] {
    EXPECT_THAT(store_->sessions().Insert(SampleSession("s-1")), IsOk());
    EXPECT_THAT(store_->sessions().Find("s-1"), IsOk());
    return base::Error(ErrorCode::kBadArgument);
  });
  EXPECT_THAT(failed, FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(store_->sessions().Find("s-1"), FailsWith(ErrorCode::kSessionNotFound));

  const absl::Status done = store_->InTransaction([&] {
    EXPECT_THAT(store_->sessions().Insert(SampleSession("s-1")), IsOk());
    // A call that fails inside undoes itself only.
    EXPECT_THAT(store_->sessions().Insert(SampleSession("s-1")), FailsWith(ErrorCode::kStoreConflict));
    return store_->InTransaction([&] { return store_->tokens().Insert(SampleToken("t-1", "", "s-1")); });
  });
  EXPECT_THAT(done, IsOk());
  EXPECT_THAT(store_->tokens().Find("t-1"), IsOk());
  EXPECT_THAT(store_->CheckWritable(), IsOk());
}

TEST_P(StoreContract, ManyThreadsNeverSeeALockedStore) {
  ASSERT_THAT(store_->sessions().Insert(SampleSession("s-1")), IsOk());
  std::atomic<int> failures{0};
  std::atomic<bool> done{false};
  std::thread reader([&] {
    while (!done) failures += !store_->tokens().ListOfSession("s-1").ok();
  });
  std::vector<std::thread> writers;
  for (int w = 0; w < 8; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < 20; ++i) {
        const std::string id = StrCat("t-", w, "-", i);
        failures += !store_
                         ->InTransaction([&]() -> absl::Status {
                           if (auto found = store_->sessions().Find("s-1"); !found.ok()) return found.status();
                           return store_->tokens().Insert(SampleToken(id, "", "s-1"));
                         })
                         .ok();
        if (i % 5 == 0) failures += !store_->tokens().Revoke(id, kStart).ok();
        failures += !store_->tokens().Find(id).ok();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  done = true;
  reader.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(store_->tokens().ListOfSession("s-1")->size(), 160u);
}

// Keeps its folder as long as the store.
std::unique_ptr<Store> OnDisk() {
  static std::vector<std::unique_ptr<TemporaryFolder>> folders;
  folders.push_back(std::make_unique<TemporaryFolder>());
  return *OpenSqlite(folders.back()->File("store.db"));
}
std::unique_ptr<Store> InMemory() { return *OpenSqlite(":memory:"); }

INSTANTIATE_TEST_SUITE_P(Stores, StoreContract,
                         testing::Values(StoreKind{"sqlite_disk", &OnDisk}, StoreKind{"sqlite_memory", &InMemory}),
                         [](const testing::TestParamInfo<StoreKind>& kind) { return kind.param.name; });

}  // namespace
}  // namespace credbroker::store
