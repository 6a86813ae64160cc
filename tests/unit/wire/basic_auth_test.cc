#include "wire/basic_auth.h"

#include <utility>

#include "base/str.h"
#include "base/text.h"
#include "kit/status_matchers.h"

namespace credbroker::wire {
namespace {

using testing_kit::FailsWith;

// B13: scheme in any case, the token as user or as password, base64 with and without padding.
TEST(BasicAuthTest, ReadsBasicInEveryShapeThatClientsSend) {
  struct Case {
    const char *value, *user, *password;
  };
  for (const Case& c :
       {Case{"Basic eC1hY2Nlc3MtdG9rZW46YTpi", "x-access-token", "a:b"}, Case{"basic dG9rOg==", "tok", ""},
        Case{"BASIC   dG9rOg", "tok", ""}, Case{"Basic OnB3", "", "pw"}, Case{"Basic YSVCOmM=", "a%B", "c"}}) {
    ASSERT_OK_AND_ASSIGN(const Authorization login, ParseAuthorization(c.value));
    EXPECT_EQ(login.scheme, AuthScheme::kBasic) << c.value;
    EXPECT_EQ(login.user, c.user) << c.value;
    EXPECT_EQ(login.password, c.password) << c.value;
  }
}

TEST(BasicAuthTest, ReadsBearerAndToken) {
  ASSERT_OK_AND_ASSIGN(const Authorization bearer, ParseAuthorization("bearer v4.public.abc-_=="));
  EXPECT_EQ(bearer.scheme, AuthScheme::kBearer);
  EXPECT_EQ(bearer.value, "v4.public.abc-_==");
  ASSERT_OK_AND_ASSIGN(const Authorization token, ParseAuthorization("token abc"));
  EXPECT_EQ(token.scheme, AuthScheme::kToken);
  ASSERT_OK_AND_ASSIGN(const Authorization other, ParseAuthorization("AWS4-HMAC-SHA256 Credential=x/y, Signature=z"));
  EXPECT_EQ(other.scheme, AuthScheme::kOther);
  EXPECT_EQ(other.value, "");
}

TEST(BasicAuthTest, CarriesTokensOf4000Characters) {
  const std::string token(4000, 'k');
  ASSERT_OK_AND_ASSIGN(const Authorization login, ParseAuthorization("Basic " + base::Base64Encode("x:" + token)));
  EXPECT_EQ(login.password, token);
}

TEST(BasicAuthTest, RefusesWhatIsBroken) {
  for (const std::string& value : {std::string(),
                                   std::string(" "),
                                   std::string("Basic"),
                                   std::string("Basic "),
                                   std::string("Basic !!!"),
                                   std::string("Basic dG9r"),
                                   std::string("Basic dG9rOg="),
                                   std::string("Basic dG9rOg===="),
                                   std::string("Basic dG9r Og=="),
                                   std::string("Basic dG9rOh=="),
                                   "Basic " + base::Base64Encode("a:b\n"),
                                   "Basic " + base::Base64Encode(std::string_view("a\0:b", 4)),
                                   std::string("Bearer"),
                                   std::string("Bearer  "),
                                   std::string("Bearer a b"),
                                   std::string("Bearer a,b"),
                                   std::string("Bearer ="),
                                   std::string("Bearer a=b"),
                                   std::string("token \"x\""),
                                   "Bearer " + std::string(17000, 'a')}) {
    EXPECT_THAT(ParseAuthorization(value), FailsWith(base::ErrorCode::kBadToken)) << value;
  }
}

TEST(BasicAuthTest, MovesLeaveNothingBehind) {
  ASSERT_OK_AND_ASSIGN(Authorization login, ParseAuthorization("Basic dTpw"));
  const Authorization taken = std::move(login);
  EXPECT_EQ(taken.password, "p");
  EXPECT_EQ(login.password, "");  // NOLINT(bugprone-use-after-move): the emptiness is the promise
}

}  // namespace
}  // namespace credbroker::wire
