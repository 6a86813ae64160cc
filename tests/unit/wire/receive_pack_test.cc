#include "wire/receive_pack.h"

#include <string>
#include <vector>

#include "base/str.h"
#include "kit/status_matchers.h"
#include "wire/push_refusal.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using testing::ElementsAre;

const std::string kA(40, 'a'), kB(40, 'b'), kZero(40, '0');
const std::string kCaps =
    std::string("\0", 1) + " report-status-v2 side-band-64k quiet atomic object-format=sha1 agent=git/2.39.5";

std::string PktOf(std::string_view payload) {
  std::string out;
  AppendPkt(payload, &out);
  return out;
}
std::string Line(const std::string& from, const std::string& to, const std::string& ref) {
  return from + " " + to + " " + ref;
}
std::string First(const std::string& from, const std::string& to, const std::string& ref) {
  return PktOf(Line(from, to, ref) + kCaps);
}
std::string Next(const std::string& from, const std::string& to, const std::string& ref) {
  return PktOf(Line(from, to, ref));
}

struct Parsed {
  ParseResult result;
  PushRequest request;
};

// Whole, byte by byte, and cut at every place: one outcome.
Parsed Parse(const std::string& body, const PushLimits& limits = {}) {
  ReceivePackParser whole(limits);
  const ParseResult expected = whole.Parse(body, EndOfBody::kYes);
  ReceivePackParser slow(limits);
  ParseResult last;
  for (std::size_t size = 0; size <= body.size() && last.need_more(); ++size) {
    const std::string part = body.substr(0, size);
    last = slow.Parse(part, size == body.size() ? EndOfBody::kYes : EndOfBody::kNo);
  }
  EXPECT_EQ(last.error, expected.error);
  EXPECT_EQ(last.consumed, expected.consumed);
  for (std::size_t cut = 0; cut < body.size(); ++cut) {
    ReceivePackParser parser(limits);
    ParseResult result = parser.Parse(body.substr(0, cut), EndOfBody::kNo);
    if (result.need_more()) result = parser.Parse(body, EndOfBody::kYes);
    EXPECT_EQ(result.error, expected.error) << "cut at " << cut;
    EXPECT_EQ(result.consumed, expected.consumed) << "cut at " << cut;
  }
  EXPECT_FALSE(expected.need_more());
  return {expected, whole.request()};
}

TEST(ReceivePackTest, ReadsOneUpdate) {
  const std::string list = First(kA, kB, "refs/heads/main") + "0000";
  const Parsed run = Parse(list + "PACK....");
  ASSERT_TRUE(run.result.complete());
  EXPECT_EQ(run.result.consumed, list.size());
  ASSERT_EQ(run.request.commands.size(), 1u);
  const PushCommand& command = run.request.commands[0];
  EXPECT_EQ(command.old_id, kA);
  EXPECT_EQ(command.new_id, kB);
  EXPECT_EQ(command.ref, "refs/heads/main");
  EXPECT_EQ(command.kind, PushKind::kUpdate);
  EXPECT_TRUE(run.request.has_pack);
  EXPECT_TRUE(run.request.Has("side-band-64k"));
  EXPECT_TRUE(run.request.Has("agent=git/2.39.5"));
  EXPECT_FALSE(run.request.Has("side-band"));
  // The sample of a real capture begins with this length.
  EXPECT_TRUE(First(kA, kB, "refs/heads/main").starts_with("00"));
}

TEST(ReceivePackTest, ReadsTwoRefsAndPushOptions) {
  const std::string caps =
      std::string("\0", 1) + " report-status-v2 side-band-64k atomic push-options object-format=sha1";
  const std::string list = PktOf(Line(kZero, kB, "refs/heads/agent/y") + caps) + Next(kZero, kB, "refs/tags/t1") +
                           "0000" + "000bci.skip" + "0018merge_request.create" + "0000";
  const Parsed run = Parse(list + "PACK");
  ASSERT_TRUE(run.result.complete());
  EXPECT_EQ(run.result.consumed, list.size());
  ASSERT_EQ(run.request.commands.size(), 2u);
  EXPECT_EQ(run.request.commands[0].kind, PushKind::kCreate);
  EXPECT_EQ(run.request.commands[1].ref, "refs/tags/t1");
  EXPECT_THAT(run.request.options, ElementsAre("ci.skip", "merge_request.create"));
}

// B19: a deletion has no pack; names may hold the word; nothing is searched for.
TEST(ReceivePackTest, DeletionsHaveNoPackAndNamesMayHoldTheWord) {
  const Parsed gone = Parse(First(kA, kZero, "refs/heads/b") + "0000");
  ASSERT_TRUE(gone.result.complete());
  EXPECT_FALSE(gone.request.has_pack);
  EXPECT_EQ(gone.request.commands[0].kind, PushKind::kDelete);
  const Parsed named = Parse(First(kA, kB, "refs/heads/JDK-PACK") + "0000PACK");
  ASSERT_TRUE(named.result.complete());
  EXPECT_EQ(named.request.commands[0].ref, "refs/heads/JDK-PACK");
  EXPECT_EQ(Parse(First(kA, kZero, "refs/heads/b") + "0000PACK").result.error, ErrorCode::kBadGitRequest);
  EXPECT_EQ(Parse(First(kA, kZero, "refs/heads/b") + "0000x").result.error, ErrorCode::kBadGitRequest);
}

TEST(ReceivePackTest, AFlushAloneIsTheProbe) {
  const Parsed run = Parse("0000");
  ASSERT_TRUE(run.result.complete());
  EXPECT_TRUE(run.request.probe);
  EXPECT_EQ(Parse("0000PACK").result.error, ErrorCode::kBadGitRequest);
  EXPECT_EQ(Parse("00000000").result.error, ErrorCode::kBadGitRequest);
  EXPECT_EQ(Parse("").result.error, ErrorCode::kBadGitRequest);
  EXPECT_FALSE(Parse(First(kA, kB, "refs/heads/main") + "0000PACK").request.probe);
}

TEST(ReceivePackTest, ReadsSha256) {
  const std::string a(64, 'a'), b(64, 'b');
  const std::string caps = std::string("\0", 1) + "report-status object-format=sha256";
  EXPECT_TRUE(
      Parse(PktOf(Line(a, b, "refs/heads/m") + caps) + Next(a, b, "refs/heads/n") + "0000PACK").result.complete());
  EXPECT_EQ(Parse(PktOf(Line(a, b, "refs/heads/m") + caps) + Next(kA, kB, "refs/heads/n") + "0000PACK").result.error,
            ErrorCode::kBadGitRequest);
  EXPECT_EQ(Parse(PktOf(Line(kA, kB, "refs/heads/m") + caps) + "0000PACK").result.error, ErrorCode::kBadGitRequest);
  EXPECT_EQ(Parse(PktOf(Line(a, b, "refs/heads/m")) + "0000PACK").result.error, ErrorCode::kBadGitRequest);
}

TEST(ReceivePackTest, RefusesWhatTheServerMightReadDifferently) {
  const std::string good = First(kA, kB, "refs/heads/main");
  const std::string nul("\0", 1);
  struct Case {
    const char* name;
    std::string body;
    ErrorCode error;
  };
  const std::vector<Case> cases = {
      {"truncated list", good, ErrorCode::kBadGitRequest},
      {"no pack", good + "0000", ErrorCode::kBadGitRequest},
      {"half a pack word", good + "0000PAC", ErrorCode::kBadGitRequest},
      {"other word", good + "0000PACX", ErrorCode::kBadGitRequest},
      {"gap before the pack", good + "0000 PACK", ErrorCode::kBadGitRequest},
      {"delimiter ends the list", good + "0001PACK", ErrorCode::kBadGitRequest},
      {"response-end ends the list", good + "0002PACK", ErrorCode::kBadGitRequest},
      {"length 3", good + "0003PACK", ErrorCode::kBadGitRequest},
      {"no hex", "00zz", ErrorCode::kBadGitRequest},
      {"above 65520", "fff1" + std::string(70000, 'a'), ErrorCode::kBadGitRequest},
      {"empty line", good + "0004" + "0000PACK", ErrorCode::kBadGitRequest},
      {"certificate", PktOf("push-cert" + nul + " report-status") + "0000PACK", ErrorCode::kPushCertificate},
      {"certificate later", good + PktOf("push-cert") + "0000PACK", ErrorCode::kPushCertificate},
      {"NUL in the second", good + PktOf(Line(kA, kB, "refs/heads/x") + nul + "atomic") + "0000PACK",
       ErrorCode::kBadGitRequest},
      {"two NULs", PktOf(Line(kA, kB, "refs/heads/x") + nul + "a" + nul + "b") + "0000PACK", ErrorCode::kBadGitRequest},
      {"both zero", First(kZero, kZero, "refs/heads/x") + "0000PACK", ErrorCode::kBadGitRequest},
      {"upper-case id", First(std::string(40, 'A'), kB, "refs/heads/x") + "0000PACK", ErrorCode::kBadGitRequest},
      {"short id", First(std::string(39, 'a'), kB, "refs/heads/x") + "0000PACK", ErrorCode::kBadGitRequest},
      {"tab for space", PktOf(kA + "\t" + kB + " refs/heads/x" + kCaps) + "0000PACK", ErrorCode::kBadGitRequest},
      {"no ref", PktOf(kA + " " + kB + " ") + "0000PACK", ErrorCode::kBadGitRequest},
      {"ref twice", good + Next(kA, kB, "refs/heads/main") + "0000PACK", ErrorCode::kBadGitRequest},
      {"LF inside", PktOf(Line(kA, kB, "refs/heads/x\n\n")) + "0000PACK", ErrorCode::kOddRef},
      {"LF before NUL", PktOf(Line(kA, kB, "refs/heads/x\n") + kCaps) + "0000PACK", ErrorCode::kOddRef},
      {"two formats", PktOf(Line(kA, kB, "refs/heads/x") + nul + "object-format=sha1 object-format=sha1") + "0000PACK",
       ErrorCode::kBadGitRequest},
      {"other format", PktOf(Line(kA, kB, "refs/heads/x") + nul + "object-format=md5") + "0000PACK",
       ErrorCode::kBadGitRequest},
      {"shallow", PktOf("shallow " + kA) + good + "0000PACK", ErrorCode::kShallowPush},
      {"shallow at the end", good + PktOf("shallow " + kA + "\n") + "0000PACK", ErrorCode::kShallowPush},
      {"broken shallow", PktOf("shallow x") + good + "0000PACK", ErrorCode::kBadGitRequest},
      {"shallow with NUL", PktOf("shallow " + kA + nul + "atomic") + good + "0000PACK", ErrorCode::kBadGitRequest},
      {"option section missing", PktOf(Line(kA, kB, "refs/heads/x") + nul + "push-options") + "0000PACK",
       ErrorCode::kBadGitRequest},
      {"control in option",
       PktOf(Line(kA, kB, "refs/heads/x") + nul + "push-options") + "0000" + PktOf("a\nb") + "0000PACK",
       ErrorCode::kBadGitRequest}};
  for (const Case& c : cases) EXPECT_EQ(Parse(c.body).result.error, c.error) << c.name;
}

// B21: every command is seen, names byte for byte, odd ones refused after the whole list was read.
TEST(ReceivePackTest, OddNamesAreRefusedAndTheWholeListIsKept) {
  for (const char* ref :
       {"refs/heads/agent/../main", "HEAD", "refs/heads", "refs/stash", "heads/x", "refs//heads/x", "refs/heads/x.lock",
        "refs/heads/.x", "refs/heads/x y", "refs/heads/x~1", "refs/heads/\xff", "refs/heads/x/", "REFS/heads/x"}) {
    const Parsed run =
        Parse(First(kA, kB, "refs/heads/agent/x") + Next(kA, kB, ref) + Next(kA, kB, "refs/heads/z") + "0000PACK");
    EXPECT_EQ(run.result.error, ErrorCode::kOddRef) << ref;
    EXPECT_EQ(run.request.commands.size(), 3u) << ref;
  }
  const Parsed run = Parse(First(kA, kB, "refs/heads/Agent/x") + Next(kA, kB, "refs/heads/agent/x") +
                           Next(kA, kB, "refs/pull/1/head") + "0000PACK");
  ASSERT_TRUE(run.result.complete());
  EXPECT_EQ(run.request.commands[0].ref, "refs/heads/Agent/x");
  EXPECT_EQ(run.request.commands[2].ref, "refs/pull/1/head");
}

TEST(ReceivePackTest, KeepsItsLimits) {
  std::string many = First(kA, kB, "refs/heads/r0");
  for (int i = 1; i < 4; ++i) many += Next(kA, kB, base::StrCat("refs/heads/r", i));
  EXPECT_TRUE(Parse(many + "0000PACK", {.max_commands = 4}).result.complete());
  EXPECT_EQ(Parse(many + "0000PACK", {.max_commands = 3}).result.error, ErrorCode::kTooManyRefs);
  EXPECT_TRUE(Parse(many + "0000PACK", {.max_list_bytes = many.size() + 4}).result.complete());
  EXPECT_EQ(Parse(many + "0000PACK", {.max_list_bytes = many.size() + 3}).result.error, ErrorCode::kBodyTooLarge);
}

TEST(ReceivePackTest, TakesSixtyFourPushOptionsAndNoMore) {
  const std::string caps = std::string("\0", 1) + " report-status push-options";
  std::string list = PktOf(Line(kA, kB, "refs/heads/x") + caps) + "0000";
  for (int i = 0; i < 64; ++i) list += PktOf("ci.skip");
  const Parsed fits = Parse(list + "0000PACK");
  ASSERT_TRUE(fits.result.complete());
  EXPECT_EQ(fits.request.options.size(), 64u);
  EXPECT_EQ(Parse(list + PktOf("ci.skip") + "0000PACK").result.error, ErrorCode::kBadGitRequest);
}

TEST(ReceivePackTest, ShallowLinesCanBeAllowed) {
  const PushLimits limits{.shallow = ShallowLines::kAllow};
  const Parsed run = Parse(PktOf("shallow " + kA) + First(kA, kB, "refs/heads/main") + "0000PACK", limits);
  ASSERT_TRUE(run.result.complete());
  EXPECT_EQ(run.request.shallow, std::vector<std::string>{kA});
  EXPECT_EQ(Parse(PktOf("shallow " + std::string(64, 'a')) + First(kA, kB, "refs/heads/main") + "0000PACK", limits)
                .result.error,
            ErrorCode::kBadGitRequest);
}

TEST(RefNameTest, FollowsGitCheckRefFormat) {
  for (const char* ref : {"refs/heads/x", "a/b", "refs/heads/a.b", "refs/heads/@", "refs/heads/a@b", "refs/heads/-x",
                          "refs/heads/\xc3\xa4", "refs/heads/{x}", "refs/heads/lock", "refs/heads/x.lockx"}) {
    EXPECT_TRUE(IsWellFormedRef(ref)) << ref;
  }
  for (const char* ref :
       {"",      "x",       "@",       "/a/b", "a//b", "a/b/", "a/.b", ".a/b", "a/b.lock", "a.lock/b", "a/b..c", "a/b.",
        "a/b c", "a/b\x01", "a/b\x7f", "a/b~", "a/b^", "a/b:", "a/b?", "a/b*", "a/b[",     "a/b\\",    "a/b@{c"}) {
    EXPECT_FALSE(IsWellFormedRef(ref)) << ref;
  }
  EXPECT_FALSE(IsWellFormedRef(std::string_view("a/b\0c", 5)));
}

TEST(PushRefusalTest, TellsGitEveryRef) {
  const Parsed run = Parse(First(kA, kB, "refs/heads/main") + Next(kA, kB, "refs/heads/x") + "0000PACK");
  const std::vector<std::string> reasons = {"no rule allows this ref"};
  std::string report;
  AppendPkt("unpack ok\n", &report);
  AppendPkt("ng refs/heads/main no rule allows this ref\n", &report);
  AppendPkt("ng refs/heads/x refused with the rest of the push\n", &report);
  report += "0000";
  EXPECT_EQ(RefusalReport(run.request, "credbroker: refused\x1b[2J", reasons), PktOf("\x02"
                                                                                     "credbroker: refused [2J\n") +
                                                                                   PktOf("\x01" + report) + "0000");
  PushRequest plain = run.request;
  plain.capabilities = {"report-status"};
  EXPECT_EQ(RefusalReport(plain, "message", reasons), report);
  plain.capabilities = {};
  EXPECT_EQ(RefusalReport(plain, "message", reasons), "0000");
  EXPECT_EQ(DiscoveryRefusal("a\nb"), "a\nb\n");
}

TEST(PushRefusalTest, SplitsLongReportsIntoPackets) {
  PushRequest request;
  request.capabilities = {"report-status", "side-band-64k"};
  for (int i = 0; i < 1000; ++i)
    request.commands.push_back({kA, kB, base::StrCat("refs/heads/", std::string(200, 'r'), i), PushKind::kUpdate});
  request.commands.push_back({kA, kB, "refs/heads/a\nb", PushKind::kUpdate});
  const std::string body = RefusalReport(request, "no", {});
  std::string report;
  std::string_view rest = body;
  Pkt pkt;
  for (ParseResult r = ParsePkt(rest, &pkt); r.complete() && pkt.kind == PktKind::kData; r = ParsePkt(rest, &pkt)) {
    if (pkt.payload[0] == '\x01') report.append(pkt.payload.substr(1));
    rest.remove_prefix(r.consumed);
  }
  EXPECT_EQ(rest, "0000");
  EXPECT_TRUE(report.ends_with("0000"));
  EXPECT_NE(report.find("ng refs/heads/" + std::string(200, 'r') + "999 "), std::string::npos);
  EXPECT_EQ(report.find("a\nb"), std::string::npos);
}

}  // namespace
}  // namespace credbroker::wire
