#include "crypto/sign.h"

#include "base/text.h"
#include "kit/status_matchers.h"
#include "reveal/secret_reveal.h"
#include "vectors.h"

namespace credbroker::crypto {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

base::Secret SecretOf(std::string_view hex) {
  std::string bytes;
  EXPECT_TRUE(base::HexDecode(hex, &bytes));
  return base::Secret::Take(std::move(bytes));
}

TEST(SignTest, MatchesRfc8032) {
  ASSERT_OK_AND_ASSIGN(
      const SigningKey key,
      SigningKey::FromSeed(SecretOf("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")));
  EXPECT_EQ(key.public_key().Hex(), "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
  EXPECT_EQ(base::HexEncode(key.Sign("")),
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b");
}

TEST(SignTest, SeedGivesTheSameKeyBack) {
  const SigningKey key = SigningKey::Generate();
  ASSERT_OK_AND_ASSIGN(const SigningKey again, SigningKey::FromSeed(key.Seed()));
  EXPECT_EQ(key.public_key(), again.public_key());
  EXPECT_EQ(key.Sign("m"), again.Sign("m"));
  EXPECT_FALSE(key.public_key() == SigningKey::Generate().public_key());
}

TEST(SignTest, EveryFlippedBitIsRefused) {
  const SigningKey key = SigningKey::Generate();
  const std::string signature = key.Sign("message");
  ASSERT_TRUE(key.public_key().Verify("message", signature));
  for (std::size_t bit = 0; bit < signature.size() * 8; ++bit) {
    std::string changed = signature;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_FALSE(key.public_key().Verify("message", changed)) << bit;
  }
  EXPECT_FALSE(key.public_key().Verify("Message", signature));
  EXPECT_FALSE(SigningKey::Generate().public_key().Verify("message", signature));
}

TEST(SignTest, MatchesWycheproof) {
  const auto vectors = ReadVectors("wycheproof/ed25519_test.json");
  if (!vectors) return;
  int checked = 0;
  for (const auto& group : (*vectors)["testGroups"]) {
    const auto key = VerifyKey::FromBytes(Unhex(group["publicKey"]["pk"]));
    for (const auto& test : group["tests"]) {
      const bool accepted = key.ok() && key->Verify(Unhex(test["msg"]), Unhex(test["sig"]));
      EXPECT_EQ(accepted, test["result"] == "valid") << test["tcId"] << " " << test["comment"];
      ++checked;
    }
  }
  EXPECT_GE(checked, 100);
}

TEST(SignTest, OddKeysAreRefused) {
  EXPECT_THAT(VerifyKey::FromBytes(std::string(31, 'x')), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(VerifyKey::FromBytes(std::string(33, 'x')), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(VerifyKey::FromBytes(std::string(32, '\0')), FailsWith(ErrorCode::kBadArgument));  // small order
  EXPECT_THAT(VerifyKey::FromHex("zz"), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(SigningKey::FromSeed(base::Secret::Copy("short")), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(VerifyKey::FromHex(SigningKey::Generate().public_key().Hex()), IsOk());
}

}  // namespace
}  // namespace credbroker::crypto
