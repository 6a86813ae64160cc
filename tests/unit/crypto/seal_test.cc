#include "crypto/seal.h"

#include "crypto/random.h"
#include "kit/status_matchers.h"
#include "reveal/secret_reveal.h"
#include "vectors.h"

namespace credbroker::crypto {
namespace {

using base::ErrorCode;
using base::Secret;
using testing_kit::FailsWith;

constexpr base::SecretReveal kReveal;
constexpr Argon2Cost kCheap{1, 8192};  // the least libsodium takes

TEST(SealTest, OpensWhatItSealed) {
  const SealKey key = SealKey::Generate();
  for (const std::string text : {"", "x", "a longer value"}) {
    const std::string sealed = Seal(key, Secret::Copy(text), "name");
    EXPECT_EQ(sealed.size(), text.size() + kSealOverheadBytes);
    ASSERT_OK_AND_ASSIGN(const Secret opened, Open(key, sealed, "name"));
    EXPECT_EQ(opened.Reveal(kReveal), text);
  }
}

TEST(SealTest, TheSameValueNeverSealsToTheSameBytes) {
  const SealKey key = SealKey::Generate();
  EXPECT_NE(Seal(key, Secret::Copy("v"), "n"), Seal(key, Secret::Copy("v"), "n"));
}

TEST(SealTest, EveryChangedByteAndEveryCutIsRefused) {
  const SealKey key = SealKey::Generate();
  const std::string sealed = Seal(key, Secret::Copy("value"), "name");
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_THAT(Open(key, changed, "name"), FailsWith(ErrorCode::kSealBroken)) << i;
    EXPECT_THAT(Open(key, sealed.substr(0, i), "name"), FailsWith(ErrorCode::kSealBroken)) << i;
  }
  EXPECT_THAT(Open(key, sealed + "x", "name"), FailsWith(ErrorCode::kSealBroken));
  EXPECT_THAT(Open(key, sealed, "other"), FailsWith(ErrorCode::kSealBroken));
  EXPECT_THAT(Open(SealKey::Generate(), sealed, "name"), FailsWith(ErrorCode::kSealBroken));
}

TEST(SealTest, OpenMatchesWycheproof) {
  const auto vectors = ReadVectors("wycheproof/xchacha20_poly1305_test.json");
  if (!vectors) return;
  int checked = 0;
  for (const auto& group : (*vectors)["testGroups"]) {
    for (const auto& test : group["tests"]) {
      ASSERT_OK_AND_ASSIGN(const SealKey key, SealKey::FromBytes(Secret::Take(Unhex(test["key"]))));
      const std::string sealed = "\x01" + Unhex(test["iv"]) + Unhex(test["ct"]) + Unhex(test["tag"]);
      const auto opened = Open(key, sealed, Unhex(test["aad"]));
      EXPECT_EQ(opened.ok(), test["result"] == "valid") << test["tcId"] << " " << test["comment"];
      if (opened.ok()) {
        EXPECT_EQ(opened->Reveal(kReveal), Unhex(test["msg"]));
      }
      ++checked;
    }
  }
  EXPECT_GE(checked, 300);
}

TEST(SealTest, KeysHaveOneLength) {
  EXPECT_THAT(SealKey::FromBytes(Secret::Copy("short")), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(BoxKey::FromBytes(Secret::Copy("short")), FailsWith(ErrorCode::kBadArgument));
  const SealKey key = SealKey::Generate();
  ASSERT_OK_AND_ASSIGN(const SealKey again, SealKey::FromBytes(key.Bytes()));
  ASSERT_OK_AND_ASSIGN(const Secret opened, Open(again, Seal(key, Secret::Copy("v"), "n"), "n"));
  EXPECT_EQ(opened.Reveal(kReveal), "v");
}

TEST(BoxTest, OnlyTheReceiverOpens) {
  const BoxKey edge = BoxKey::Generate();
  ASSERT_OK_AND_ASSIGN(const std::string sealed, SealTo(edge.public_key(), Secret::Copy("lease")));
  ASSERT_OK_AND_ASSIGN(const BoxKey restored, BoxKey::FromBytes(edge.Bytes()));
  ASSERT_OK_AND_ASSIGN(const Secret opened, OpenSealed(restored, sealed));
  EXPECT_EQ(opened.Reveal(kReveal), "lease");
  EXPECT_THAT(OpenSealed(BoxKey::Generate(), sealed), FailsWith(ErrorCode::kSealBroken));
  for (std::size_t i = 0; i < sealed.size(); ++i) {
    std::string changed = sealed;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_THAT(OpenSealed(edge, changed), FailsWith(ErrorCode::kSealBroken)) << i;
    EXPECT_THAT(OpenSealed(edge, sealed.substr(0, i)), FailsWith(ErrorCode::kSealBroken)) << i;
  }
}

TEST(BoxTest, OddReceiversAreRefused) {
  EXPECT_THAT(SealTo("short", Secret::Copy("v")), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(SealTo(std::string(32, '\0'), Secret::Copy("v")), FailsWith(ErrorCode::kBadArgument));
}

TEST(DeriveKeyTest, DependsOnPassphraseSaltAndCost) {
  const std::string salt(16, 's');
  ASSERT_OK_AND_ASSIGN(const SealKey key, DeriveKey(Secret::Copy("correct horse"), salt, kCheap));
  const std::string sealed = Seal(key, Secret::Copy("v"), "n");
  const auto opens = [&](std::string_view passphrase, std::string_view with_salt, Argon2Cost cost) {
    return Open(*DeriveKey(Secret::Copy(passphrase), with_salt, cost), sealed, "n").ok();
  };
  EXPECT_TRUE(opens("correct horse", salt, kCheap));
  EXPECT_FALSE(opens("correct horsf", salt, kCheap));
  EXPECT_FALSE(opens("correct horse", std::string(16, 't'), kCheap));
  EXPECT_FALSE(opens("correct horse", salt, Argon2Cost{2, 8192}));
  EXPECT_THAT(DeriveKey(Secret(), salt, kCheap), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(DeriveKey(Secret::Copy("p"), "short", kCheap), FailsWith(ErrorCode::kBadArgument));
}

}  // namespace
}  // namespace credbroker::crypto
