#include "wire/hop.h"

#include <string>
#include <vector>

#include "kit/status_matchers.h"

namespace credbroker::wire {
namespace {

TEST(HopTest, KnowsHopByHopFields) {
  for (const char* name : {"Connection", "KEEP-ALIVE", "te", "Trailer", "Transfer-Encoding", "upgrade",
                           "Proxy-Connection", "HTTP2-Settings"}) {
    EXPECT_TRUE(IsHopByHop(name)) << name;
    EXPECT_TRUE(EndsHere(name, "")) << name;
  }
  EXPECT_FALSE(IsHopByHop("host"));
  EXPECT_FALSE(EndsHere("x-a", ""));
  EXPECT_TRUE(EndsHere("X-A", "close, x-a"));
  EXPECT_TRUE(EndsHere("Proxy-Whatever", ""));
}

TEST(HopTest, KnowsCredentialFields) {
  for (const char* name : {"Authorization", "cookie", "X-Api-Key", "api-key", "PRIVATE-TOKEN", "job-token",
                           "Deploy-Token", "x-goog-api-key", "X-Auth-Token", "x-access-token", "x-amz-security-token",
                           "x-github-token", "x-gitlab-token", "x-vault-token", "DD-API-KEY", "proxy-authorization"}) {
    EXPECT_TRUE(IsCredentialHeader(name)) << name;
    EXPECT_TRUE(IsProtectedFromConnection(name)) << name;
  }
  for (const char* name :
       {"accept", "host", "content-type", "user-agent", "x-github-api-version", "anthropic-version", "x-request-id"}) {
    EXPECT_FALSE(IsCredentialHeader(name)) << name;
  }
}

TEST(HopTest, KnowsForwardingFields) {
  for (const char* name : {"Forwarded", "X-Forwarded-For", "x-forwarded-anything", "X-Real-IP",
                           "X-HTTP-Method-Override", "x-original-url"}) {
    EXPECT_TRUE(IsForwardingHeader(name)) << name;
  }
  EXPECT_FALSE(IsForwardingHeader("x-forward"));
}

TEST(HopTest, SeesThroughUnderscores) {
  EXPECT_TRUE(IsUnderscoreDisguise("proxy_anything"));
  EXPECT_TRUE(IsUnderscoreDisguise("AUTHORIZATION_") == false);
  EXPECT_TRUE(IsUnderscoreDisguise("x_api-key"));
  EXPECT_FALSE(IsUnderscoreDisguise("x-api-key"));
  EXPECT_FALSE(IsUnderscoreDisguise("_"));
  EXPECT_FALSE(IsUnderscoreDisguise(std::string(1000, '_')));
}

TEST(TokenListTest, WalksTheElements) {
  std::vector<std::string> found;
  TokenList list(" a ,,\tB\t, c-d");
  for (std::string_view token; list.Next(&token);) found.emplace_back(token);
  EXPECT_THAT(found, testing::ElementsAre("a", "B", "c-d"));
  EXPECT_FALSE(list.malformed());
  TokenList broken("a, b c, d");
  std::string_view token;
  EXPECT_TRUE(broken.Next(&token));
  EXPECT_FALSE(broken.Next(&token));
  EXPECT_TRUE(broken.malformed());
}

}  // namespace
}  // namespace credbroker::wire
