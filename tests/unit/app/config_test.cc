#include "app/config.h"

#include "app/listen_address.h"
#include "base/file.h"
#include "base/id.h"
#include "kit/status_matchers.h"

namespace credbroker::app {
namespace {

using base::ErrorCode;
using testing::HasSubstr;
using testing_kit::FailsWith;
using testing_kit::IsOk;

TEST(ConfigTest, ReadsEveryKey) {
  ASSERT_OK_AND_ASSIGN(
      const Config config,
      ParseConfig(R"(listen: {api: "127.0.0.1:1", proxy: "127.0.0.1:2", gateway: "127.0.0.1:3", health: "[::1]:0"}
data_dir: /srv/broker
policy: /etc/policy
durability: sync
edge: {enabled: false, user: edge, max_connections: 17, session_sockets: true}
log_level: warn
)",
                  "broker.yaml", {}));
  EXPECT_EQ(config.api, "127.0.0.1:1");
  EXPECT_EQ(config.proxy, "127.0.0.1:2");
  EXPECT_EQ(config.gateway, "127.0.0.1:3");
  EXPECT_EQ(config.health, "[::1]:0");
  EXPECT_EQ(config.data_dir, "/srv/broker");
  EXPECT_EQ(config.policy, "/etc/policy");
  EXPECT_EQ(config.durability, audit::Durability::kSync);
  EXPECT_FALSE(config.edge_enabled);
  EXPECT_EQ(config.edge_user, "edge");
  EXPECT_EQ(config.max_connections, 17);
  EXPECT_TRUE(config.session_sockets);
  EXPECT_EQ(config.log_level, "warn");
}

TEST(ConfigTest, AFileThatIsTooLargeIsRefused) {
  const std::string path = testing::TempDir() + base::RandomId("config-") + ".yaml";
  const auto read = [&](std::size_t bytes) {
    EXPECT_THAT(base::WriteFileAtomic(path, std::string(bytes, '#'), 0600), IsOk());
    return ReadConfig(path, {});
  };
  EXPECT_THAT(read(256 * 1024), IsOk());
  EXPECT_THAT(read(256 * 1024 + 1), FailsWith(ErrorCode::kTooLarge));
}

TEST(ConfigTest, AnEmptyFileKeepsTheDefaults) {
  ASSERT_OK_AND_ASSIGN(const Config config, ParseConfig("# nothing yet\n", "broker.yaml", {}));
  EXPECT_EQ(config.api, "127.0.0.1:7443");
  EXPECT_EQ(config.data_dir, "/var/lib/credbroker");
}

TEST(ConfigTest, ErrorsNameFileAndLine) {
  const struct {
    const char* what;
    const char* text;
    const char* expected;
  } kCases[] = {
      {"unknown key", "log_level: info\ndata_dirr: /x\n", "broker.yaml:2: unknown key `data_dirr`"},
      {"unknown inner key", "listen:\n  api: 127.0.0.1:1\n  grpc: x\n", "broker.yaml:3: unknown key `grpc`"},
      {"twice", "policy: /a\npolicy: /b\n", "broker.yaml:2: `policy` stands here twice"},
      {"bad address", "listen:\n  api: nowhere\n", "broker.yaml:2: "},
      {"host name", "listen:\n  api: broker.example:1\n", "broker.yaml:2: "},
      {"bad durability", "durability: maybe\n", "broker.yaml:1: "},
      {"bad flag", "edge:\n  enabled: yes please\n", "broker.yaml:2: true or false"},
      {"too few", "edge: {max_connections: 15}\n", "broker.yaml:1: a whole number from 16 to 30000"},
      {"too many", "edge: {max_connections: 30001}\n", "broker.yaml:1: a whole number"},
      {"no number", "edge:\n  max_connections: 1e3\n", "broker.yaml:2: a whole number"},
      {"a list", "- a\n", "broker.yaml:1: a mapping"},
      {"no YAML", "listen: {api: \n", "broker.yaml:"},
      {"bad level", "\n\nlog_level: loud\n", "broker.yaml:3: "},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.what);
    const auto parsed = ParseConfig(c.text, "broker.yaml", {});
    EXPECT_THAT(parsed, FailsWith(ErrorCode::kConfigInvalid));
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(c.expected));
  }
}

TEST(ListenAddressTest, TakesAddressesAndNoNames) {
  for (const char* good : {"127.0.0.1:0", "0.0.0.0:7443", "[::1]:80", "localhost:9"})
    EXPECT_THAT(ParseListenAddress(good), IsOk()) << good;
  for (const char* bad :
       {"", ":80", "127.0.0.1", "127.0.0.1:x", "127.0.0.1:70000", "host.example:1", "::1:80", "127.0.0.1:1:2"}) {
    EXPECT_THAT(ParseListenAddress(bad), FailsWith(ErrorCode::kConfigInvalid)) << bad;
  }
}

TEST(ListenAddressTest, APortInUseIsSaid) {
  ASSERT_OK_AND_ASSIGN(const base::Fd first, Listen({"127.0.0.1", 0}));
  EXPECT_THAT(Listen({"127.0.0.1", PortOf(first)}), FailsWith(ErrorCode::kPortInUse));
}

}  // namespace
}  // namespace credbroker::app
