#include "audit/json_line.h"

#include <nlohmann/json.hpp>
#include <set>

#include "audit/canonical.h"
#include "base/duration.h"
#include "base/text.h"
#include "unit/audit/folder.h"

namespace credbroker::audit {
namespace {

using Json = nlohmann::json;

std::string LineOf(const model::Record& record) {
  JsonLine line;
  FormatRecord(record, &line);
  std::string text;
  line.AppendTo(&text, "edge", 7);
  EXPECT_TRUE(text.ends_with('\n'));
  text.pop_back();
  return text;
}

// Every member of a record at once.
model::Record FullRecord() {
  model::Record r = TestRecord(model::RecordKind::kIntent, "r-1");
  r.session = "s-1", r.token_id = "t-2", r.parent_token_id = "t-1", r.requester = "team-web", r.label = "agent";
  r.phase = "agent", r.ticket = "WEB-12", r.actor = "uid:0", r.peer = "127.0.0.1:4000", r.channel = "connect";
  r.scopes = {"web-agent"}, r.method = "POST", r.scheme = "https", r.host = "forge.example", r.port = 443;
  r.path = "/acme/web.git/git-receive-pack", r.query_names = {"service"}, r.service = "forge", r.repository = "acme/web";
  r.refs = {{"refs/heads/agent/s-1/x", "create", std::string(40, '0'), std::string(40, 'a')}};
  r.action = "push", r.subject = "x", r.detail = "y", r.before = "b", r.after = "a", r.effect_class = "push";
  r.rule = "web-agent/push", r.credential = "acme-app", r.exception = "EX-1", r.code = "no_rule", r.policy_version = 3;
  r.outcome = "done", r.intent = 6, r.status = 200, r.bytes_up = 10, r.bytes_down = 20, r.duration_us = 30;
  return r;
}

TEST(JsonLineTest, GoldenLine) {
  EXPECT_EQ(LineOf(FullRecord()),
            R"({"action":"push","actor":"uid:0","after":"a","before":"b","bytes_down":20,"bytes_up":10,"channel":"connect",)"
            R"("code":"no_rule","credential":"acme-app","detail":"y","duration_us":30,"effect_class":"push","exception":"EX-1",)"
            R"("host":"forge.example","id":"edge-7","intent":6,"kind":"intent","label":"agent","method":"POST","outcome":"done",)"
            R"("parent_token_id":"t-1","path":"/acme/web.git/git-receive-pack","peer":"127.0.0.1:4000","phase":"agent",)"
            R"("policy_version":3,"port":443,"query_names":["service"],"refs":[{"change":"create",)"
            R"("new_id":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","old_id":"0000000000000000000000000000000000000000",)"
            R"("ref":"refs/heads/agent/s-1/x"}],"repository":"acme/web","request_id":"r-1","requester":"team-web",)"
            R"("rule":"web-agent/push","schema":1,"scheme":"https","scopes":["web-agent"],"service":"forge","session":"s-1",)"
            R"("status":200,"subject":"x","ticket":"WEB-12","time":"2027-01-15T08:00:00.000000Z","token_id":"t-2"})");
}

TEST(JsonLineTest, LinesAreCanonicalAndLeaveOutWhatIsEmpty) {
  EXPECT_TRUE(IsCanonicalObject(LineOf(FullRecord())));
  model::Record empty;
  empty.time = absl::UnixEpoch();
  EXPECT_EQ(LineOf(empty), R"({"id":"edge-7","kind":"system","schema":1,"time":"1970-01-01T00:00:00.000000Z"})");
}

TEST(JsonLineTest, TimesAreThoseOfTheBaseRoom) {
  model::Record record;
  for (int64_t micros = 0; micros < 4'102'444'800'000'000; micros += 86'399'123'456 * 7) {
    record.time = absl::FromUnixMicros(micros);
    ASSERT_EQ(Json::parse(LineOf(record))["time"], base::TimeText(record.time));
  }
  record.time = absl::InfinitePast();
  EXPECT_TRUE(IsCanonicalObject(LineOf(record)));
  record.time = absl::InfiniteFuture();
  EXPECT_EQ(Json::parse(LineOf(record))["time"], "9999-12-31T23:59:59.999999Z");
}

TEST(JsonLineTest, AClearedRecordKeepsNothing) {
  model::Record record = FullRecord();
  record.Clear();
  EXPECT_EQ(LineOf(record), LineOf(model::Record()));
}

// Puts `text` into every text member there is.
model::Record Everywhere(const std::string& text) {
  model::Record r = FullRecord();
  for (std::string* field : {&r.request_id, &r.session, &r.token_id, &r.parent_token_id, &r.requester, &r.label, &r.phase,
                             &r.ticket, &r.actor, &r.peer, &r.channel, &r.method, &r.scheme, &r.host, &r.path, &r.service,
                             &r.repository, &r.action, &r.subject, &r.detail, &r.before, &r.after, &r.effect_class, &r.rule,
                             &r.credential, &r.exception, &r.code, &r.outcome}) {
    *field = text;
  }
  r.scopes = r.query_names = {text, text};
  r.refs = {{text, text, text, text}, {text, text, text, text}};
  return r;
}

TEST(JsonLineTest, HostileTextsStayInsideOfTheirField) {
  const std::vector<std::string> corpus = {
      "\x1b[2J", "\u202E", std::string("a\0b", 3), "a\rb", "a\nb", std::string(8192, 'x'), "\xff\xfe", "\xed\xa0\x80",
      R"(","kind":"admin","x":")", R"(\",\"kind\":\"admin)", "\\", "\"", "\u2028\u2029\u200b\ufeff", "\u0085\u009b31m", "\x7f",
      R"({"id":"edge-8"})", std::string(8192, '\x01'), std::string(8192, '\\'), std::string(8192, '"'), "\U000E0041"};
  const Json plain = Json::parse(LineOf(Everywhere("x")));
  for (const std::string& text : corpus) {
    const std::string line = LineOf(Everywhere(text));
    ASSERT_LE(line.size(), kMaxLineBytes);
    ASSERT_TRUE(IsCanonicalObject(line)) << line;
    const Json record = Json::parse(line);
    EXPECT_EQ(record.size(), plain.size()) << line;
    EXPECT_EQ(record["kind"], "intent");
    EXPECT_EQ(record["id"], "edge-7");
    // Nothing in the line, or in a value read out of it, acts on a terminal.
    for (const char c : line) ASSERT_TRUE(static_cast<uint8_t>(c) >= 0x20 && c != 0x7f) << line;
    for (const auto& [name, value] : record.items()) {
      if (!value.is_string()) continue;
      const std::string shown = value.get<std::string>();
      std::string undoubled;
      for (std::size_t i = 0; i < shown.size(); ++i) {
        undoubled.push_back(shown[i]);
        if (shown[i] == '\\' && i + 1 < shown.size() && shown[i + 1] == '\\') ++i;
      }
      for (const char c : undoubled) ASSERT_GE(static_cast<uint8_t>(c), 0x20) << name;
      ASSERT_EQ(shown.find("\u202E"), std::string::npos);
      ASSERT_EQ(shown.find("\u2028"), std::string::npos);
      ASSERT_EQ(shown.find("\u009b"), std::string::npos);
    }
  }
}

TEST(JsonLineTest, LongTextsAndListsAreCutWithANote) {
  model::Record record = TestRecord(model::RecordKind::kDeny, "r");
  record.path = "/" + std::string(8191, 'p');
  record.refs.assign(1, {"refs/heads/" + std::string(4096, 'r'), "create", "", ""});
  record.query_names.assign(500, "q");
  const Json line = Json::parse(LineOf(record));
  const std::string path = line["path"].get<std::string>();
  EXPECT_TRUE(path.ends_with("...[8192 bytes]")) << path.size();
  EXPECT_LE(path.size(), 2048u + 24);
  const std::string ref = line["refs"][0]["ref"].get<std::string>();
  EXPECT_TRUE(ref.ends_with("...[4107 bytes]"));
  EXPECT_LE(ref.size(), 512u + 24);
  EXPECT_EQ(line["query_names"].size(), 65u);
  EXPECT_EQ(line["query_names"][64], "...[500 in all]");

  record.refs.assign(2000, {"refs/heads/" + std::string(400, 'r'), "create", std::string(40, '0'), std::string(40, '1')});
  const std::string big = LineOf(record);
  EXPECT_LE(big.size(), kMaxLineBytes);
  EXPECT_TRUE(IsCanonicalObject(big));
  EXPECT_NE(big.find("...[2000 in all]"), std::string::npos);
}

TEST(JsonLineTest, LargestNumbersStayExact) {
  model::Record record = TestRecord(model::RecordKind::kOutcome, "r");
  record.bytes_down = (int64_t{1} << 62) + 1;
  const std::string line = LineOf(record);
  EXPECT_TRUE(IsCanonicalObject(line)) << line;
  EXPECT_EQ(Json::parse(line)["bytes_down"].get<int64_t>(), (int64_t{1} << 53) - 1);
}

TEST(JsonLineTest, TokensAppearAsFingerprintsOnly) {
  const std::string token = "cbt_v4.public.QWxhZGRpbjpvcGVuIHNlc2FtZQ-_abc.Zm9v";
  for (const std::string& secret :
       {token, std::string("CBT%5Fv4.public.QWxhZGRpbjpvcGVu"), std::string("ghs_0123456789abcdefghijABCDEFGHIJ012345"),
        std::string("github_pat_11ABCDEFG0aaaaaaaaaaaaaaaa"), std::string("sk-ant-api03-aaaaaaaaaaaaaaaaaaaa"),
        std::string("AKIAIOSFODNN7EXAMPLE")}) {
    model::Record record = Everywhere("x");
    record.path = "/u:" + secret + "@host/" + secret;
    record.host = secret + ".test";
    record.query_names = {secret};
    record.refs = {{"refs/heads/" + secret, "create", secret, secret}};
    record.method = record.subject = record.detail = record.repository = record.peer = record.ticket = secret;
    record.requester = record.actor = record.rule = secret;
    record.scopes = {secret};
    const std::string line = LineOf(record);
    EXPECT_EQ(line.find(secret), std::string::npos) << line;
    EXPECT_NE(line.find(TokenFingerprint(secret)), std::string::npos) << line;
    EXPECT_TRUE(IsCanonicalObject(line));
  }
  EXPECT_EQ(MaskTokens("/cbt_short/ghp_x"), "/cbt_short/ghp_x");
}

TEST(FieldRulesTest, NoLineHoldsANameOfTheNeverClass) {
  const std::string line = LineOf(Everywhere("x"));
  const Json record = Json::parse(line);
  std::set<std::string> allowed;
  std::string before;
  for (const FieldRule& rule : FieldRules()) {
    EXPECT_LT(before, rule.name);
    before = rule.name;
    if (rule.field_class == FieldClass::kNever) {
      EXPECT_FALSE(record.contains(std::string(rule.name))) << rule.name;
    } else {
      allowed.insert(std::string(rule.name));
    }
  }
  for (const char* name : {"authorization", "body", "cookie", "headers", "query", "secret", "token", "password"}) {
    EXPECT_EQ(allowed.count(name), 0u) << name;
  }
  std::set<std::string> written;
  for (const auto& [name, value] : record.items()) written.insert(name);
  EXPECT_EQ(written, allowed);  // and the full record leaves no member of the allow-list out
}

}  // namespace
}  // namespace credbroker::audit
