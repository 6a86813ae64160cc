#include "wire/host_fetch.h"

#include <gtest/gtest.h>

#include "base/str.h"
#include "kit/status_matchers.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using crypto::ObjectFormat;
using testing_kit::FailsWith;
using testing_kit::IsOk;

std::string PktOf(std::string_view text) {
  std::string out;
  AppendPkt(text, &out);
  return out;
}

const std::string kA(40, 'a'), kB(40, 'b');

TEST(HostFetch, ReadsWhatAHostOffers) {
  const std::string offer = PktOf("version 2\n") + PktOf("agent=x\n") + PktOf("ls-refs=unborn\n") + PktOf("fetch=shallow wait-for-done filter\n") +
                            PktOf("object-format=sha1\n") + "0000";
  for (const std::string& text : {offer, PktOf("# service=git-upload-pack\n") + "0000" + offer}) {
    const auto read = ReadHostOffer(text);
    ASSERT_THAT(read.status(), IsOk());
    EXPECT_TRUE(read->refs && read->shallow && read->filter);
    EXPECT_EQ(read->format, ObjectFormat::kSha1);
  }
  const auto plain = ReadHostOffer(PktOf("version 2\n") + PktOf("fetch\n") + PktOf("object-format=sha256\n") + "0000");
  ASSERT_THAT(plain.status(), IsOk());
  EXPECT_FALSE(plain->refs || plain->shallow || plain->filter);
  EXPECT_EQ(plain->format, ObjectFormat::kSha256);
  for (const std::string& text : {std::string(), std::string("zzzz"), offer.substr(0, offer.size() - 4), offer.substr(0, offer.size() - 7), std::string("0001"),
                                  PktOf(base::StrCat(kA, " refs/heads/main", '\0', "caps\n")) + "0000"}) {
    EXPECT_THAT(ReadHostOffer(text).status(), FailsWith(ErrorCode::kUpstreamMalformed)) << text;
  }
}

TEST(HostFetch, KeepsBranchesAndTagsAlone) {
  const std::string list = PktOf(kA + " refs/heads/main\n") + PktOf(kB + " refs/tags/v1 peeled:" + kA + "\n") + PktOf(kB + " refs/pull/1/head\n") +
                           PktOf(kB + " refs/heads/..\n") + "0000";
  ASSERT_OK_AND_ASSIGN(const auto refs, ReadHostRefs(list, ObjectFormat::kSha1, 2));
  ASSERT_EQ(refs.size(), 2u);
  EXPECT_EQ(refs[0].name, "refs/heads/main");
  EXPECT_EQ(refs[0].id, kA);
  EXPECT_EQ(refs[1].peeled, kA);
  EXPECT_THAT(ReadHostRefs(list, ObjectFormat::kSha1, 1).status(), FailsWith(ErrorCode::kUpstreamMalformed));
  for (const std::string& text : {std::string(), list + "x", list.substr(0, list.size() - 4), PktOf("unborn HEAD\n") + "0000", std::string("0001")}) {
    EXPECT_THAT(ReadHostRefs(text, ObjectFormat::kSha1, 10).status(), FailsWith(ErrorCode::kUpstreamMalformed)) << text;
  }
}

TEST(HostFetch, AsksInTheOldestWordsThatDo) {
  HostOffer offer;
  offer.filter = true;
  const std::string history = HistoryRequest(offer, {kA}, kB);
  for (const std::string& line : {PktOf("command=fetch\n"), PktOf("want " + kA + "\n"), PktOf("have " + kB + "\n"), PktOf("filter tree:0\n"), PktOf("done\n")}) {
    EXPECT_NE(history.find(line), std::string::npos) << line;
  }
  offer.filter = false;
  const std::string trees = TreesRequest(offer, {kA, kB});
  EXPECT_EQ(trees.find("filter"), std::string::npos);
  EXPECT_NE(trees.find("deepen 1"), std::string::npos);
  EXPECT_EQ(trees.find("thin-pack"), std::string::npos);
}

absl::Status ReadReply(std::string_view bytes, std::size_t step, std::string* pack) {
  FetchReply reply;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    if (absl::Status status = reply.Feed(bytes.substr(at, step), pack); !status.ok()) return status;
  }
  return reply.Finish();
}

TEST(HostFetch, TakesThePackOutOfTheSideBand) {
  const std::string answer = PktOf("shallow-info\n") + PktOf("shallow " + kA + "\n") + "0001" + PktOf("packfile\n") + PktOf("\x02progress\n") + PktOf("\x01PACK") +
                             PktOf("\x01more") + "0000";
  for (const std::size_t step : {std::size_t{1}, std::size_t{7}, answer.size()}) {
    std::string pack;
    EXPECT_THAT(ReadReply(answer, step, &pack), IsOk());
    EXPECT_EQ(pack, "PACKmore");
  }
  const std::vector<std::string> bad = {"", "0000", PktOf("ERR no\n"), PktOf("packfile-uris\n"), PktOf("packfile\n") + PktOf("\x03" "fatal") + "0000",
                                        PktOf("packfile\n") + PktOf("\x01PACK"), answer + PktOf("x"), PktOf("acknowledgments\n") + PktOf("NAK\n") + "0000",
                                        PktOf("packfile\n") + PktOf("\x04x") + "0000", "zzzz"};
  for (const std::string& text : bad) {
    std::string pack;
    EXPECT_THAT(ReadReply(text, 3, &pack), FailsWith(ErrorCode::kUpstreamMalformed)) << text;
  }
}

}  // namespace
}  // namespace credbroker::wire
