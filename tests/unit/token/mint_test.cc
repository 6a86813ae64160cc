#include "token/mint/mint.h"

#include <algorithm>

#include "kit/status_matchers.h"
#include "reveal/secret_reveal.h"
#include "sample.h"
#include "token/verify.h"

namespace credbroker::token {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

constexpr base::SecretReveal kReveal;

class MintTest : public testing::Test {
 protected:
  absl::StatusOr<Claims> Check(const Minted& minted, absl::Time at = kIssued) {
    return Verifier(KeySet({minter_.public_key()}), "install-1").Verify(minted.text.Reveal(kReveal), at);
  }
  const Minter minter_{crypto::SigningKey::Generate(), "install-1"};
};

TEST_F(MintTest, FillsInIdAndAudienceAndCutsTimes) {
  Claims claims = SampleClaims();
  claims.id.clear();
  claims.audience = "someone else";
  claims.issued_at += absl::Milliseconds(900);
  ASSERT_OK_AND_ASSIGN(const Minted minted, minter_.Mint(claims));
  EXPECT_FALSE(minted.claims.id.empty());
  EXPECT_EQ(minted.claims.audience, "install-1");
  EXPECT_EQ(minted.claims.issued_at, kIssued);
  ASSERT_OK_AND_ASSIGN(const Claims verified, Check(minted));
  EXPECT_EQ(verified, minted.claims);
}

TEST_F(MintTest, TextFitsABasicPasswordAndAnyUrl) {
  Claims claims = SampleClaims();
  while (EncodeClaims(claims).ok()) claims.narrowing.repositories.push_back("acme/" + std::string(40, 'r'));
  claims.narrowing.repositories.pop_back();
  ASSERT_OK_AND_ASSIGN(const Minted minted, minter_.Mint(claims));
  const std::string_view text = minted.text.Reveal(kReveal);
  EXPECT_GT(text.size(), 3500u);
  EXPECT_LE(text.size(), kMaxTokenText);
  EXPECT_TRUE(text.starts_with("cbt_"));
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  }));
  EXPECT_THAT(Check(minted), IsOk());
}

TEST_F(MintTest, RefusesWhatCannotBeEncoded) {
  Claims claims = SampleClaims();
  claims.expires_at = claims.issued_at;
  EXPECT_THAT(minter_.Mint(claims), FailsWith(ErrorCode::kBadArgument));
  claims.expires_at = absl::InfiniteFuture();
  EXPECT_THAT(minter_.Mint(claims), FailsWith(ErrorCode::kBadArgument));
}

TEST_F(MintTest, ChildInheritsAndDiesWithItsParent) {
  Claims parent = SampleClaims();
  parent.narrowing.methods = {"GET"};
  const absl::Time later = kIssued + absl::Minutes(5);
  ASSERT_OK_AND_ASSIGN(const Minted child, minter_.Derive(parent, {}, later));
  EXPECT_EQ(child.claims.parent_id, parent.id);
  EXPECT_NE(child.claims.id, parent.id);
  EXPECT_EQ(child.claims.session, parent.session);
  EXPECT_EQ(child.claims.phase, parent.phase);
  EXPECT_EQ(child.claims.narrowing, parent.narrowing);
  EXPECT_EQ(child.claims.scopes, parent.scopes);
  EXPECT_EQ(child.claims.expires_at, parent.expires_at);
  EXPECT_THAT(Check(child, later), IsOk());

  DeriveRequest request;
  request.life = absl::Hours(5);
  EXPECT_EQ(minter_.Derive(parent, request, later)->claims.expires_at, parent.expires_at);
  request.life = absl::Minutes(1);
  EXPECT_EQ(minter_.Derive(parent, request, later)->claims.expires_at, later + absl::Minutes(1));
  request.life = absl::Minutes(-1);
  EXPECT_THAT(minter_.Derive(parent, request, later), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(minter_.Derive(parent, {}, parent.expires_at), FailsWith(ErrorCode::kTokenExpired));
}

TEST_F(MintTest, ScopesMayOnlyBecomeFewer) {
  Claims parent = SampleClaims();
  parent.scopes = {"a", "b"};
  DeriveRequest request;
  request.scopes = {"b"};
  EXPECT_EQ(minter_.Derive(parent, request, kIssued)->claims.scopes, std::vector<std::string>{"b"});
  request.scopes = {"b", "c"};
  EXPECT_THAT(minter_.Derive(parent, request, kIssued), FailsWith(ErrorCode::kWiderThanParent));
}

TEST(NarrowTest, AChildAsksForNoMoreThanItsParent) {
  using List = std::vector<std::string>;
  const struct {
    List model::Narrowing::*list;
    List parent;
    List asked;
    bool covered;
  } cases[] = {
      {&model::Narrowing::repositories, {}, {"acme/web"}, true},
      {&model::Narrowing::repositories, {"acme/web"}, {"ACME/Web.git"}, true},
      {&model::Narrowing::repositories, {"acme/web", "acme/api"}, {"acme/api"}, true},
      {&model::Narrowing::repositories, {"acme/web"}, {"acme/api"}, false},
      {&model::Narrowing::repositories, {"acme/web"}, {"acme/web", "acme/api"}, false},
      {&model::Narrowing::repositories, {"acme/*"}, {"acme/web"}, true},
      {&model::Narrowing::repositories, {"acme/web"}, {"acme/*"}, false},
      {&model::Narrowing::refs, {"refs/heads/agent/**"}, {"refs/heads/agent/**"}, true},
      {&model::Narrowing::refs, {"refs/heads/agent/**"}, {"refs/heads/agent/a/b"}, true},
      {&model::Narrowing::refs, {"refs/heads/agent/**"}, {"refs/heads/agent/x/**"}, true},
      {&model::Narrowing::refs, {"refs/heads/agent/**"}, {"refs/heads/agent"}, false},
      {&model::Narrowing::refs, {"refs/heads/agent/**"}, {"refs/heads/**"}, false},
      {&model::Narrowing::refs, {"refs/heads/agent/**"}, {"refs/heads/*/x"}, false},
      {&model::Narrowing::refs, {"refs/heads/*"}, {"refs/heads/main"}, true},
      {&model::Narrowing::refs, {"refs/heads/*"}, {"refs/heads/**"}, false},
      {&model::Narrowing::refs, {"refs/heads/*"}, {"refs/heads/a/b"}, false},
      {&model::Narrowing::refs, {"refs/heads/*"}, {"refs/heads"}, false},
      {&model::Narrowing::refs, {"refs/**/x"}, {"refs/heads/x"}, false},  // not shown: no
      {&model::Narrowing::refs, {"refs/heads/Main"}, {"refs/heads/main"}, false},
      {&model::Narrowing::methods, {"GET", "HEAD"}, {"GET"}, true},
      {&model::Narrowing::methods, {"GET"}, {"POST"}, false},
      {&model::Narrowing::methods, {"GET"}, {"get"}, false},
      {&model::Narrowing::hosts, {"git.example"}, {"GIT.example:443"}, true},
      {&model::Narrowing::hosts, {"git.example"}, {"git.example:8443"}, false},
      {&model::Narrowing::hosts, {"*.corp.example"}, {"git.corp.example"}, true},
      {&model::Narrowing::hosts, {"git.corp.example"}, {"*.corp.example"}, false},
      {&model::Narrowing::hosts, {"git.example"}, {"not a host"}, false},
  };
  for (const auto& test : cases) {
    model::Narrowing parent, asked;
    parent.*test.list = test.parent;
    asked.*test.list = test.asked;
    const auto child = NarrowFurther(parent, asked);
    if (!test.covered) {
      EXPECT_THAT(child, FailsWith(ErrorCode::kWiderThanParent)) << test.asked.back();
      continue;
    }
    ASSERT_THAT(child, IsOk()) << test.asked.back();
    EXPECT_EQ((*child).*test.list, test.asked);
  }
}

TEST(NarrowTest, AnEmptyListKeepsTheParents) {
  model::Narrowing parent;
  parent.hosts = {"git.example"};
  parent.refs = {"refs/heads/a"};
  model::Narrowing asked;
  asked.methods = {"GET"};
  ASSERT_OK_AND_ASSIGN(const model::Narrowing child, NarrowFurther(parent, asked));
  EXPECT_EQ(child.hosts, parent.hosts);
  EXPECT_EQ(child.refs, parent.refs);
  EXPECT_EQ(child.methods, asked.methods);
}

}  // namespace
}  // namespace credbroker::token
