#include <string>
#include <vector>

#include "base/str.h"
#include "cuts.h"
#include "kit/status_matchers.h"
#include "wire/advertisement.h"
#include "wire/pktline.h"
#include "wire/upload_pack.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

std::string PktOf(std::string_view payload) {
  std::string out;
  AppendPkt(payload, &out);
  return out;
}

TEST(PktLineTest, ReadsEveryKind) {
  struct Case {
    std::string bytes;
    PktKind kind;
    std::string payload;
  };
  for (const Case& c : std::vector<Case>{{"0000", PktKind::kFlush, ""},
                                         {"0001", PktKind::kDelimiter, ""},
                                         {"0002", PktKind::kResponseEnd, ""},
                                         {"0004", PktKind::kData, ""},
                                         {"000Ahello\n", PktKind::kData, "hello\n"}}) {
    Pkt pkt;
    const ParseResult result =
        ParseAtEveryCut(c.bytes + "rest", [&](std::string_view part) { return ParsePkt(part, &pkt); });
    ASSERT_TRUE(result.complete()) << c.bytes;
    EXPECT_EQ(result.consumed, c.bytes.size());
    ParsePkt(c.bytes, &pkt);
    EXPECT_EQ(pkt.kind, c.kind);
    EXPECT_EQ(pkt.payload, c.payload);
  }
  for (const char* bytes : {"0003", "fff1", "ffff", "g", "00 4", "-001", "0x04", "\r\n"}) {
    Pkt pkt;
    EXPECT_EQ(ParsePkt(bytes, &pkt).error, ErrorCode::kBadGitRequest) << bytes;
  }
  EXPECT_EQ(ChompLine("a\n\n"), "a\n");
}

ParseResult Upload(const std::string& body, GitVersion version, UploadCommand* out) {
  const ParseResult open =
      ParseAtEveryCut(body, [&](std::string_view part) { return ParseUploadPack(part, version, EndOfBody::kNo, out); });
  const ParseResult whole = ParseUploadPack(body, version, EndOfBody::kYes, out);
  EXPECT_TRUE(open.need_more() || open.error == whole.error) << body;
  return whole;
}

TEST(UploadPackTest, ReadsTheCommandsThatOnlyRead) {
  UploadCommand command;
  const std::string ls = "0014command=ls-refs\n" + PktOf("agent=git/2.39.5") + "0016object-format=sha1" + "0001";
  ParseResult result = Upload(ls + "0009peel\n0000", GitVersion::kV2, &command);
  ASSERT_TRUE(result.complete());
  EXPECT_EQ(result.consumed, ls.size());
  EXPECT_EQ(command, UploadCommand::kLsRefs);
  ASSERT_TRUE(Upload("0011command=fetch0001000dthin-pack0000", GitVersion::kV2, &command).complete());
  EXPECT_EQ(command, UploadCommand::kFetch);
  ASSERT_TRUE(Upload(PktOf("command=object-info\n") + "0000", GitVersion::kV2, &command).complete());
  EXPECT_EQ(command, UploadCommand::kObjectInfo);
  ASSERT_TRUE(Upload(PktOf("want " + std::string(40, 'a') + " ofs-delta agent=x\n") + "0000", GitVersion::kV0, &command)
                  .complete());
  EXPECT_EQ(command, UploadCommand::kFetch);
  ASSERT_TRUE(Upload("0000", GitVersion::kV1, &command).complete());
  EXPECT_EQ(command, UploadCommand::kNothing);
}

TEST(UploadPackTest, RefusesTheRest) {
  UploadCommand command;
  for (const char* name : {"bundle-uri", "archive", "ls-refs ", "LS-REFS", "", "fetch\n"}) {
    EXPECT_EQ(Upload(PktOf(base::StrCat("command=", name, "\n")) + "0000", GitVersion::kV2, &command).error,
              ErrorCode::kGitNotSupported)
        << name;
  }
  const std::string fetch = PktOf("command=fetch\n");
  std::string many = fetch;
  for (int i = 0; i < 70; ++i) many += PktOf("server-option=x\n");
  for (const std::string& body : {std::string("0000"), std::string("0001"), std::string(""), std::string("GET "),
                                  PktOf("agent=x\n") + fetch + "0000", fetch, fetch + fetch + "0000",
                                  fetch + PktOf("command=bundle-uri") + "0001", fetch + PktOf("a\x01") + "0000",
                                  fetch + "0002", PktOf("want " + std::string(40, 'a')) + "0000", many + "0000"}) {
    EXPECT_EQ(Upload(body, GitVersion::kV2, &command).error, ErrorCode::kBadGitRequest) << body;
  }
  for (const std::string& body : {fetch + "0000", std::string("0001"), PktOf("want x"),
                                  PktOf("want " + std::string(41, 'a')), PktOf("have x"), std::string()}) {
    EXPECT_EQ(Upload(body, GitVersion::kV0, &command).error, ErrorCode::kBadGitRequest) << body;
  }
}

TEST(UploadPackTest, ReadsAtMost64KiBOfPackets) {
  UploadCommand command;
  const auto request = [](int packets) {
    std::string body = PktOf("command=fetch\n");
    for (int i = 0; i < packets; ++i) body += PktOf("server-option=" + std::string(2000, 'x') + "\n");
    return body + "0000";
  };
  EXPECT_TRUE(Upload(request(32), GitVersion::kV2, &command).complete());
  EXPECT_EQ(Upload(request(33), GitVersion::kV2, &command).error, ErrorCode::kBadGitRequest);
}

TEST(UploadPackTest, ReadsTheVersionAsAServerDoes) {
  struct Case {
    const char* value;
    GitVersion version;
  };
  for (const Case& c : {Case{"version=2", GitVersion::kV2}, Case{"version=1", GitVersion::kV1},
                        Case{"", GitVersion::kV0}, Case{"version=1:version=2", GitVersion::kV2},
                        Case{"version=2:version=0", GitVersion::kV2}, Case{"other:x=1", GitVersion::kV0}}) {
    ASSERT_OK_AND_ASSIGN(const GitVersion version, ParseGitProtocol(c.value));
    EXPECT_EQ(version, c.version) << c.value;
  }
  for (const char* value : {"version=3", "version=", "version=02", "version=2 ", "a b", "version=2\x01"}) {
    EXPECT_THAT(ParseGitProtocol(value), FailsWith(ErrorCode::kBadGitRequest)) << value;
  }
}

struct Filtered {
  absl::Status status;
  std::string out;
};

Filtered Filter(std::string_view body, std::size_t piece, const AdvertisementEdits& edits) {
  AdvertisementFilter filter(edits);
  Filtered run;
  for (std::size_t at = 0; at < body.size() && run.status.ok(); at += piece)
    run.status = filter.Feed(body.substr(at, piece), &run.out);
  if (run.status.ok()) run.status = filter.Finish();
  return run;
}

const std::string kService = "001f# service=git-receive-pack\n0000";
const std::string kNul("\0", 1);

TEST(AdvertisementTest, TakesOutWhatTheEdgeRefuses) {
  const std::string id(40, '0');
  const std::string caps =
      "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta push-cert=NONCE push-options "
      "object-format=sha1";
  const std::string kept =
      "report-status report-status-v2 delete-refs side-band-64k quiet atomic ofs-delta object-format=sha1";
  const std::string rest = PktOf(std::string(40, 'a') + " refs/heads/push-options\n") + "0000";
  const std::string body = kService + PktOf(id + " capabilities^{}" + kNul + caps + "\n") + rest;
  for (std::size_t piece = 1; piece <= body.size(); ++piece) {
    const Filtered run = Filter(body, piece, {});
    ASSERT_THAT(run.status, IsOk());
    ASSERT_EQ(run.out, kService + PktOf(id + " capabilities^{}" + kNul + kept + "\n") + rest) << piece;
    const Filtered thin = Filter(body, piece, {.remove_push_options = false, .add_no_thin = true});
    const std::string with_options =
        base::StrCat(kept.substr(0, kept.rfind(' ')), " push-options object-format=sha1 no-thin\n");
    ASSERT_EQ(thin.out, kService + PktOf(id + " capabilities^{}" + kNul + with_options) + rest) << piece;
  }
}

TEST(AdvertisementTest, TakesAddressesOnOtherHostsOutOfAFetchsOffer) {
  const AdvertisementEdits fetch{.service = AdvertisementEdits::Service::kUploadPack};
  const std::string head = PktOf("version 2\n") + PktOf("agent=x\n");
  const std::string tail = PktOf("object-format=sha1\n") + "0000";
  const std::string body = head + PktOf("bundle-uri\n") + PktOf("bundle-uri=x\n") + PktOf("fetch=shallow packfile-uris filter\n") + tail;
  const std::string want = head + PktOf("fetch=shallow filter\n") + tail;
  const std::string service = PktOf("# service=git-upload-pack\n") + "0000";
  for (std::size_t piece = 1; piece <= body.size(); ++piece) {
    ASSERT_EQ(Filter(body, piece, fetch).out, want) << piece;
    ASSERT_EQ(Filter(service + body, piece, fetch).out, service + want) << piece;
  }
  EXPECT_EQ(Filter(head + PktOf("fetch=packfile-uris") + tail, 9, fetch).out, head + PktOf("fetch") + tail);
  // Refs of the older versions, an empty repository's list and an error pass as they are.
  for (const std::string& rest : {PktOf(std::string(40, 'a') + " refs/heads/bundle-uri" + kNul + "thin-pack bundle-uri\n") + "0000", std::string("0000"),
                                  PktOf("version 1\n") + PktOf(std::string(40, 'a') + " HEAD" + kNul + "x\n") + "0000"}) {
    const Filtered run = Filter(service + rest, 5, fetch);
    EXPECT_THAT(run.status, IsOk());
    EXPECT_EQ(run.out, service + rest);
  }
  EXPECT_EQ(Filter(PktOf("ERR no\n"), 3, fetch).out, PktOf("ERR no\n"));
  EXPECT_THAT(Filter(kService, 5, fetch).status, FailsWith(ErrorCode::kUpstreamMalformed));
  EXPECT_THAT(Filter(head, 5, fetch).status, FailsWith(ErrorCode::kUpstreamMalformed)) << "cut";
}

TEST(AdvertisementTest, PassesVersionOneAndErrors) {
  const std::string v1 = kService + PktOf("version 1\n") +
                         PktOf(std::string(40, 'a') + " refs/heads/m" + kNul + " push-cert no-thin") + "0000";
  EXPECT_EQ(
      Filter(v1, 3, {.add_no_thin = true}).out,
      kService + PktOf("version 1\n") + PktOf(std::string(40, 'a') + " refs/heads/m" + kNul + "no-thin") + "0000");
  const std::string error = kService + PktOf("ERR access denied\n");
  EXPECT_EQ(Filter(error, 5, {}).out, error);
}

TEST(AdvertisementTest, RefusesOtherAnswers) {
  const std::string id(40, 'a');
  for (const std::string& body :
       {std::string("<html>"), std::string("001e# service=git-upload-pack\n0000"), kService, kService + "0000",
        std::string(), PktOf("# service=git-receive-pack\n") + PktOf("x"), kService + PktOf(id + " refs/heads/m\n"),
        kService.substr(0, 20), kService + PktOf(id + " refs/heads/m" + kNul + "atomic").substr(0, 30)}) {
    EXPECT_THAT(Filter(body, 1, {}).status, FailsWith(ErrorCode::kUpstreamMalformed)) << body;
    EXPECT_THAT(Filter(body, 1000, {}).status, FailsWith(ErrorCode::kUpstreamMalformed)) << body;
  }
}

}  // namespace
}  // namespace credbroker::wire
