#include "client/doctor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/id.h"

namespace credbroker::client {
namespace {

namespace fs = std::filesystem;

const absl::Time kNow = absl::FromUnixSeconds(1'800'000'000);  // 2027-01-15

// A data folder as the broker makes it, to be spoiled one thing at a time.
class DoctorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    places_.data_dir = ::testing::TempDir() + base::RandomId("doctor-");
    places_.runtime_sockets.clear();
    Folder("", 0711);
    for (const char* name : {"keys", "store", "admin"}) Folder(name, 0700);
    Folder("run", 0755);
    Folder("pki", 0700);
    File("keys/master.key", 0600);
    File("admin/admin.access", 0600);
    File("store/broker.db", 0600);
    Socket("run/api.sock", 0666);
  }
  void TearDown() override { fs::remove_all(places_.data_dir); }

  std::string At(const std::string& name) const { return places_.data_dir + "/" + name; }
  void Folder(const std::string& name, mode_t mode) {
    mkdir(At(name).c_str(), mode);
    chmod(At(name).c_str(), mode);
  }
  void File(const std::string& name, mode_t mode) {
    std::ofstream(At(name)) << "x";
    chmod(At(name).c_str(), mode);
  }
  void Socket(const std::string& name, mode_t mode) {
    const base::Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    At(name).copy(address.sun_path, sizeof address.sun_path - 1);
    ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0) << At(name);
    chmod(At(name).c_str(), mode);
  }
  Diagnosis Find(const std::string& id) const {
    for (const Diagnosis& one : ExamineFolder(places_, kNow)) {
      if (one.id == id) return one;
    }
    return {id, Severity::kGood, "not there", ""};
  }
  void ExpectFault(const std::string& id, const std::string& word) const {
    const Diagnosis one = Find(id);
    EXPECT_EQ(one.severity, Severity::kFault) << one.found;
    EXPECT_NE(one.found.find(word), std::string::npos) << one.found;
    EXPECT_FALSE(one.fix.empty());
  }

  DoctorPlaces places_;
};

TEST_F(DoctorTest, AFolderAsItShouldBeIsGood) {
  EXPECT_EQ(Find("data.modes").severity, Severity::kGood) << Find("data.modes").found;
  EXPECT_EQ(Find("api.socket").severity, Severity::kGood);
  EXPECT_EQ(Find("runtime.socket").severity, Severity::kGood);
}

TEST_F(DoctorTest, OthersMustNotReadKeysOrStore) {
  for (const char* name : {"keys/master.key", "admin/admin.access", "store/broker.db"}) {
    chmod(At(name).c_str(), 0640);
    ExpectFault("data.modes", name);
    chmod(At(name).c_str(), 0600);
  }
  chmod(At("keys").c_str(), 0711);
  ExpectFault("data.modes", "keys has mode 0711");
  chmod(At("keys").c_str(), 0700);
  chmod(At("").c_str(), 0777);
  ExpectFault("data.modes", "0777");
}

TEST_F(DoctorTest, AMissingMasterKeyIsAFault) {
  fs::remove(At("keys/master.key"));
  ExpectFault("data.modes", "master.key is missing");
}

TEST_F(DoctorTest, TheApiSocketIsASocket) {
  fs::remove(At("run/api.sock"));
  EXPECT_EQ(Find("api.socket").severity, Severity::kWarning);
  File("run/api.sock", 0600);
  ExpectFault("api.socket", "no socket");
}

TEST_F(DoctorTest, AFolderThatIsNoneIsTheOnlyFinding) {
  places_.data_dir += "/nowhere";
  const auto all = ExamineFolder(places_, kNow);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].id, "data.folder");
  EXPECT_EQ(all[0].severity, Severity::kFault);
}

TEST_F(DoctorTest, AnOpenRuntimeSocketIsAFaultS68) {
  Socket("docker.sock", 0660);
  places_.runtime_sockets = {At("docker.sock")};
  EXPECT_EQ(Find("runtime.socket").severity, Severity::kGood);
  chmod(At("docker.sock").c_str(), 0666);
  ExpectFault("runtime.socket", "docker.sock");
}

TEST_F(DoctorTest, ACaThatCannotBeReadIsTold) {
  EXPECT_EQ(Find("ca.expiry").severity, Severity::kWarning);
}

struct Online : ::testing::Test {
  Json status = {{"ledger_ok", true}, {"edges", {{{"id", "edge"}, {"connected", true}, {"ledger_ok", true}}}}, {"listeners", {"proxy http://127.0.0.1:7480", "api https://0.0.0.0:7443"}},
                 {"warnings", Json::array()}, {"scopes", {"web"}}};
  Json exceptions = Json::array();
  Json sessions = {{{"id", "s-1"}, {"scopes", {"web"}}}};
  Json versions = {{{"version", 3}, {"applied_at", "2027-01-01T00:00:00Z"}}};

  Severity Of(const std::string& id) const {
    for (const Diagnosis& one : ExamineBroker(status, exceptions, sessions, versions, kNow)) {
      if (one.id != id) continue;
      EXPECT_EQ(one.fix.empty(), one.severity == Severity::kGood) << id;
      return one.severity;
    }
    ADD_FAILURE() << "no check " << id;
    return Severity::kFault;
  }
};

TEST_F(Online, AWellBrokerIsGood) {
  for (const Diagnosis& one : ExamineBroker(status, exceptions, sessions, versions, kNow)) EXPECT_EQ(one.severity, Severity::kGood) << one.id << " " << one.found;
}

TEST_F(Online, EachFaultIsFound) {
  status["ledger_ok"] = false;
  EXPECT_EQ(Of("broker.ledger"), Severity::kFault);
  status["edges"][0]["ledger_ok"] = false;
  EXPECT_EQ(Of("edge.ledger"), Severity::kFault);
  status["edges"][0]["connected"] = false;
  EXPECT_EQ(Of("edge.connected"), Severity::kFault);
  status["listeners"].push_back("proxy http://10.0.0.1:7480");
  EXPECT_EQ(Of("listeners.loopback"), Severity::kWarning);
  status["warnings"].push_back("secret bot is named by the policy, but not set");
  EXPECT_EQ(Of("broker.warnings"), Severity::kWarning);
  status["scopes"].push_back("docs");
  EXPECT_EQ(Of("scopes.unused"), Severity::kNote);
  versions[0]["applied_at"] = "2026-01-01T00:00:00Z";
  EXPECT_EQ(Of("policy.age"), Severity::kNote);
  versions = Json::array();
  EXPECT_EQ(Of("policy.age"), Severity::kWarning);
}

TEST_F(Online, ExceptionsThatEndSoonAreTold) {
  exceptions = {{{"id", "EX-1"}, {"state", "active"}, {"expires", "2027-01-20T00:00:00Z"}}};
  EXPECT_EQ(Of("exceptions.expiry"), Severity::kWarning);
  exceptions[0]["expires"] = "2027-06-20T00:00:00Z";
  EXPECT_EQ(Of("exceptions.expiry"), Severity::kGood);
  exceptions[0]["state"] = "expired";
  EXPECT_EQ(Of("exceptions.expiry"), Severity::kNote);
}

}  // namespace
}  // namespace credbroker::client
