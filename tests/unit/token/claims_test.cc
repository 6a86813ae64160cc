#include "token/claims.h"

#include "kit/status_matchers.h"
#include "sample.h"

namespace credbroker::token {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

std::string Replace(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(ClaimsTest, TheEncodingIsCanonical) {
  ASSERT_OK_AND_ASSIGN(const std::string json, EncodeClaims(SampleClaims()));
  EXPECT_EQ(json, SampleJson());
}

TEST(ClaimsTest, FullClaimsComeBackEqual) {
  Claims claims = SampleClaims();
  claims.parent_id = "t-0";
  claims.phase = model::Phase::kSetup;
  claims.label = model::Label::kTool;
  claims.scopes = {"b", "a"};
  claims.narrowing = {{"acme/web"}, {"refs/heads/agent/**"}, {"GET", "HEAD"}, {"git.example:8443"}};
  ASSERT_OK_AND_ASSIGN(const std::string json, EncodeClaims(claims));
  ASSERT_OK_AND_ASSIGN(const Claims decoded, DecodeClaims(json));
  EXPECT_EQ(decoded, claims);
  EXPECT_EQ(EncodeNarrowing(claims.narrowing),
            R"({"hosts":["git.example:8443"],"methods":["GET","HEAD"],"refs":["refs/heads/agent/**"],)"
            R"("repos":["acme/web"]})");
  EXPECT_EQ(EncodeNarrowing({}), "");
}

TEST(ClaimsTest, GrantHoldsWhatTheTokenPermits) {
  Claims claims = SampleClaims();
  claims.narrowing.methods = {"GET"};
  const model::Grant grant = ToGrant(claims);
  EXPECT_EQ(grant.token_id, "t-1");
  EXPECT_EQ(grant.session, "s-1");
  EXPECT_EQ(grant.requester, "team-web");
  EXPECT_EQ(grant.scopes, claims.scopes);
  EXPECT_EQ(grant.narrowing, claims.narrowing);
  EXPECT_EQ(grant.expires_at, claims.expires_at);
}

struct Edit {
  const char* name;
  const char* from;
  const char* to;
};

TEST(ClaimsTest, DecodingRefusesAllButTheCanonicalForm) {
  const Edit edits[] = {
      {"missing exp", R"("exp":1800000900,)", ""},
      {"missing iat", R"("iat":1800000000,)", ""},
      {"missing nbf", R"("nbf":1800000000,)", ""},
      {"missing audience", R"("aud":"install-1",)", ""},
      {"missing session", R"(,"sid":"s-1")", ""},
      {"missing scopes", R"("scopes":["web-agent"],)", ""},
      {"null exp", R"("exp":1800000900)", R"("exp":null)"},
      {"text exp", R"("exp":1800000900)", R"("exp":"1800000900")"},
      {"float exp", R"("exp":1800000900)", R"("exp":1800000900.0)"},
      {"fraction exp", R"("exp":1800000900)", R"("exp":1800000900.5)"},
      {"exponent exp", R"("exp":1800000900)", R"("exp":18000009e2)"},
      {"negative exp", R"("exp":1800000900)", R"("exp":-1800000900)"},
      {"zero exp", R"("exp":1800000900)", R"("exp":0)"},
      {"huge exp", R"("exp":1800000900)", R"("exp":99999999999999999999)"},
      {"64 bit exp", R"("exp":1800000900)", R"("exp":18446744073709551615)"},
      {"far exp", R"("exp":1800000900)", R"("exp":253402300800)"},
      {"exp a day and a second on", R"("exp":1800000900)", R"("exp":1800086401)"},
      {"exp at nbf", R"("exp":1800000900)", R"("exp":1800000000)"},
      {"leading zero", R"("exp":1800000900)", R"("exp":01800000900)"},
      {"negative nbf", R"("nbf":1800000000)", R"("nbf":-1)"},
      {"negative iat", R"("iat":1800000000)", R"("iat":-1)"},
      {"float iat", R"("iat":1800000000)", R"("iat":1800000000.0)"},
      {"doubled key", R"("jti":"t-1",)", R"("jti":"t-1","jti":"t-1",)"},
      {"doubled exp, later", R"("exp":1800000900,)", R"("exp":1800000900,"exp":1800009000,)"},
      {"unknown key", R"("jti":"t-1",)", R"("jti":"t-1","admin":true,)"},
      {"other order", R"("jti":"t-1","label":"agent",)", R"("label":"agent","jti":"t-1",)"},
      {"space", R"("jti":"t-1")", R"("jti": "t-1")"},
      {"needless escape", R"("jti":"t-1")", R"("jti":"t\u002d1")"},
      {"escaped quote", R"("jti":"t-1")", R"("jti":"t\"1")"},
      {"not ASCII", R"("jti":"t-1")", "\"jti\":\"t\xc3\xa9\""},
      {"invalid UTF-8", R"("jti":"t-1")", "\"jti\":\"t\xff\""},
      {"empty id", R"("jti":"t-1")", R"("jti":"")"},
      {"number as id", R"("jti":"t-1")", R"("jti":1)"},
      {"unknown phase", R"("phase":"agent")", R"("phase":"root")"},
      {"unknown label", R"("label":"agent")", R"("label":"root")"},
      {"no scope", R"(["web-agent"])", R"([])"},
      {"scope as text", R"(["web-agent"])", R"("web-agent")"},
      {"number as scope", R"(["web-agent"])", R"([1])"},
      {"nested scopes", R"(["web-agent"])", R"([["web-agent"]])"},
      {"empty policy", R"("policy":"abc123")", R"("policy":"")"},
      {"empty narrowing", R"("nbf":)", R"("narrow":{},"nbf":)"},
      {"empty list in narrowing", R"("nbf":)", R"("narrow":{"repos":[]},"nbf":)"},
      {"unknown narrowing", R"("nbf":)", R"("narrow":{"paths":["a"]},"nbf":)"},
      {"null narrowing", R"("nbf":)", R"("narrow":null,"nbf":)"},
      {"trailing bytes", R"("sid":"s-1"})", R"("sid":"s-1"} )"},
      {"second object", R"("sid":"s-1"})", R"("sid":"s-1"}{})"},
      {"comment", R"("sid":"s-1"})", R"("sid":"s-1"/**/})"},
  };
  ASSERT_THAT(DecodeClaims(SampleJson()), IsOk());
  for (const Edit& edit : edits) {
    EXPECT_THAT(DecodeClaims(Replace(SampleJson(), edit.from, edit.to)), FailsWith(ErrorCode::kBadToken)) << edit.name;
  }
}

TEST(ClaimsTest, DecodingRefusesWhatIsNoObject) {
  for (const std::string json : {"", "null", "[]", "1", "\"x\"", "{}", "{", "nul", "[[[[[[[[[[[[[[[[[[[["}) {
    EXPECT_THAT(DecodeClaims(json), FailsWith(ErrorCode::kBadToken)) << json;
  }
  EXPECT_THAT(DecodeClaims(std::string(2700, '[')), FailsWith(ErrorCode::kBadToken));
  EXPECT_THAT(DecodeClaims(std::string(100'000, ' ') + SampleJson()), FailsWith(ErrorCode::kBadToken));
}

TEST(ClaimsTest, EncodingRefusesOddValues) {
  const struct {
    const char* name;
    void (*change)(Claims&);
    ErrorCode code;
  } cases[] = {
      {"no session", [](Claims& c) { c.session.clear(); }, ErrorCode::kBadArgument},
      {"quote", [](Claims& c) { c.requester = "a\"b"; }, ErrorCode::kBadArgument},
      {"line feed", [](Claims& c) { c.requester = "a\nb"; }, ErrorCode::kBadArgument},
      {"backslash in a ref", [](Claims& c) { c.narrowing.refs = {"refs\\x"}; }, ErrorCode::kBadArgument},
      {"empty host", [](Claims& c) { c.narrowing.hosts = {""}; }, ErrorCode::kBadArgument},
      {"no scopes", [](Claims& c) { c.scopes.clear(); }, ErrorCode::kBadArgument},
      {"65 scopes", [](Claims& c) { c.scopes.assign(65, "a"); }, ErrorCode::kBadArgument},
      {"long field", [](Claims& c) { c.id = std::string(201, 'a'); }, ErrorCode::kBadArgument},
      {"expired at birth", [](Claims& c) { c.expires_at = c.issued_at; }, ErrorCode::kBadArgument},
      {"no expiry", [](Claims& c) { c.expires_at = absl::InfiniteFuture(); }, ErrorCode::kBadArgument},
      {"unset times", [](Claims& c) { c.not_before = absl::InfinitePast(); }, ErrorCode::kBadArgument},
      {"two days", [](Claims& c) { c.expires_at = c.issued_at + absl::Hours(48); }, ErrorCode::kBadArgument},
      {"65 scopes", [](Claims& c) { c.scopes.assign(65, "s"); }, ErrorCode::kBadArgument},
      {"too large", [](Claims& c) { c.scopes.assign(60, std::string(60, 'a')); }, ErrorCode::kTooLarge},
  };
  for (const auto& test : cases) {
    Claims claims = SampleClaims();
    test.change(claims);
    EXPECT_THAT(EncodeClaims(claims), FailsWith(test.code)) << test.name;
  }
}

}  // namespace
}  // namespace credbroker::token
