#include "net/listener.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "harness.h"
#include "kit/status_matchers.h"
#include "net/dial.h"
#include "net/os.h"

namespace credbroker::net {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

class TempFolder {
 public:
  TempFolder() : path_(testing::TempDir() + "net_XXXXXX") { EXPECT_NE(mkdtemp(path_.data()), nullptr); }
  ~TempFolder() { rmdir(path_.c_str()); }
  std::string File(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

base::Task<void> DialUnixInto(Loop* loop, std::string path, std::unique_ptr<Stream>* out, absl::Status* status) {
  auto dialled = co_await DialUnix(*loop, path, Soon(*loop));
  *status = dialled.status();
  if (dialled.ok()) *out = *std::move(dialled);
}

TEST(ListenerTest, EphemeralPortIsKnownAndATakenPortIsRefused) {
  Loop loop(base::SystemClock());
  ASSERT_OK_AND_ASSIGN(auto first, Listener::Tcp(loop, "127.0.0.1", 0, Listener::Sharing::kAlone, [](Accepted) {}));
  EXPECT_GT(first->port(), 0);
  EXPECT_EQ(first->endpoint().Text(), "127.0.0.1:" + std::to_string(first->port()));
  EXPECT_THAT(Listener::Tcp(loop, "127.0.0.1", first->port(), Listener::Sharing::kAlone, [](Accepted) {}),
              FailsWith(ErrorCode::kPortInUse));
  EXPECT_THAT(Listener::Tcp(loop, "localhost", 0, Listener::Sharing::kAlone, [](Accepted) {}),
              FailsWith(ErrorCode::kConfigInvalid));
}

TEST(ListenerTest, LoopsMayShareAPort) {
  Loop loop(base::SystemClock());
  ASSERT_OK_AND_ASSIGN(auto first, Listener::Tcp(loop, "127.0.0.1", 0, Listener::Sharing::kShared, [](Accepted) {}));
  EXPECT_THAT(Listener::Tcp(loop, "127.0.0.1", first->port(), Listener::Sharing::kShared, [](Accepted) {}), IsOk());
}

TEST(ListenerTest, UnixSocketHasItsModeAndKnowsThePeer) {
  const TempFolder folder;
  const std::string path = folder.File("s");
  Loop loop(base::SystemClock());
  std::vector<Accepted> accepted;
  const mode_t umask_before = umask(0);
  auto listener = Listener::Unix(loop, path, 0600, [&](Accepted a) { accepted.push_back(std::move(a)); });
  umask(umask_before);
  ASSERT_THAT(listener, IsOk());
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  std::unique_ptr<Stream> client;
  absl::Status status;
  loop.Spawn(DialUnixInto(&loop, path, &client, &status));
  ASSERT_TRUE(RunUntil(loop, [&] { return accepted.size() == 1 && loop.task_count() == 0; }));
  EXPECT_THAT(status, IsOk());
  EXPECT_EQ(accepted[0].peer_uid, getuid());
  EXPECT_EQ(accepted[0].peer_pid, getpid());
  EXPECT_EQ(accepted[0].peer.Text(), "unix:" + path);

  EXPECT_THAT(Listener::Unix(loop, path, 0600, [](Accepted) {}), FailsWith(ErrorCode::kPortInUse));
  listener->reset();
  EXPECT_NE(stat(path.c_str(), &info), 0);
}

TEST(ListenerTest, AStaleSocketFileIsReplacedAndOtherFilesAreNot) {
  const TempFolder folder;
  const std::string path = folder.File("s");
  Loop loop(base::SystemClock());
  {
    ASSERT_OK_AND_ASSIGN(auto listener, Listener::Unix(loop, path, 0600, [](Accepted) {}));
    ASSERT_EQ(rename(path.c_str(), folder.File("stale").c_str()), 0);  // survives the listener
  }
  ASSERT_EQ(rename(folder.File("stale").c_str(), path.c_str()), 0);
  {
    EXPECT_THAT(Listener::Unix(loop, path, 0600, [](Accepted) {}), IsOk());
  }
  const base::Fd file(open(path.c_str(), O_CREAT | O_WRONLY, 0600));
  EXPECT_THAT(Listener::Unix(loop, path, 0600, [](Accepted) {}), FailsWith(ErrorCode::kPortInUse));
  unlink(path.c_str());
  EXPECT_THAT(Listener::Unix(loop, std::string(200, 'x'), 0600, [](Accepted) {}), FailsWith(ErrorCode::kConfigInvalid));
}

TEST(ListenerTest, TheCallbackMayDestroyTheListener) {
  Loop loop(base::SystemClock());
  std::unique_ptr<Listener> listener;
  int count = 0;
  auto made = Listener::Tcp(loop, "127.0.0.1", 0, Listener::Sharing::kAlone, [&](Accepted) {
    ++count;
    listener.reset();
  });
  ASSERT_THAT(made, IsOk());
  listener = *std::move(made);
  SystemResolver resolver(loop);
  auto dial = [](Loop* l, Resolver* r, uint16_t port, const std::vector<Cidr>* allowed) -> base::Task<void> {
    auto dialled = co_await Dial(*l, *r, {"127.0.0.1", port}, AddressGuard{*allowed, nullptr}, Soon(*l));
    EXPECT_THAT(dialled, IsOk());
  };
  const std::vector<Cidr> allowed = {*Cidr::Parse("127.0.0.0/8")};
  loop.Spawn(dial(&loop, &resolver, listener->port(), &allowed));
  ASSERT_TRUE(RunUntil(loop, [&] { return count == 1 && loop.task_count() == 0; }));
}

TEST(ListenerTest, OutOfDescriptorsPausesInsteadOfSpinning) {
  base::FakeClock clock;
  Loop loop(clock);
  int accepted = 0;
  ASSERT_OK_AND_ASSIGN(auto listener,
                       Listener::Tcp(loop, "127.0.0.1", 0, Listener::Sharing::kAlone, [&](Accepted) { ++accepted; }));
  SystemResolver resolver(loop);
  const std::vector<Cidr> allowed = {*Cidr::Parse("127.0.0.0/8")};
  std::unique_ptr<Stream> client;
  auto dial = [](Loop* l, Resolver* r, uint16_t port, const std::vector<Cidr>* names,
                 std::unique_ptr<Stream>* out) -> base::Task<void> {
    auto dialled = co_await Dial(*l, *r, {"127.0.0.1", port}, AddressGuard{*names, nullptr}, Deadline::Never());
    if (dialled.ok()) *out = *std::move(dialled);
  };
  loop.Spawn(dial(&loop, &resolver, listener->port(), &allowed, &client));
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;  // descriptors that are open stay usable
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  for (int i = 0; i < 5; ++i) loop.RunOnce(absl::Milliseconds(1));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(accepted, 0);
  for (int i = 0; i < 5; ++i) loop.RunOnce(absl::Milliseconds(1));
  EXPECT_EQ(accepted, 0);  // pausing
  clock.Advance(absl::Seconds(2));
  ASSERT_TRUE(RunUntil(loop, [&] { return accepted == 1; }));
}

TEST(OsTest, FileLimitRisesToWhatIsWanted) {
  ASSERT_OK_AND_ASSIGN(const uint64_t limit, RaiseFileLimit(256));
  EXPECT_GE(limit, 256u);
}

TEST(OsTest, LocalAddressesHoldLoopback) {
  const auto addresses = LocalAddresses();
  EXPECT_NE(std::find(addresses.begin(), addresses.end(), *IpAddress::Parse("127.0.0.1")), addresses.end());
}

}  // namespace
}  // namespace credbroker::net
