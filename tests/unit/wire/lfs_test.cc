#include "wire/lfs.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/str.h"
#include "kit/status_matchers.h"
#include "nlohmann/json.hpp"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;
using Json = nlohmann::json;

const std::string kOid(64, 'a'), kOther(64, 'b');
const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);

std::string BatchText(std::string_view more = {}, std::string_view operation = "upload") {
  return base::StrCat(R"({"operation":")", operation, R"(","objects":[{"oid":")", kOid, R"(","size":12}])", more, "}");
}

TEST(Lfs, ReadsABatchAndWritesWhatItUnderstood) {
  ASSERT_OK_AND_ASSIGN(const LfsBatch batch, ReadLfsBatch(BatchText(R"(,"transfers":["lfs-standalone-file","basic","ssh"],"ref":{"name":"refs/heads/x"},"new":[1])")));
  EXPECT_TRUE(batch.upload);
  EXPECT_EQ(batch.ref, "refs/heads/x");
  ASSERT_EQ(batch.objects.size(), 1u);
  EXPECT_EQ(batch.objects[0].size, 12u);
  EXPECT_EQ(Json::parse(WriteLfsBatch(batch)), Json::parse(BatchText(R"(,"transfers":["basic"],"ref":{"name":"refs/heads/x"},"hash_algo":"sha256")")));
  ASSERT_OK_AND_ASSIGN(const LfsBatch plain, ReadLfsBatch(BatchText("", "download")));
  EXPECT_FALSE(plain.upload);
  EXPECT_EQ(plain.ref, "");
}

TEST(Lfs, RefusesWhatTwoReadersCouldReadInTwoWays) {
  const std::string deep = base::StrCat(R"(,"x":)", std::string(9, '['), std::string(9, ']'));
  std::string many = R"({"operation":"upload","objects":[)";
  for (int i = 0; i < 1001; ++i) base::StrAppend(&many, i == 0 ? "" : ",", R"({"oid":")", kOid, R"(","size":1})");
  many += "]}";
  const std::vector<std::string> rows = {
      "", "[]", "{", BatchText() + "x", BatchText(R"(,"operation":"download")"), BatchText("", "both"), BatchText(R"(,"hash_algo":"sha1")"),
      BatchText(R"(,"transfers":["tus"])"), BatchText(R"(,"transfers":"basic")"), BatchText(R"(,"ref":"refs/heads/x")"), BatchText(R"(,"ref":{"name":1})"),
      BatchText(R"(,"ref":{"name":"a","name":"b"})"), BatchText(deep), many, R"({"operation":"upload"})", R"({"operation":"upload","objects":[1]})",
      base::StrCat(R"({"operation":"upload","objects":[{"oid":")", kOid, R"("}]})"), base::StrCat(R"({"operation":"upload","objects":[{"oid":")", kOid, R"(","size":-1}]})"),
      base::StrCat(R"({"operation":"upload","objects":[{"oid":")", kOid, R"(","size":1.5}]})"),
      base::StrCat(R"({"operation":"upload","objects":[{"oid":")", kOid, R"(","size":9007199254740992}]})"),
      R"({"operation":"upload","objects":[{"oid":"../../x","size":1}]})"};
  for (const std::string& text : rows) EXPECT_THAT(ReadLfsBatch(text).status(), FailsWith(ErrorCode::kBadGitRequest)) << text.substr(0, 200);
}

TEST(Lfs, ReadsLocks) {
  ASSERT_OK_AND_ASSIGN(const LfsLock made, ReadLfsLock(R"({"path":"a.bin","ref":{"name":"refs/heads/x"},"force":true})", LfsLockCall::kCreate));
  EXPECT_EQ(made.path, "a.bin");
  EXPECT_FALSE(made.force) << "says nothing there";
  EXPECT_EQ(Json::parse(WriteLfsLock(made, LfsLockCall::kCreate)), Json::parse(R"({"path":"a.bin","ref":{"name":"refs/heads/x"}})"));
  ASSERT_OK_AND_ASSIGN(const LfsLock unlock, ReadLfsLock(R"({"force":true})", LfsLockCall::kUnlock));
  EXPECT_TRUE(unlock.force);
  ASSERT_OK_AND_ASSIGN(const LfsLock verify, ReadLfsLock(R"({"cursor":"c","limit":7})", LfsLockCall::kVerify));
  EXPECT_EQ(Json::parse(WriteLfsLock(verify, LfsLockCall::kVerify)), Json::parse(R"({"cursor":"c","limit":7})"));
  for (const char* text : {"", "[]", "{}", R"({"path":1})", R"({"path":"a","path":"b"})"}) {
    EXPECT_THAT(ReadLfsLock(text, LfsLockCall::kCreate).status(), FailsWith(ErrorCode::kBadGitRequest)) << text;
  }
  EXPECT_THAT(ReadLfsLock(R"({"force":"yes"})", LfsLockCall::kUnlock).status(), FailsWith(ErrorCode::kBadGitRequest));
}

LfsBatch Asked(bool upload) { return {.upload = upload, .ref = "refs/heads/x", .objects = {{kOid, 12}}}; }

absl::StatusOr<std::string> Rewrite(const std::string& objects, bool upload, std::vector<LfsAction>* seen, std::string_view more = {}) {
  return RewriteLfsReply(base::StrCat(R"({"objects":)", objects, more, "}"), Asked(upload), kNow, [seen](const LfsObject&, const LfsAction& action) -> absl::StatusOr<LfsLink> {
    seen->push_back(action);
    if (action.href.find("evil") != std::string::npos) return base::Error(ErrorCode::kHostNotAllowed, "evil");
    return LfsLink{"https://edge.test/link", absl::Seconds(60)};
  });
}

std::string Row(std::string_view actions, const std::string& oid = kOid) {
  return base::StrCat(R"([{"oid":")", oid, R"(","size":12,"authenticated":true,"actions":)", actions, "}]");
}

TEST(Lfs, TakesAddressesAndFieldsOutOfAnAnswer) {
  std::vector<LfsAction> seen;
  ASSERT_OK_AND_ASSIGN(const std::string text,
                       Rewrite(Row(R"({"upload":{"href":"https://s.test/o?sig=1","header":{"Authorization":"secret"},"expires_in":90},"verify":{"href":"https://s.test/v","expires_at":"2027-01-15T08:00:30Z"}})"),
                               true, &seen));
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].href, "https://s.test/o?sig=1");
  EXPECT_EQ(seen[0].header[0].second, "secret");
  EXPECT_EQ(seen[0].life, absl::Seconds(90));
  EXPECT_EQ(seen[1].kind, LfsAction::Kind::kVerify);
  EXPECT_EQ(seen[1].life, absl::Seconds(30));
  for (const char* word : {"secret", "sig=1", "s.test", "authenticated", "header"}) EXPECT_EQ(text.find(word), std::string::npos) << word;
  EXPECT_EQ(Json::parse(text)["objects"][0]["actions"]["upload"], Json::parse(R"({"href":"https://edge.test/link","expires_in":60})"));
}

TEST(Lfs, ARefusedActionIsTheObjectsError) {
  std::vector<LfsAction> seen;
  ASSERT_OK_AND_ASSIGN(const std::string text, Rewrite(Row(R"({"download":{"href":"https://evil.test/o"}})"), false, &seen));
  const Json row = Json::parse(text)["objects"][0];
  EXPECT_FALSE(row.contains("actions"));
  EXPECT_EQ(row["error"]["code"], 403);
  ASSERT_OK_AND_ASSIGN(const std::string host, Rewrite(base::StrCat(R"([{"oid":")", kOid, R"(","size":12,"error":{"code":404,"message":"gone\u001b[0m"}}])"), false, &seen));
  EXPECT_EQ(Json::parse(host)["objects"][0]["error"]["code"], 404);
  EXPECT_EQ(host.find("u001b"), std::string::npos);
}

TEST(Lfs, RefusesAnswersToSomethingElse) {
  std::vector<LfsAction> seen;
  const std::vector<std::string> rows = {"1", "[1]", Row("{}", kOther), Row(R"({"download":{"href":"https://s.test"}})"), Row(R"({"upload":{"href":1}})"), Row(R"({"upload":{}})"),
                                         Row(R"({"upload":{"href":"https://s.test","header":{"A":1}}})"), Row("{}").substr(0, 10)};
  for (const std::string& row : rows) EXPECT_THAT(Rewrite(row, true, &seen).status(), FailsWith(ErrorCode::kUpstreamMalformed)) << row;
  EXPECT_THAT(Rewrite(Row("{}"), true, &seen, R"(,"transfer":"tus")").status(), FailsWith(ErrorCode::kUpstreamMalformed));
  EXPECT_THAT(Rewrite(Row("{}"), true, &seen, R"(,"objects":[])").status(), FailsWith(ErrorCode::kUpstreamMalformed));
  const std::string twice = Row("{}");
  EXPECT_THAT(Rewrite(base::StrCat(twice.substr(0, twice.size() - 1), ",", twice.substr(1)), true, &seen).status(), FailsWith(ErrorCode::kUpstreamMalformed));
}

}  // namespace
}  // namespace credbroker::wire
