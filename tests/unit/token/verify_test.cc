#include "token/verify.h"

#include "base/str.h"
#include "base/text.h"
#include "kit/status_matchers.h"
#include "reveal/secret_reveal.h"
#include "sample.h"
#include "token/mint/mint.h"
#include "token/paseto.h"

namespace credbroker::token {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

constexpr base::SecretReveal kReveal;

class VerifyTest : public testing::Test {
 protected:
  VerifyTest()
      : key_(crypto::SigningKey::Generate()),
        minter_(*crypto::SigningKey::FromSeed(key_.Seed()), "install-1", "channel-1"),
        verifier_(KeySet({crypto::SigningKey::Generate().public_key(), key_.public_key()}), "install-1", "channel-1") {}

  std::string Mint(const Claims& claims = SampleClaims()) {
    return std::string(minter_.Mint(claims)->text.Reveal(kReveal));
  }
  // A token with a payload that the minter would never write.
  std::string Forge(std::string_view payload, std::string_view footer) {
    const std::string body = base::StrCat(payload, key_.Sign(SignedMessage(payload, footer, "channel-1")));
    return base::StrCat("cbt_v4.public.", base::Base64UrlEncode(body), ".", base::Base64UrlEncode(footer));
  }

  crypto::SigningKey key_;
  Minter minter_;
  Verifier verifier_;
};

TEST_F(VerifyTest, GivesTheClaimsBack) {
  ASSERT_OK_AND_ASSIGN(const Claims claims, verifier_.Verify(Mint(), kIssued));
  EXPECT_EQ(claims, SampleClaims());
}

TEST_F(VerifyTest, TimesHoldExactly) {
  const std::string text = Mint();
  const absl::Time end = SampleClaims().expires_at;
  EXPECT_THAT(verifier_.Verify(text, end - absl::Nanoseconds(1)), IsOk());
  EXPECT_THAT(verifier_.Verify(text, end), FailsWith(ErrorCode::kTokenExpired));
  EXPECT_THAT(verifier_.Verify(text, end + absl::Hours(1)), FailsWith(ErrorCode::kTokenExpired));
  EXPECT_THAT(verifier_.Verify(text, kIssued - kClockSkew), IsOk());
  EXPECT_THAT(verifier_.Verify(text, kIssued - kClockSkew - absl::Seconds(1)), FailsWith(ErrorCode::kTokenNotYetValid));
  Claims later = SampleClaims();
  later.not_before = kIssued + absl::Minutes(5);
  EXPECT_THAT(verifier_.Verify(Mint(later), kIssued), FailsWith(ErrorCode::kTokenNotYetValid));
}

TEST_F(VerifyTest, OtherInstallationsAndChannelsAreRefused) {
  const std::string text = Mint();
  const KeySet keys({key_.public_key()});
  EXPECT_THAT(Verifier(keys, "install-2", "channel-1").Verify(text, kIssued), FailsWith(ErrorCode::kWrongAudience));
  EXPECT_THAT(Verifier(keys, "install-1", "channel-2").Verify(text, kIssued), FailsWith(ErrorCode::kBadToken));
  EXPECT_THAT(Verifier(keys, "install-1").Verify(text, kIssued), FailsWith(ErrorCode::kBadToken));
  EXPECT_THAT(Verifier(keys, "install-1").Verify(text, "channel-1", kIssued), IsOk());
  EXPECT_THAT(Verifier(KeySet(), "install-1", "channel-1").Verify(text, kIssued), FailsWith(ErrorCode::kBadToken));
}

TEST_F(VerifyTest, ASignatureByAnUnknownKeyIsRefusedWhateverItsFooterSays) {
  const crypto::SigningKey stranger = crypto::SigningKey::Generate();
  const std::string payload = SampleJson();
  const std::string footer = KeyFooter(key_.public_key());
  const std::string body = base::StrCat(payload, stranger.Sign(SignedMessage(payload, footer, "channel-1")));
  const std::string text =
      base::StrCat("cbt_v4.public.", base::Base64UrlEncode(body), ".", base::Base64UrlEncode(footer));
  EXPECT_THAT(verifier_.Verify(text, kIssued), FailsWith(ErrorCode::kBadToken));
  EXPECT_THAT(verifier_.Verify(Forge(payload, KeyFooter(stranger.public_key())), kIssued),
              FailsWith(ErrorCode::kBadToken));
}

TEST_F(VerifyTest, EveryChangedByteIsRefused) {
  const std::string text = Mint();
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string changed = text;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    EXPECT_THAT(verifier_.Verify(changed, kIssued), FailsWith(ErrorCode::kBadToken)) << i;
  }
}

TEST_F(VerifyTest, ASignedPayloadMustBeCanonicalToo) {
  const std::string footer = KeyFooter(key_.public_key());
  EXPECT_THAT(verifier_.Verify(Forge(SampleJson(), footer), kIssued), IsOk());
  EXPECT_THAT(verifier_.Verify(Forge(SampleJson() + " ", footer), kIssued), FailsWith(ErrorCode::kBadToken));
  EXPECT_THAT(verifier_.Verify(Forge("{}", footer), kIssued), FailsWith(ErrorCode::kBadToken));
  EXPECT_THAT(verifier_.Verify(Forge(SampleJson(), footer + " "), kIssued), FailsWith(ErrorCode::kBadToken));
}

TEST_F(VerifyTest, OddTextsAreRefused) {
  const std::string text = Mint();
  const std::string paseto = text.substr(4);
  for (const std::string& odd :
       {std::string(), std::string("cbt_"), paseto, "CBT_" + paseto, "cbt_cbt_" + paseto, text + "%0d%0a",
        text + "\r\nX-Evil: 1", " " + text, text + ".AAAA", "cbt_v4.public." + std::string(5000, 'A'),
        std::string("ghp_0123456789abcdefghijABCDEFGHIJ012345"), text.substr(0, text.rfind('.'))}) {
    EXPECT_THAT(verifier_.Verify(odd, kIssued), FailsWith(ErrorCode::kBadToken)) << odd.substr(0, 60);
  }
}

TEST_F(VerifyTest, LooksLikeTokenTellsOursFromOthers) {
  EXPECT_TRUE(LooksLikeToken(Mint()));
  EXPECT_FALSE(LooksLikeToken("ghp_abc"));
  EXPECT_FALSE(LooksLikeToken("cbt_v4.public.a b"));
  EXPECT_FALSE(LooksLikeToken(""));
}

}  // namespace
}  // namespace credbroker::token
