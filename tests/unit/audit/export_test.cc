#include <nlohmann/json.hpp>

#include "audit/export_cursor.h"
#include "audit/export_format.h"
#include "kit/status_matchers.h"

namespace credbroker::audit {
namespace {

using nlohmann::json;
using testing_kit::FailsWith;
using testing_kit::IsOk;

const ExportOrigin kOrigin{"1.2.3", "host-1.example"};

constexpr char kDeny[] =
    R"({"code":"ref_not_allowed","effect_class":"push","host":"git.corp.example","id":"edge-7","kind":"deny","method":"POST",)"
    R"("path":"/acme/web/git-receive-pack","peer":"127.0.0.1:4242","policy_version":3,"port":443,)"
    R"("refs":[{"change":"create","new_id":"b","old_id":"a","ref":"refs/heads/x]\"|=\\x0a"}],"repository":"acme/web",)"
    R"("request_id":"r-1","requester":"team-web","rule":"web/repositories/acme/web","schema":1,"scheme":"https",)"
    R"("session":"s-1","status":403,"time":"2026-11-30T22:43:11.000123Z","token_id":"t-1"})";

TEST(ExportTest, JsonlIsTheRecordOnOneLine) {
  const std::string line = FormatExport(ExportFormat::kJsonl, kDeny, kOrigin);
  EXPECT_EQ(json::parse(line), json::parse(kDeny));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(ExportTest, SyslogEscapesWhatEndsAValue) {
  const std::string line = FormatExport(ExportFormat::kSyslog, kDeny, kOrigin);
  EXPECT_TRUE(line.starts_with("<108>1 2026-11-30T22:43:11.000123Z host-1.example credbroker - deny [credbroker@32473 ")) << line;
  EXPECT_NE(line.find(R"( refs="create refs/heads/x\]\"|=\\x0a")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"( status="403" )"), std::string::npos);
  EXPECT_TRUE(line.ends_with("] deny ref_not_allowed: POST git.corp.example/acme/web/git-receive-pack")) << line;
}

TEST(ExportTest, CefEscapesHeaderAndExtension) {
  const std::string line = FormatExport(ExportFormat::kCef, kDeny, {"1|2\\3", "h"});
  EXPECT_TRUE(line.starts_with(
      R"(CEF:0|Credbroker|credbroker|1\|2\\3|deny|deny ref_not_allowed: POST git.corp.example/acme/web/git-receive-pack|6|rt=1796078591000 )"))
      << line;
  EXPECT_NE(line.find(R"( fname=create refs/heads/x]"|\=\\x0a )"), std::string::npos) << line;
  EXPECT_NE(line.find(" cs1=s-1 cs1Label=session "), std::string::npos);
}

TEST(ExportTest, OcsfHasWhatTheClassRequires) {
  const json event = json::parse(FormatExport(ExportFormat::kOcsf, kDeny, kOrigin));
  EXPECT_EQ(event["class_uid"], 6003);
  EXPECT_EQ(event["category_uid"], 6);
  EXPECT_EQ(event["type_uid"], 6003 * 100 + event["activity_id"].get<int>());
  EXPECT_EQ(event["activity_name"], "Update");
  EXPECT_EQ(event["time"], 1796078591000);
  EXPECT_EQ(event["severity_id"], 3);
  EXPECT_EQ(event["status_id"], 2);
  EXPECT_EQ(event["action_id"], 2);
  EXPECT_EQ(event["metadata"]["version"], "1.3.0");
  EXPECT_EQ(event["metadata"]["product"]["vendor_name"], "Credbroker");
  EXPECT_EQ(event["metadata"]["uid"], "edge-7");
  EXPECT_EQ(event["metadata"]["log_name"], "edge");
  EXPECT_EQ(event["actor"]["user"]["name"], "team-web");
  EXPECT_EQ(event["src_endpoint"], (json{{"ip", "127.0.0.1"}, {"port", 4242}}));
  EXPECT_EQ(event["api"]["operation"], "POST push");
  EXPECT_EQ(event["policy"]["name"], "web/repositories/acme/web");
  EXPECT_EQ(event["http_request"]["url"]["hostname"], "git.corp.example");
  EXPECT_EQ(event["unmapped"]["refs"][0]["change"], "create");
  const json bare = json::parse(FormatExport(ExportFormat::kOcsf, R"({"kind":"system","id":"broker-0"})", kOrigin));
  for (const char* name : {"activity_id", "category_uid", "class_uid", "type_uid", "severity_id", "time", "metadata", "actor",
                           "src_endpoint", "api"}) {
    EXPECT_TRUE(bare.contains(name)) << name;
  }
  EXPECT_EQ(bare["actor"]["user"]["name"], "unknown");
}

// An archive of an edge that was taken over may hold anything that is canonical JSON (B99).
TEST(ExportTest, HostileTextStaysOneHarmlessLine) {
  const std::string evil = "a\nb\r\x1b[2J\x01\xE2\x80\xAE\xff \" ] \\ = | <1>1 CEF:0|";
  const json record = {{"kind", "deny"}, {"id", evil},   {"host", evil},    {"path", evil},
                       {"code", evil},   {"action", evil}, {"evil key=]", evil}, {"refs", {{{"ref", evil}}}}};
  const std::string line = record.dump(-1, ' ', false, json::error_handler_t::ignore);
  for (const ExportFormat format : {ExportFormat::kJsonl, ExportFormat::kOcsf, ExportFormat::kSyslog, ExportFormat::kCef}) {
    for (const std::string& shown : {FormatExport(format, line, {evil, evil}), FormatExport(format, evil, {evil, evil})}) {
      for (const char c : shown) ASSERT_GE(static_cast<unsigned char>(c), 0x20U) << shown;
      EXPECT_EQ(shown.find("\xE2\x80\xAE"), std::string::npos) << shown;
      EXPECT_EQ(shown.find('\x7f'), std::string::npos);
      const bool is_json = format == ExportFormat::kJsonl || format == ExportFormat::kOcsf;
      EXPECT_TRUE(!is_json || json::accept(shown)) << shown;
    }
  }
  const std::string syslog = FormatExport(ExportFormat::kSyslog, line, kOrigin);
  EXPECT_EQ(syslog.find("evil key"), std::string::npos) << "a name with a separator in it is left out";
  const std::string cef = FormatExport(ExportFormat::kCef, line, kOrigin);
  int bars = 0;
  for (std::size_t i = 0; i < cef.size(); ++i) bars += cef[i] == '|' && (i == 0 || cef[i - 1] != '\\') ? 1 : 0;
  EXPECT_GE(bars, 7);
}

TEST(ExportTest, LinesStayWithinWhatReceiversTake) {
  json record = {{"kind", "deny"}};
  for (const char* name : {"id", "host", "path", "code", "rule", "session", "requester", "credential", "repository", "subject"}) {
    record[name] = std::string(4000, ']');
  }
  for (const ExportFormat format : {ExportFormat::kSyslog, ExportFormat::kCef}) {
    const std::string line = FormatExport(format, record.dump(), kOrigin);
    EXPECT_LE(line.size(), kMaxEventBytes);
    EXPECT_NE(line.find("...[4000 bytes"), std::string::npos);
  }
}

TEST(ExportTest, ReadsFormats) {
  EXPECT_EQ(*ParseExportFormat("cef"), ExportFormat::kCef);
  EXPECT_THAT(ParseExportFormat("CEF"), FailsWith(base::ErrorCode::kBadArgument));
}

TEST(ExportCursorTest, ReadsWhatItWrites) {
  const ExportCursor cursor = {{"broker", 12}, {"edge", 0}, {"edge_2", uint64_t{1} << 53}};
  EXPECT_EQ(CursorText(cursor), "c1:broker=12:edge=0:edge_2=9007199254740992");
  EXPECT_EQ(*ParseCursor(CursorText(cursor)), cursor);
  EXPECT_EQ(*ParseCursor("c1"), ExportCursor());
}

TEST(ExportCursorTest, RefusesTheRest) {
  for (const char* text : {"", "c", "c2", "c1:", "c1:a", "c1:a=", "c1:a=-1", "c1:a=01", "c1:a=1:", "c1:b=1:a=1", "c1:a=1:a=2",
                           "c1:A=1", "c1:../x=1", "c1:a=9007199254740993", "c1:a=1\n", " c1"}) {
    EXPECT_THAT(ParseCursor(text), FailsWith(base::ErrorCode::kBadArgument)) << text;
  }
  ExportCursor many;
  for (std::size_t i = 0; i < kMaxCursorLedgers; ++i) many["e" + std::to_string(i)] = i;
  EXPECT_THAT(ParseCursor(CursorText(many)), IsOk());
  many["one_more"] = 1;
  EXPECT_THAT(ParseCursor(CursorText(many)), FailsWith(base::ErrorCode::kBadArgument));
}

}  // namespace
}  // namespace credbroker::audit
