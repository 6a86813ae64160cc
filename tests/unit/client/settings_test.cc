#include "client/settings.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "kit/status_matchers.h"

namespace credbroker::client {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;

TEST(SettingsTest, AddressesInTheirOrderOfPrecedence) {
  const Environment environment = {{"CREDBROKER_ADDRESS", "unix:/run/from-variable.sock"},
                                   {"CREDBROKER_TOKEN", "variable"}};
  struct Case {
    Flags flags;
    Environment environment;
    std::string address;
  };
  const Case cases[] = {
      {{}, {}, "unix:/var/lib/credbroker/run/api.sock"},
      {{}, environment, "unix:/run/from-variable.sock"},
      {{.address = "unix:/run/flag.sock"}, environment, "unix:/run/flag.sock"},
      {{.data_dir = "/srv/cb"}, environment, "unix:/srv/cb/run/api.sock"},
      {{.address = "Broker.Example:7443"}, environment, "broker.example:7443"},
      {{.address = "broker.example"}, {}, "broker.example:7443"},
  };
  for (const Case& c : cases) {
    ASSERT_OK_AND_ASSIGN(const Settings settings, ResolveSettings(c.flags, c.environment));
    EXPECT_EQ(settings.address, c.address);
  }
}

TEST(SettingsTest, AFlagForTheTokenWinsOverTheVariable) {
  ASSERT_OK_AND_ASSIGN(const Settings by_flag, ResolveSettings({.token = "flag"}, {{"CREDBROKER_TOKEN", "variable"}}));
  EXPECT_EQ(by_flag.token, "flag");
  EXPECT_TRUE(by_flag.token_by_flag);
  ASSERT_OK_AND_ASSIGN(const Settings by_variable, ResolveSettings({}, {{"CREDBROKER_TOKEN", "variable"}}));
  EXPECT_EQ(by_variable.token, "variable");
  EXPECT_FALSE(by_variable.token_by_flag);
}

TEST(SettingsTest, RefusesWhatIsNoAddress) {
  for (const char* address :
       {"unix:", "http://broker.example", "broker.example:0", "user@broker.example:1", "1.2.3:7443"}) {
    EXPECT_THAT(ResolveSettings({.address = address}, {}), FailsWith(ErrorCode::kBadArgument)) << address;
  }
  EXPECT_THAT(ResolveSettings({.address = "unix:/" + std::string(120, 'x')}, {}), FailsWith(ErrorCode::kBadArgument));
  EXPECT_THAT(ResolveSettings({.address = "unix:/a", .data_dir = "/b"}, {}), FailsWith(ErrorCode::kBadArgument));
}

class AccessFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "client-access-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    path_ = folder_ + "/admin.access";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& text, mode_t mode) {
    std::ofstream(path_) << text;
    chmod(path_.c_str(), mode);
  }
  std::string folder_, path_;
};

TEST_F(AccessFileTest, GivesAddressCaAndToken) {
  Write(R"({"address":"broker.example:7443","ca_pem":"PEM","token":"cba_x"})", 0600);
  ASSERT_OK_AND_ASSIGN(const Settings settings,
                       ResolveSettings({.access = path_}, {{"CREDBROKER_ADDRESS", "unix:/other"}}));
  EXPECT_EQ(settings.address, "broker.example:7443");
  EXPECT_EQ(settings.api_ca_pem, "PEM");
  EXPECT_EQ(settings.admin_token, "cba_x");
  EXPECT_FALSE(settings.local);
}

TEST_F(AccessFileTest, IsRefusedWhenOthersMayReadIt) {
  Write(R"({"address":"broker.example:7443","token":"cba_x"})", 0644);
  EXPECT_THAT(ResolveSettings({.access = path_}, {}), FailsWith(ErrorCode::kUnsafeFile));
}

TEST_F(AccessFileTest, IsRefusedWithoutAToken) {
  Write("[]", 0600);
  EXPECT_THAT(ResolveSettings({.access = path_}, {}), FailsWith(ErrorCode::kBadArgument));
  Write(R"({"token":7})", 0600);
  EXPECT_THAT(ResolveSettings({.access = path_}, {}), FailsWith(ErrorCode::kBadArgument));
}

}  // namespace
}  // namespace credbroker::client
