#include "model/authority.h"

#include "kit/status_matchers.h"

namespace credbroker::model {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;

// B71, B73: one normalisation for rules and targets.
TEST(AuthorityTest, NormalisesOneHostToOneText) {
  const struct { const char* in; const char* out; } kCases[] = {
      {"api.github.example:443", "api.github.example:443"}, {"API.GitHub.EXAMPLE.:443", "api.github.example:443"},
      {"[2001:db8:0:0::1]:443", "[2001:db8::1]:443"},      {"192.0.2.10:8443", "192.0.2.10:8443"},
      {"localhost:80", "localhost:80"},                    {"a_b.test:1", "a_b.test:1"},
  };
  for (const auto& c : kCases) {
    ASSERT_OK_AND_ASSIGN(const Authority authority, ParseAuthority(c.in, std::nullopt));
    EXPECT_EQ(authority.Text(), c.out);
  }
}

TEST(AuthorityTest, RefusesWhatTwoReadersCouldReadDifferently) {
  for (const char* text : {"", ":443", "evil.test..:443", "127.0.0.1..:443", "a..b:443", "2001:db8::1:443", "[example.com]:443", "[1.2.3.4]:443",
                           "[::1", "host:99999", "host:0", "host:443:80", "host:", "host", "u@host:443", "ho st:443", "h\xc3\xb6st:443",
                           "127.1:443", "0x7f.1:443", "2130706433:443", "0177.0.0.1:443", "host:+1", "host: 1", "-a.test:443", "[fe80::1%eth0]:443",
                           "host:0443443", "a/b:443", "1.2.3.4.5:443"}) {
    EXPECT_THAT(ParseAuthority(text, std::nullopt), FailsWith(ErrorCode::kBadHost)) << text;
  }
  EXPECT_THAT(ParseAuthority(std::string(64, 'a') + ":443", std::nullopt), FailsWith(ErrorCode::kBadHost));
  EXPECT_THAT(ParseAuthority(std::string("a\0b:443", 7), std::nullopt), FailsWith(ErrorCode::kBadHost));
}

// B7: comparison at label borders.
TEST(HostPatternTest, MatchesWholeLabelsOnly) {
  ASSERT_OK_AND_ASSIGN(const HostPattern exact, HostPattern::Parse("GitHub.example"));
  ASSERT_OK_AND_ASSIGN(const HostPattern wild, HostPattern::Parse("*.mirror.example:8443"));
  const auto matches = [](const HostPattern& pattern, std::string_view text) {
    const auto authority = ParseAuthority(text, 443);
    return authority.ok() && pattern.Matches(*authority);
  };
  EXPECT_TRUE(matches(exact, "GITHUB.example."));
  for (const char* text : {"notgithub.example", "github.example.evil.test", "sub.github.example", "github.example:8443"}) {
    EXPECT_FALSE(matches(exact, text)) << text;
  }
  EXPECT_TRUE(matches(wild, "a.mirror.example:8443"));
  EXPECT_TRUE(matches(wild, "a.b.mirror.example:8443"));
  for (const char* text : {"mirror.example:8443", "amirror.example:8443", "a.mirror.example:443"}) EXPECT_FALSE(matches(wild, text)) << text;
  EXPECT_THAT(HostPattern::Parse("*.com"), FailsWith(ErrorCode::kBadHost));
  EXPECT_THAT(HostPattern::Parse("*"), FailsWith(ErrorCode::kBadHost));
  EXPECT_THAT(HostPattern::Parse("a.*.test"), FailsWith(ErrorCode::kBadHost));
}

}  // namespace
}  // namespace credbroker::model
