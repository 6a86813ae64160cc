#include "vault/vault.h"

#include <atomic>
#include <fstream>
#include <thread>

#include "base/str.h"
#include "kit/status_matchers.h"
#include "reveal/secret_reveal.h"
#include "store/sqlite.h"
#include "temporary_folder.h"

namespace credbroker::vault {
namespace {

using base::ErrorCode;
using base::Secret;
using base::StrCat;
using testing::ElementsAre;
using testing::IsEmpty;
using testing_kit::FailsWith;
using testing_kit::IsOk;

constexpr base::SecretReveal kReveal;

class VaultTest : public testing::Test {
 protected:
  VaultTest() : store_(*store::OpenSqlite(folder_.File("store.db"), clock_)) { vault_ = *Open(source_); }

  absl::StatusOr<std::unique_ptr<Vault>> Open(const MasterKeySource& source) {
    return Vault::Open(*store_, source, clock_);
  }
  std::string Lent(const Vault& vault, std::string_view name) {
    const absl::StatusOr<Secret> value = vault.Lend(name);
    return value.ok() ? std::string(value->Reveal(kReveal)) : StrCat("error: ", value.status().message());
  }
  // All bytes that the store has on disk.
  std::string DiskBytes() {
    std::string all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      all.append((std::istreambuf_iterator<char>(file)), {});
    }
    return all;
  }

  const TemporaryFolder folder_;
  base::FakeClock clock_;
  std::unique_ptr<store::Store> store_;
  const MasterKeyFile source_{folder_.File("keys/master.key")};
  const MasterKeyFile next_source_{folder_.File("keys/next.key")};
  std::unique_ptr<Vault> vault_;
};

TEST_F(VaultTest, LendsWhatWasPutAlsoAfterARestart) {
  ASSERT_THAT(vault_->Put("llm", Secret::Copy("sk-real")), IsOk());
  EXPECT_EQ(Lent(*vault_, "llm"), "sk-real");
  vault_.reset();
  store_.reset();
  store_ = *store::OpenSqlite(folder_.File("store.db"), clock_);
  ASSERT_OK_AND_ASSIGN(vault_, Open(source_));
  EXPECT_EQ(Lent(*vault_, "llm"), "sk-real");
  EXPECT_THAT(vault_->Lend("none"), FailsWith(ErrorCode::kSecretNotFound));
}

TEST_F(VaultTest, NothingOnDiskHoldsTheValue) {
  const std::string value = "a-value-that-is-easy-to-find";
  ASSERT_THAT(vault_->Put("llm", Secret::Copy(value)), IsOk());
  EXPECT_EQ(DiskBytes().find(value), std::string::npos);
  EXPECT_NE(DiskBytes().find("llm"), std::string::npos);  // the search itself works
}

TEST_F(VaultTest, VersionsAndTimesAreToldValuesAreNot) {
  const absl::Time start = clock_.Now();
  ASSERT_THAT(vault_->Put("b", Secret::Copy("value-1")), IsOk());
  clock_.Advance(absl::Hours(1));
  ASSERT_OK_AND_ASSIGN(const SecretInfo rotated, vault_->Rotate("b", Secret::Copy("value-2")));
  EXPECT_EQ(rotated.version, 2);
  EXPECT_EQ(rotated.created_at, start);
  EXPECT_EQ(rotated.rotated_at, start + absl::Hours(1));
  ASSERT_THAT(vault_->Put("a", Secret::Copy("value-x")), IsOk());
  ASSERT_THAT(vault_->Put("b", Secret::Copy("value-3")), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto list, vault_->List());
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].name, "a");
  EXPECT_EQ(list[1].version, 3);
  EXPECT_EQ(vault_->Find("b")->version, 3);
  EXPECT_EQ(Lent(*vault_, "b"), "value-3");
  EXPECT_THAT(vault_->Rotate("none", Secret::Copy("value-x")), FailsWith(ErrorCode::kSecretNotFound));
}

TEST_F(VaultTest, DeletedSecretsAreGone) {
  ASSERT_THAT(vault_->Put("a", Secret::Copy("value-x")), IsOk());
  ASSERT_THAT(vault_->Delete("a"), IsOk());
  EXPECT_THAT(vault_->Delete("a"), FailsWith(ErrorCode::kSecretNotFound));
  EXPECT_THAT(vault_->Lend("a"), FailsWith(ErrorCode::kSecretNotFound));
  EXPECT_THAT(vault_->Find("a"), FailsWith(ErrorCode::kSecretNotFound));
}

TEST_F(VaultTest, NamesAreNarrow) {
  for (const std::string& name : {std::string("a"), std::string("acme-app.key_2"), std::string(64, 'x')}) {
    EXPECT_THAT(vault_->Put(name, Secret::Copy("value-v")), IsOk()) << name;
  }
  for (const std::string& name : {std::string(), std::string("A"), std::string("a b"), std::string("a/b"),
                                  std::string("a\n"), std::string(65, 'x'), std::string("\xc3\xa9")}) {
    EXPECT_THAT(vault_->Put(name, Secret::Copy("value-v")), FailsWith(ErrorCode::kBadName)) << name;
    EXPECT_THAT(vault_->Lend(name), FailsWith(ErrorCode::kBadName)) << name;
    EXPECT_THAT(vault_->Delete(name), FailsWith(ErrorCode::kBadName)) << name;
  }
}

TEST(CleanSecretTest, ValuesThatCannotStandInAHeaderAreRefused) {
  const std::string pem = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----";
  const std::string pem_windows = "-----BEGIN PRIVATE KEY-----\r\nAAAA\r\n-----END PRIVATE KEY-----\r\n";
  const struct {
    const char* name;
    std::string value;
    std::string kept;  // empty: refused
  } cases[] = {
      {"plain", "sk-1", "sk-1"},
      {"LF at the end", "sk-1\n", "sk-1"},
      {"CR LF at the end", "sk-1\r\n", "sk-1"},
      {"several at the end", "sk-1\n\r\n\n", "sk-1"},
      {"UTF-8", "p\xc3\xa4ss", "p\xc3\xa4ss"},
      {"inner space", "a b c", "a b c"},
      {"too short to be kept out of replies", "abc", ""},
      {"PEM", pem + "\n", pem},
      {"PEM with CR LF", pem_windows, pem},
      {"key file", "{\n  \"k\": \"a\\nb\",\r\n\t\"n\": 1\n}\n", "{  \"k\": \"a\\nb\",\"n\": 1}"},
      {"empty", "", ""},
      {"only LF", "\n", ""},
      {"only CR LF", "\r\n\r\n", ""},
      {"header after LF", "sk-1\nX-Evil: 1", ""},
      {"header after CR LF", "sk-1\r\nX-Evil: 1\r\n", ""},
      {"lone CR", "sk\r1", ""},
      {"NUL", std::string("sk\0001", 4), ""},
      {"tab", "sk\t1", ""},
      {"DEL", "sk\x7f", ""},
      {"escape", "\x1b[2J", ""},
      {"brace, but no JSON", "{\nX-Evil: 1\n}", ""},
      {"PEM with NUL", std::string("-----BEGIN \0", 12), ""},
      {"almost PEM", "x-----BEGIN A-----\nB", ""},
  };
  for (const auto& test : cases) {
    const absl::StatusOr<Secret> clean = CleanSecret(Secret::Copy(test.value));
    if (test.kept.empty()) {
      EXPECT_THAT(clean.status(), FailsWith(ErrorCode::kSecretInvalid)) << test.name;
      EXPECT_EQ(std::string(clean.status().message()).find("sk"), std::string::npos);  // no piece of the value
      continue;
    }
    ASSERT_THAT(clean.status(), IsOk()) << test.name;
    EXPECT_EQ(clean->Reveal(kReveal), test.kept) << test.name;
  }
  EXPECT_THAT(CleanSecret(Secret::Copy(std::string(kMaxSecretBytes, 'x'))).status(), IsOk());
  EXPECT_THAT(CleanSecret(Secret::Copy(std::string(kMaxSecretBytes + 1, 'x'))).status(),
              FailsWith(ErrorCode::kTooLarge));
}

TEST_F(VaultTest, RefusedValuesLeaveTheOldOneInForce) {
  ASSERT_THAT(vault_->Put("a", Secret::Copy("good\n")), IsOk());
  EXPECT_THAT(vault_->Put("a", Secret::Copy("\n")), FailsWith(ErrorCode::kSecretInvalid));
  EXPECT_EQ(Lent(*vault_, "a"), "good");
  EXPECT_EQ(vault_->Find("a")->version, 1);
}

TEST_F(VaultTest, SwappedOrChangedRowsDoNotOpen) {
  ASSERT_THAT(vault_->Put("a", Secret::Copy("value-va")), IsOk());
  ASSERT_THAT(vault_->Put("b", Secret::Copy("value-vb")), IsOk());
  const store::SecretRow a = *store_->secrets().Find("a");
  store::SecretRow b = *store_->secrets().Find("b");
  b.sealed = a.sealed;
  ASSERT_THAT(store_->secrets().Replace(b), IsOk());
  EXPECT_THAT(vault_->Lend("b"), FailsWith(ErrorCode::kSealBroken));
  store::SecretRow later = a;
  later.version = 2;  // an old value under a new version
  ASSERT_THAT(store_->secrets().Replace(later), IsOk());
  EXPECT_THAT(vault_->Lend("a"), FailsWith(ErrorCode::kSealBroken));
  for (std::size_t i = 0; i < a.sealed.size(); ++i) {
    store::SecretRow changed = a;
    changed.sealed[i] = static_cast<char>(changed.sealed[i] ^ 1);
    ASSERT_THAT(store_->secrets().Replace(changed), IsOk());
    EXPECT_THAT(vault_->Lend("a"), FailsWith(ErrorCode::kSealBroken)) << i;
  }
}

TEST_F(VaultTest, AnotherOrAMissingMasterKeyIsNoticedAtOnce) {
  EXPECT_THAT(next_source_.Load(std::string(16, 's'), FirstStart::kYes), IsOk());
  EXPECT_THAT(Open(next_source_), FailsWith(ErrorCode::kSealBroken));
  std::filesystem::remove(folder_.File("keys/master.key"));
  EXPECT_THAT(Open(source_), FailsWith(ErrorCode::kSealBroken));
  EXPECT_FALSE(std::filesystem::exists(folder_.File("keys/master.key")));
}

TEST_F(VaultTest, PassphraseOpensOnlyWithTheSameWords) {
  const auto store = *store::OpenSqlite(":memory:", clock_);
  const crypto::Argon2Cost cheap{1, 8192};
  const auto open = [&](std::string_view words) {
    return Vault::Open(*store, Passphrase(Secret::Copy(words), cheap), clock_);
  };
  ASSERT_THAT(open("correct horse battery"), IsOk());
  EXPECT_THAT(open("correct horse battery"), IsOk());
  EXPECT_THAT(open("correct horse batterx"), FailsWith(ErrorCode::kSealBroken));
}

TEST_F(VaultTest, SystemKeysAreMadeOnceAndListedNowhere) {
  int made = 0;
  const auto generate = [&]() -> absl::StatusOr<Secret> { return Secret::Copy(StrCat("key-", ++made)); };
  ASSERT_OK_AND_ASSIGN(const Secret first, vault_->SystemKey("token-signing", generate));
  ASSERT_OK_AND_ASSIGN(const Secret second, (*Open(source_))->SystemKey("token-signing", generate));
  EXPECT_EQ(first.Reveal(kReveal), "key-1");
  EXPECT_EQ(second.Reveal(kReveal), "key-1");
  EXPECT_EQ(made, 1);
  ASSERT_OK_AND_ASSIGN(const Secret other, vault_->SystemKey("ledger", generate));
  EXPECT_EQ(other.Reveal(kReveal), "key-2");
  EXPECT_THAT(*vault_->List(), IsEmpty());
  EXPECT_THAT(vault_->Lend("token-signing"), FailsWith(ErrorCode::kSecretNotFound));
  EXPECT_EQ(DiskBytes().find("key-1"), std::string::npos);

  ASSERT_THAT(vault_->SetSystemKey("ledger", Secret::Copy("rotated")), IsOk());
  EXPECT_EQ(vault_->SystemKey("ledger", generate)->Reveal(kReveal), "rotated");
  EXPECT_THAT(vault_->SetSystemKey("ledger", Secret()), FailsWith(ErrorCode::kSecretInvalid));
  const auto failing = []() -> absl::StatusOr<Secret> { return base::Error(ErrorCode::kInternal); };
  EXPECT_THAT(vault_->SystemKey("ca", failing), FailsWith(ErrorCode::kInternal));
  EXPECT_EQ(vault_->SystemKey("ca", generate)->Reveal(kReveal), "key-3");
}

TEST_F(VaultTest, RewrapMovesEverythingToTheNewMasterKey) {
  ASSERT_THAT(vault_->Put("a", Secret::Copy("value-va")), IsOk());
  const auto generate = []() -> absl::StatusOr<Secret> { return Secret::Copy("system"); };
  ASSERT_THAT(vault_->SystemKey("ledger", generate), IsOk());
  ASSERT_THAT(vault_->Rewrap(next_source_), IsOk());
  EXPECT_EQ(Lent(*vault_, "a"), "value-va");
  ASSERT_THAT(vault_->Put("b", Secret::Copy("value-vb")), IsOk());
  EXPECT_EQ(vault_->Find("a")->version, 1);  // the value is the same

  EXPECT_THAT(Open(source_), FailsWith(ErrorCode::kSealBroken));
  ASSERT_OK_AND_ASSIGN(const auto again, Open(next_source_));
  EXPECT_EQ(Lent(*again, "a"), "value-va");
  EXPECT_EQ(Lent(*again, "b"), "value-vb");
  EXPECT_EQ(again->SystemKey("ledger", generate)->Reveal(kReveal), "system");
}

TEST_F(VaultTest, AFailedRewrapChangesNothing) {
  ASSERT_THAT(vault_->Put("a", Secret::Copy("value-va")), IsOk());
  ASSERT_THAT(vault_->Put("z", Secret::Copy("value-vz")), IsOk());
  store::SecretRow damaged = *store_->secrets().Find("z");
  damaged.sealed[40] = static_cast<char>(damaged.sealed[40] ^ 1);
  ASSERT_THAT(store_->secrets().Replace(damaged), IsOk());
  EXPECT_THAT(vault_->Rewrap(next_source_), FailsWith(ErrorCode::kSealBroken));
  EXPECT_EQ(Lent(*vault_, "a"), "value-va");
  ASSERT_THAT(vault_->Put("b", Secret::Copy("value-vb")), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto again, Open(source_));
  EXPECT_EQ(Lent(*again, "a"), "value-va");
  EXPECT_EQ(Lent(*again, "b"), "value-vb");
}

TEST_F(VaultTest, LendingAndPuttingGoOnDuringRewraps) {
  ASSERT_THAT(vault_->Put("a", Secret::Copy("value-va")), IsOk());
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::thread lender([&] {
    while (!done) wrong += Lent(*vault_, "a") != "value-va";
  });
  std::thread writer([&] {
    while (!done) wrong += !vault_->Put("b", Secret::Copy("value-vb")).ok();
  });
  // Old and new rows alternate; each round waits until the others had a turn.
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(vault_->Rewrap(i % 2 == 0 ? next_source_ : source_), IsOk());
    const int64_t seen = vault_->Find("b").ok() ? vault_->Find("b")->version : 0;
    while (!vault_->Find("b").ok() || vault_->Find("b")->version <= seen) std::this_thread::yield();
  }
  done = true;
  lender.join();
  writer.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Lent(*vault_, "b"), "value-vb");
  EXPECT_EQ(Lent(**Open(source_), "b"), "value-vb");
}

}  // namespace
}  // namespace credbroker::vault
