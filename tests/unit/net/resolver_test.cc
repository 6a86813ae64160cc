#include "net/resolver.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "harness.h"
#include "kit/status_matchers.h"
#include "net/listener.h"

namespace credbroker::net {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

using Answer = absl::StatusOr<std::vector<IpAddress>>;

// A name server on loopback that runs on the same loop. Answers questions of type A from a table; AAAA questions get an
// empty answer, unknown names NXDOMAIN, and a name that starts with "silent" none at all. Long answers need the same port in TCP.
class TestNameServer final : private EventHandler {
 public:
  explicit TestNameServer(Loop& loop)
      : loop_(loop), fd_(socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    port_ = ntohs(address.sin_port);
    loop_.Register(fd_.get(), this, Loop::Trigger::kLevelRead);
  }
  ~TestNameServer() { loop_.Unregister(fd_.get(), this); }

  void ServeTcpToo() {
    auto listener = Listener::Tcp(loop_, "127.0.0.1", port_, Listener::Sharing::kAlone, [this](Accepted accepted) {
      loop_.Spawn(ServeTcp(std::make_unique<Stream>(loop_, std::move(accepted.fd), accepted.peer)));
    });
    ASSERT_THAT(listener, IsOk());
    listener_ = *std::move(listener);
  }

  std::string Address() const { return "127.0.0.1:" + std::to_string(port_); }
  std::map<std::string, std::vector<uint32_t>> names;
  uint8_t ttl = 20;
  int a_questions = 0;

 private:
  void OnEvents(uint32_t) override {
    char question[512];
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const ssize_t got = recvfrom(fd_.get(), question, sizeof question, 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (got < 12) return;
    const std::string reply = Reply(std::string(question, static_cast<std::size_t>(got)));
    if (!reply.empty()) sendto(fd_.get(), reply.data(), reply.size(), 0, reinterpret_cast<sockaddr*>(&from), size);
  }

  base::Task<void> ServeTcp(std::unique_ptr<Stream> stream) {
    while (true) {
      const Received length = co_await ReadExactly(stream.get(), 2);
      if (length.end != Io::kOk) co_return;
      const std::size_t size = static_cast<uint8_t>(length.bytes[0]) * 256u + static_cast<uint8_t>(length.bytes[1]);
      const Received question = co_await ReadExactly(stream.get(), size);
      if (question.end != Io::kOk) co_return;
      const std::string reply = Reply(question.bytes);
      const std::string head = {static_cast<char>(reply.size() >> 8), static_cast<char>(reply.size())};
      const Io io = co_await WriteAll(stream.get(), head + reply);
      if (io != Io::kOk) co_return;
    }
  }

  std::string Reply(const std::string& question) {
    std::string name;
    std::size_t at = 12;
    while (question[at] != 0) {
      if (!name.empty()) name += '.';
      name += question.substr(at + 1, static_cast<uint8_t>(question[at]));
      at += 1 + static_cast<uint8_t>(question[at]);
    }
    const bool is_a = question[at + 2] == 1;
    a_questions += is_a ? 1 : 0;
    if (name.starts_with("silent")) return {};
    const auto found = names.find(name);
    std::string reply = question.substr(0, 2) + std::string("\x81\x80", 2);
    if (found == names.end()) reply[3] = static_cast<char>(0x83);
    const std::size_t count = found == names.end() || !is_a ? 0 : found->second.size();
    reply +=
        std::string("\0\1\0", 3) + static_cast<char>(count) + std::string(4, '\0') + question.substr(12, at + 5 - 12);
    for (std::size_t i = 0; i < count; ++i) {
      reply += std::string("\xc0\x0c\0\1\0\1\0\0\0", 9) + static_cast<char>(ttl) + std::string("\0\4", 2);
      for (int shift = 24; shift >= 0; shift -= 8) reply += static_cast<char>(found->second[i] >> shift);
    }
    return reply;
  }

  Loop& loop_;
  base::Fd fd_;
  uint16_t port_ = 0;
  std::unique_ptr<Listener> listener_;
};

base::Task<void> ResolveInto(Loop* loop, Resolver* resolver, std::string host, absl::Duration limit, Answer* out) {
  *out = co_await resolver->Resolve(host, loop->After(limit));
}

Answer Ask(Loop& loop, Resolver& resolver, const std::string& host, absl::Duration limit = absl::Seconds(20)) {
  Answer answer;
  loop.Spawn(ResolveInto(&loop, &resolver, host, limit, &answer));
  EXPECT_TRUE(RunAll(loop));
  return answer;
}

std::vector<std::string> Texts(const Answer& answer) {
  std::vector<std::string> texts;
  if (answer.ok()) {
    for (const IpAddress& address : *answer) texts.push_back(address.Text());
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(ResolverTest, LocalhostComesFromTheHostsFile) {
  Loop loop(base::SystemClock());
  SystemResolver resolver(loop);
  const Answer answer = Ask(loop, resolver, "localhost");
  ASSERT_THAT(answer, IsOk());
  for (const std::string& text : Texts(answer)) EXPECT_TRUE(text == "127.0.0.1" || text == "::1") << text;
}

TEST(ResolverTest, LiteralsAreNotAskedFor) {
  Loop loop(base::SystemClock());
  SystemResolver resolver(loop);
  EXPECT_EQ(Texts(Ask(loop, resolver, "192.0.2.1")), (std::vector<std::string>{"192.0.2.1"}));
  EXPECT_EQ(Texts(Ask(loop, resolver, "2001:db8::1")), (std::vector<std::string>{"2001:db8::1"}));
}

class NameServerTest : public testing::Test {
 protected:
  static SystemResolver::Options Using(const TestNameServer& server) {
    SystemResolver::Options options;
    options.servers = server.Address();
    options.hosts_file = false;
    return options;
  }
};

TEST_F(NameServerTest, GivesAllAddressesAndKeepsThemForTheirTtl) {
  base::FakeClock clock;
  Loop loop(clock);
  TestNameServer server(loop);
  server.names["multi.test"] = {0xCB007105, 0x0A000001};
  SystemResolver resolver(loop, Using(server));
  const std::vector<std::string> expected = {"10.0.0.1", "203.0.113.5"};
  EXPECT_EQ(Texts(Ask(loop, resolver, "multi.test")), expected);
  EXPECT_EQ(Texts(Ask(loop, resolver, "multi.test")), expected);
  EXPECT_EQ(server.a_questions, 1);
  clock.Advance(absl::Seconds(21));
  loop.RunOnce(absl::ZeroDuration());
  EXPECT_EQ(Texts(Ask(loop, resolver, "multi.test")), expected);
  EXPECT_EQ(server.a_questions, 2);
  resolver.Forget();
  EXPECT_THAT(Ask(loop, resolver, "multi.test"), IsOk());
  EXPECT_EQ(server.a_questions, 3);
}

TEST_F(NameServerTest, LongTtlsAreCutAndZeroIsNotKept) {
  base::FakeClock clock;
  Loop loop(clock);
  TestNameServer server(loop);
  server.names["up.test"] = {0xCB007105};
  SystemResolver resolver(loop, Using(server));
  server.ttl = 255;
  EXPECT_THAT(Ask(loop, resolver, "up.test"), IsOk());
  clock.Advance(absl::Seconds(31));
  loop.RunOnce(absl::ZeroDuration());
  server.ttl = 0;
  EXPECT_THAT(Ask(loop, resolver, "up.test"), IsOk());
  EXPECT_EQ(server.a_questions, 2);
  server.names["up.test"] = {0xA9FEA9FE};  // B69: the next answer is another one
  EXPECT_EQ(Texts(Ask(loop, resolver, "up.test")), (std::vector<std::string>{"169.254.169.254"}));
  EXPECT_EQ(server.a_questions, 3);
}

TEST_F(NameServerTest, AnswersOfMoreThan64AddressesAreRefused) {
  Loop loop(base::SystemClock());
  TestNameServer server(loop);
  server.ServeTcpToo();
  for (uint32_t i = 0; i < 64; ++i) server.names["many.test"].push_back(0xCB007100 + i);
  server.names["more.test"] = server.names["many.test"];
  server.names["more.test"].push_back(0xCB007140);
  SystemResolver resolver(loop, Using(server));
  EXPECT_EQ(Texts(Ask(loop, resolver, "many.test")).size(), 64u);
  EXPECT_THAT(Ask(loop, resolver, "more.test"), FailsWith(ErrorCode::kUpstreamUnresolved));
}

TEST_F(NameServerTest, AnswersOf1024NamesAreKept) {
  Loop loop(base::SystemClock());
  TestNameServer server(loop);
  server.ttl = 255;
  SystemResolver resolver(loop, Using(server));
  const auto name = [](int i) { return "n" + std::to_string(10'000 + i) + ".test"; };
  for (int i = 0; i < 1024; ++i) {
    server.names[name(i)] = {0xCB007105};
    ASSERT_THAT(Ask(loop, resolver, name(i)), IsOk());
  }
  EXPECT_EQ(server.a_questions, 1024);
  EXPECT_THAT(Ask(loop, resolver, name(0)), IsOk());
  EXPECT_EQ(server.a_questions, 1024);
  server.names["z.test"] = {0xCB007105};
  EXPECT_THAT(Ask(loop, resolver, "z.test"), IsOk());  // pushes one out
  EXPECT_THAT(Ask(loop, resolver, name(0)), IsOk());
  EXPECT_EQ(server.a_questions, 1026);
}

TEST_F(NameServerTest, QuestionsForOneNameAreAskedOnce) {
  Loop loop(base::SystemClock());
  TestNameServer server(loop);
  server.names["up.test"] = {0xCB007105};
  SystemResolver resolver(loop, Using(server));
  std::vector<Answer> answers(100);
  for (Answer& answer : answers) loop.Spawn(ResolveInto(&loop, &resolver, "up.test", absl::Seconds(20), &answer));
  ASSERT_TRUE(RunAll(loop));
  for (const Answer& answer : answers) EXPECT_EQ(Texts(answer), (std::vector<std::string>{"203.0.113.5"}));
  EXPECT_EQ(server.a_questions, 1);
}

TEST_F(NameServerTest, UnknownAndOddNamesFail) {
  Loop loop(base::SystemClock());
  TestNameServer server(loop);
  server.names["up.test"] = {0xCB007105};
  SystemResolver resolver(loop, Using(server));
  EXPECT_THAT(Ask(loop, resolver, "none.test"), FailsWith(ErrorCode::kUpstreamUnresolved));
  EXPECT_THAT(Ask(loop, resolver, std::string("up.test\0.evil.test", 18)), FailsWith(ErrorCode::kUpstreamUnresolved));
  EXPECT_THAT(Ask(loop, resolver, ""), FailsWith(ErrorCode::kUpstreamUnresolved));
  EXPECT_THAT(Ask(loop, resolver, std::string(254, 'a')), FailsWith(ErrorCode::kUpstreamUnresolved));
}

TEST_F(NameServerTest, ASilentServerEndsAtTheDeadlineAndTheResolverMayDieMeanwhile) {
  base::FakeClock clock;
  Loop loop(clock);
  TestNameServer server(loop);
  auto resolver = std::make_unique<SystemResolver>(loop, Using(server));
  Answer slow, orphan;
  loop.Spawn(ResolveInto(&loop, resolver.get(), "silent.test", absl::Seconds(1), &slow));
  loop.Spawn(ResolveInto(&loop, resolver.get(), "silent2.test", absl::Hours(1), &orphan));
  loop.RunOnce(absl::Milliseconds(5));
  clock.Advance(absl::Seconds(2));
  loop.RunOnce(absl::ZeroDuration());
  EXPECT_THAT(slow, FailsWith(ErrorCode::kUpstreamTimeout));
  resolver.reset();
  ASSERT_TRUE(RunAll(loop));
  EXPECT_THAT(orphan, FailsWith(ErrorCode::kUpstreamUnresolved));
}

TEST(ResolverTest, ServersThatCannotBeReadFailClosed) {
  Loop loop(base::SystemClock());
  SystemResolver::Options options;
  options.servers = "not a server";
  SystemResolver resolver(loop, options);
  EXPECT_THAT(Ask(loop, resolver, "up.test"), FailsWith(ErrorCode::kUpstreamUnresolved));
  EXPECT_THAT(Ask(loop, resolver, "up.test"), FailsWith(ErrorCode::kUpstreamUnresolved));
}

}  // namespace
}  // namespace credbroker::net
