#include "edge/lfs_links.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "kit/status_matchers.h"
#include "reveal/secret_reveal.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using Kind = wire::LfsAction::Kind;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);
const wire::LfsObject kObject{std::string(64, 'a'), 12};

wire::LfsAction Action(std::string href = "https://s.test:8443/o/x%2Fy?sig=1&n=2#f") {
  wire::LfsAction out;
  out.kind = Kind::kUpload;
  out.href = std::move(href);
  out.header = {{"Authorization", "RemoteAuth c4n4ry"}, {"Content-Length", "7"}, {"Transfer-Encoding", "chunked"}, {"Host", "x"}};
  return out;
}

TEST(LfsLinks, GiveBackWhatTheyWereMadeOf) {
  const LfsLinks links;
  ASSERT_OK_AND_ASSIGN(const std::string query, links.Make(kObject, Action(), "refs/heads/x", "session", kNow + absl::Minutes(1)));
  EXPECT_EQ(query.find("c4n4ry"), std::string::npos);
  ASSERT_OK_AND_ASSIGN(const LfsGrant grant, links.Open(query, kObject.oid, "session", kNow));
  EXPECT_EQ(grant.kind, Kind::kUpload);
  EXPECT_EQ(grant.object.size, 12u);
  EXPECT_EQ(grant.ref, "refs/heads/x");
  EXPECT_EQ(grant.scheme, model::Scheme::kHttps);
  EXPECT_EQ(grant.storage.Text(443), "s.test:8443");
  EXPECT_EQ(grant.path, "/o/x%2Fy");
  EXPECT_EQ(grant.query.Reveal(base::SecretReveal()), "?sig=1&n=2");
  ASSERT_EQ(grant.fields.size(), 1u) << "what frames a message is not the host's to say";
  EXPECT_EQ(grant.fields[0].second.Reveal(base::SecretReveal()), "RemoteAuth c4n4ry");
}

TEST(LfsLinks, OpenForTheirOwnAndInTimeOnly) {
  const LfsLinks links, others;
  ASSERT_OK_AND_ASSIGN(const std::string query, links.Make(kObject, Action(), "", "session", kNow + absl::Minutes(1)));
  EXPECT_THAT(links.Open(query, kObject.oid, "other session", kNow).status(), FailsWith(ErrorCode::kLfsNotAllowed));
  EXPECT_THAT(links.Open(query, std::string(64, 'b'), "session", kNow).status(), FailsWith(ErrorCode::kLfsNotAllowed));
  EXPECT_THAT(links.Open(query, kObject.oid, "session", kNow + absl::Minutes(1)).status(), FailsWith(ErrorCode::kLfsNotAllowed));
  EXPECT_THAT(others.Open(query, kObject.oid, "session", kNow).status(), FailsWith(ErrorCode::kLfsNotAllowed));
  for (const std::string& text : {std::string(), std::string("?x=1"), query + "A", query + "&x=1", query.substr(0, query.size() - 2)}) {
    EXPECT_THAT(links.Open(text, kObject.oid, "session", kNow).status(), FailsWith(ErrorCode::kLfsNotAllowed)) << text;
  }
}

TEST(LfsLinks, RefuseWhatCannotBeSent) {
  const LfsLinks links;
  const auto make = [&](const wire::LfsAction& action) { return links.Make(kObject, action, "", "s", kNow).status(); };
  for (const char* href : {"", "ftp://s.test/x", "https://", "https://u:p@s.test/x", "https://s.test/a b", "https://s.test/\xC3\xA9", "//s.test/x"}) {
    EXPECT_FALSE(make(Action(href)).ok()) << href;
  }
  wire::LfsAction action = Action();
  action.header = {{"X-A", "a\r\nX-B: b"}};
  EXPECT_THAT(make(action), FailsWith(ErrorCode::kUpstreamMalformed));
  action.header = {{"X A", "a"}};
  EXPECT_THAT(make(action), FailsWith(ErrorCode::kUpstreamMalformed));
  action.header.assign(33, {"X-A", "a"});
  EXPECT_THAT(make(action), FailsWith(ErrorCode::kUpstreamMalformed));
  action.header = {{"X-A", std::string(6000, 'a')}};
  EXPECT_THAT(make(action), FailsWith(ErrorCode::kUriTooLong));
}

}  // namespace
}  // namespace credbroker::edge
