#include "token/paseto.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/str.h"
#include "base/text.h"
#include "kit/status_matchers.h"

namespace credbroker::token {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

// The vectors are not part of this tree; where they are absent a line says so.
std::optional<nlohmann::json> ReadVectors(const std::string& name) {
  const char* folder = std::getenv("CREDBROKER_VECTORS");
  const std::string root = folder != nullptr ? folder : CREDBROKER_SOURCE_DIR "/../shared/vectors";
  std::ifstream file(root + "/" + name);
  if (!file) {
    std::printf("test vectors absent, nothing checked: %s\n", name.c_str());
    return std::nullopt;
  }
  return nlohmann::json::parse(file);
}

std::string Unhex(const std::string& hex) {
  std::string bytes;
  EXPECT_TRUE(base::HexDecode(hex, &bytes));
  return bytes;
}

std::string Sign(const crypto::SigningKey& key, std::string_view payload, std::string_view footer,
                 std::string_view assertion) {
  const std::string body = base::StrCat(payload, key.Sign(SignedMessage(payload, footer, assertion)));
  return base::StrCat(kPasetoHeader, base::Base64UrlEncode(body), footer.empty() ? "" : ".",
                      base::Base64UrlEncode(footer));
}

TEST(PasetoTest, PreAuthEncodingMatchesTheSpecification) {
  EXPECT_EQ(PreAuthEncode({}), std::string(8, '\0'));
  EXPECT_EQ(PreAuthEncode({""}), std::string("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(PreAuthEncode({"test"}), std::string("\1\0\0\0\0\0\0\0\4\0\0\0\0\0\0\0test", 20));
}

TEST(PasetoTest, PublicVectors) {
  const auto vectors = ReadVectors("paseto/v4.json");
  if (!vectors) return;
  int valid = 0, invalid = 0;
  for (const auto& test : (*vectors)["tests"]) {
    if (!test.contains("public-key")) {
      // Made for other keys: whatever they are, they are no public token of version 4 under ours.
      const auto any = VerifyPaseto(crypto::SigningKey::Generate().public_key(), test["token"].get<std::string>(),
                                    test["footer"].get<std::string>(), test["implicit-assertion"].get<std::string>());
      EXPECT_THAT(any, FailsWith(ErrorCode::kBadToken)) << test["name"];
      ++invalid;
      continue;
    }
    ASSERT_OK_AND_ASSIGN(const auto key, crypto::VerifyKey::FromHex(test["public-key"].get<std::string>()));
    const std::string token = test["token"], footer = test["footer"], assertion = test["implicit-assertion"];
    const auto payload = VerifyPaseto(key, token, footer, assertion);
    if (test["expect-fail"]) {
      EXPECT_THAT(payload, FailsWith(ErrorCode::kBadToken)) << test["name"];
      ++invalid;
      continue;
    }
    ASSERT_THAT(payload, IsOk()) << test["name"];
    EXPECT_EQ(*payload, test["payload"].get<std::string>());
    std::string seed = Unhex(test["secret-key-seed"]);
    ASSERT_OK_AND_ASSIGN(const auto signer, crypto::SigningKey::FromSeed(base::Secret::Take(std::move(seed))));
    EXPECT_EQ(Sign(signer, *payload, footer, assertion), token) << test["name"];
    ++valid;
  }
  EXPECT_EQ(valid, 3);
  EXPECT_GE(invalid, 14);
}

TEST(PasetoTest, KeyIdVectors) {
  const auto vectors = ReadVectors("paseto/paserk/k4.pid.json");
  if (!vectors) return;
  for (const auto& test : (*vectors)["tests"]) {
    const auto id = KeyId(Unhex(test["key"]));
    EXPECT_EQ(id.ok(), !test["expect-fail"].get<bool>()) << test["name"];
    if (id.ok()) {
      EXPECT_EQ(*id, test["paserk"].get<std::string>());
    }
  }
}

class SignedPasetoTest : public testing::Test {
 protected:
  const crypto::SigningKey key_ = crypto::SigningKey::Generate();
  const std::string token_ = Sign(key_, R"({"data":"x"})", "footer", "channel");
};

TEST_F(SignedPasetoTest, Holds) {
  ASSERT_OK_AND_ASSIGN(const std::string payload, VerifyPaseto(key_.public_key(), token_, "footer", "channel"));
  EXPECT_EQ(payload, R"({"data":"x"})");
}

TEST_F(SignedPasetoTest, EveryChangedCharacterIsRefused) {
  for (std::size_t i = 0; i < token_.size(); ++i) {
    for (const char other : {'A', 'z', '=', '.', ' ', '\0', '\n'}) {
      std::string changed = token_;
      if (changed[i] == other) continue;
      changed[i] = other;
      EXPECT_THAT(VerifyPaseto(key_.public_key(), changed, "footer", "channel"), FailsWith(ErrorCode::kBadToken)) << i;
    }
    EXPECT_THAT(VerifyPaseto(key_.public_key(), token_.substr(0, i), "footer", "channel"),
                FailsWith(ErrorCode::kBadToken))
        << i;
  }
}

TEST_F(SignedPasetoTest, EveryFlippedBitOfTheBodyIsRefused) {
  ASSERT_OK_AND_ASSIGN(const PasetoParts parts, SplitPaseto(token_));
  const std::string body = parts.payload + parts.signature;
  for (std::size_t bit = 0; bit < body.size() * 8; ++bit) {
    std::string changed = body;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    const std::string token =
        base::StrCat(kPasetoHeader, base::Base64UrlEncode(changed), ".", base::Base64UrlEncode("footer"));
    EXPECT_THAT(VerifyPaseto(key_.public_key(), token, "footer", "channel"), FailsWith(ErrorCode::kBadToken)) << bit;
  }
}

TEST_F(SignedPasetoTest, FooterAndAssertionAreSigned) {
  const auto refuse = [&](const std::string& token, std::string_view footer, std::string_view assertion) {
    EXPECT_THAT(VerifyPaseto(key_.public_key(), token, footer, assertion), FailsWith(ErrorCode::kBadToken));
  };
  const std::string dropped = token_.substr(0, token_.rfind('.'));
  refuse(dropped, "", "channel");
  refuse(dropped, "footer", "channel");
  refuse(token_, "", "channel");
  refuse(token_, "Footer", "channel");
  refuse(token_, "footer", "");
  refuse(token_, "channel", "footer");  // swapped
  refuse(dropped + "." + base::Base64UrlEncode("other"), "other", "channel");
  refuse(Sign(key_, "p", "", "channel") + "." + base::Base64UrlEncode("added"), "added", "channel");
  EXPECT_THAT(VerifyPaseto(crypto::SigningKey::Generate().public_key(), token_, "footer", "channel"),
              FailsWith(ErrorCode::kBadToken));
}

TEST_F(SignedPasetoTest, ThereAreThreePartsOrFour) {
  for (const std::string& token :
       {token_ + ".", token_ + ".AA", token_ + ".." + "AA", std::string("v4.public."), std::string("v4.public"),
        std::string("v4.public.."), std::string(), std::string("v4.local.") + token_.substr(10),
        std::string("v3.public.") + token_.substr(10), std::string("V4.PUBLIC.") + token_.substr(10), " " + token_,
        token_ + "\n", Sign(key_, "p", "", "") + "."}) {
    EXPECT_THAT(SplitPaseto(token), FailsWith(ErrorCode::kBadToken)) << token;
  }
}

TEST_F(SignedPasetoTest, UnusedBitsOfTheLastDigitMustBeZero) {
  // 1 + 64 bytes leave two bytes in the last group: the last digit carries two unused bits.
  const std::string token = Sign(key_, "p", "", "");
  ASSERT_THAT(VerifyPaseto(key_.public_key(), token, "", ""), IsOk());
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  int refused = 0;
  for (const char digit : digits) {
    std::string changed = token;
    changed.back() = digit;
    refused += !SplitPaseto(changed).ok();
  }
  EXPECT_EQ(refused, 48);
}

}  // namespace
}  // namespace credbroker::token
