#include "net/dial.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness.h"
#include "kit/status_matchers.h"
#include "net/listener.h"
#include "net/pool.h"
#include "pki.h"

namespace credbroker::net {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

IpAddress Ip(const char* text) { return *IpAddress::Parse(text); }

// Gives the queued answers in turn, the last one for ever.
class FakeResolver final : public Resolver {
 public:
  base::Task<absl::StatusOr<std::vector<IpAddress>>> Resolve(std::string, Deadline) override {
    ++asked;
    if (answers.empty()) co_return base::Error(ErrorCode::kUpstreamUnresolved, "nothing");
    const std::vector<IpAddress> answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    co_return answer;
  }
  std::deque<std::vector<IpAddress>> answers;
  int asked = 0;
};

base::Task<void> ReadInto(Stream* stream, std::size_t size, Received* out) {
  *out = co_await ReadExactly(stream, size);
}

class DialTest : public testing::Test {
 protected:
  DialTest() {
    auto listener = Listener::Tcp(loop_, "127.0.0.1", 0, Listener::Sharing::kAlone, [this](Accepted accepted) {
      accepted_.push_back(std::make_unique<Stream>(loop_, std::move(accepted.fd), accepted.peer));
    });
    EXPECT_THAT(listener, IsOk());
    listener_ = *std::move(listener);
  }

  static base::Task<void> DialInto(Loop* loop, Resolver* resolver, DialTarget target, AddressGuard guard,
                                   Deadline deadline, absl::Status* status, std::unique_ptr<Stream>* out) {
    auto dialled = co_await Dial(*loop, *resolver, target, guard, deadline);
    *status = dialled.status();
    if (dialled.ok()) *out = *std::move(dialled);
  }

  absl::Status TryDial(const std::string& host, uint16_t port, AddressGuard guard, std::unique_ptr<Stream>* out) {
    absl::Status status;
    loop_.Spawn(DialInto(&loop_, &resolver_, {host, port}, guard, Soon(loop_), &status, out));
    EXPECT_TRUE(RunAll(loop_));
    return status;
  }

  // A dialled connection and the other end of it.
  std::unique_ptr<Stream> Connection() {
    std::unique_ptr<Stream> stream;
    const std::size_t before = accepted_.size();
    EXPECT_THAT(TryDial("127.0.0.1", listener_->port(), local_, &stream), IsOk());
    EXPECT_TRUE(RunUntil(loop_, [&] { return accepted_.size() == before + 1; }));
    return stream;
  }

  Loop loop_{base::SystemClock()};
  FakeResolver resolver_;
  std::vector<std::unique_ptr<Stream>> accepted_;
  std::unique_ptr<Listener> listener_;
  std::vector<Cidr> loopback_ = {*Cidr::Parse("127.0.0.0/8")};
  AddressGuard local_{loopback_, nullptr};
};

TEST_F(DialTest, ConnectsToTheJudgedAddress) {
  std::unique_ptr<Stream> stream;
  resolver_.answers = {{Ip("127.0.0.1")}};
  EXPECT_THAT(TryDial("up.test", listener_->port(), local_, &stream), IsOk());
  ASSERT_NE(stream, nullptr);
  EXPECT_EQ(stream->peer().Text(), "127.0.0.1:" + std::to_string(listener_->port()));
}

TEST_F(DialTest, ASecondAnswerIsNeverAskedFor) {  // B69
  resolver_.answers = {{Ip("127.0.0.1")}, {Ip("169.254.169.254")}};
  std::unique_ptr<Stream> stream;
  EXPECT_THAT(TryDial("rebind.test", listener_->port(), local_, &stream), IsOk());
  EXPECT_EQ(resolver_.asked, 1);
  EXPECT_EQ(stream->peer().address, Ip("127.0.0.1"));
  EXPECT_THAT(TryDial("rebind.test", listener_->port(), local_, &stream),
              FailsWith(ErrorCode::kUpstreamAddressRefused));
}

TEST_F(DialTest, RefusedAnswersNeverReachTheSocket) {
  std::unique_ptr<Stream> stream;
  resolver_.answers = {{Ip("127.0.0.1")}};
  EXPECT_THAT(TryDial("inside.test", listener_->port(), {}, &stream), FailsWith(ErrorCode::kUpstreamAddressRefused));
  resolver_.answers = {{Ip("127.0.0.1"), Ip("10.0.0.1")}};  // mixed: one named, one not
  EXPECT_THAT(TryDial("mixed.test", listener_->port(), local_, &stream), FailsWith(ErrorCode::kUpstreamAddressRefused));
  EXPECT_THAT(TryDial("127.0.0.1", listener_->port(), {}, &stream), FailsWith(ErrorCode::kUpstreamAddressRefused));
  EXPECT_THAT(TryDial("::ffff:127.0.0.1", listener_->port(), {}, &stream),
              FailsWith(ErrorCode::kUpstreamAddressRefused));
  OwnListeners own;
  own.AddPort(listener_->port());
  EXPECT_THAT(TryDial("127.0.0.1", listener_->port(), {loopback_, &own}, &stream), FailsWith(ErrorCode::kLoop));
  for (int i = 0; i < 5; ++i) loop_.RunOnce(absl::Milliseconds(1));
  EXPECT_TRUE(accepted_.empty());
  resolver_.answers.clear();
  EXPECT_THAT(TryDial("none.test", 443, local_, &stream), FailsWith(ErrorCode::kUpstreamUnresolved));
}

TEST_F(DialTest, TheNextAddressIsTriedWhenOneRefuses) {
  std::unique_ptr<Stream> stream;
  resolver_.answers = {{Ip("127.0.0.9"), Ip("127.0.0.1")}};  // nobody listens on the first
  EXPECT_THAT(TryDial("two.test", listener_->port(), local_, &stream), IsOk());
  resolver_.answers = {{Ip("127.0.0.9")}};
  EXPECT_THAT(TryDial("dead.test", listener_->port(), local_, &stream), FailsWith(ErrorCode::kUpstreamUnreachable));
}

TEST_F(DialTest, EightAddressesAreTriedAndNoMore) {
  std::unique_ptr<Stream> stream;
  std::vector<IpAddress> answer;
  for (int i = 0; i < 7; ++i) answer.push_back(Ip(("127.0.0." + std::to_string(10 + i)).c_str()));  // nobody listens there
  answer.push_back(Ip("127.0.0.1"));
  resolver_.answers = {answer};
  EXPECT_THAT(TryDial("eight.test", listener_->port(), local_, &stream), IsOk());
  answer.insert(answer.begin(), Ip("127.0.0.9"));
  resolver_.answers = {answer};
  EXPECT_THAT(TryDial("nine.test", listener_->port(), local_, &stream), FailsWith(ErrorCode::kUpstreamUnreachable));
}

TEST_F(DialTest, AnAbortedConnectionIsResetSoThatWhatCameDoesNotLookWhole) {  // B53
  const std::unique_ptr<Stream> stream = Connection();
  ASSERT_EQ(stream->Write("part"), Io::kOk);
  Received received;
  loop_.Spawn(ReadInto(accepted_.back().get(), 100, &received));
  ASSERT_TRUE(RunUntil(loop_, [&] { return stream->pending() == 0 || received.bytes == "part"; }));
  stream->Abort();
  ASSERT_TRUE(RunAll(loop_));
  EXPECT_EQ(received.end, Io::kReset);
}

TEST_F(DialTest, FiveHundredConnectionsLeaveNoDescriptor) {  // B111
  { Connection(); }
  accepted_.clear();
  loop_.RunOnce(absl::ZeroDuration());
  const int before = OpenDescriptors();
  std::vector<std::unique_ptr<Stream>> streams;
  for (int i = 0; i < 500; ++i) streams.push_back(Connection());
  EXPECT_GE(OpenDescriptors(), before + 1000);
  streams.clear();
  accepted_.clear();
  EXPECT_EQ(OpenDescriptors(), before);
  EXPECT_EQ(loop_.task_count(), 0u);
}

TEST_F(DialTest, FiveHundredAbortedHandshakesLeaveNoDescriptor) {  // B111
  const TestCertificate root({.common_name = "root", .ca = true});
  const TestCertificate leaf({.dns = {"ok.test"}, .issuer = &root});
  const auto server = *TlsServerContext::Create(leaf.Pem(), leaf.KeyPem());
  TlsClientContext::Options options;
  options.system_roots = false;  // trusts nobody: the client ends the handshake after our certificate
  options.extra_roots_pem = leaf.Pem();
  const auto client = *TlsClientContext::Create(options);
  auto serve = [](std::unique_ptr<Stream> stream, std::shared_ptr<const TlsServerContext> context) -> base::Task<void> {
    const Io io = co_await stream->StartTlsServer(context, Soon(stream->loop()));
    EXPECT_NE(io, Io::kOk);
  };
  auto connect = [](std::unique_ptr<Stream> stream,
                    std::shared_ptr<const TlsClientContext> context) -> base::Task<void> {
    const Io io = co_await stream->StartTlsClient(context, "other.test", 443, Soon(stream->loop()));
    EXPECT_EQ(io, Io::kTls);
  };
  int before = 0;
  for (int i = 0; i < 550; ++i) {
    StreamPair pair(loop_);
    loop_.Spawn(serve(std::move(pair.b), server));
    loop_.Spawn(connect(std::move(pair.a), client));
    if (i % 50 != 49) continue;
    ASSERT_TRUE(RunAll(loop_));
    if (i == 49) before = OpenDescriptors();  // the loop has what it opens once
  }
  EXPECT_EQ(OpenDescriptors(), before);
}

// ---- pool

class PoolTest : public DialTest {
 protected:
  const PoolKey key_{"up.test", 443, 1};
};

TEST_F(PoolTest, LendsTheNewestOfTheSameKeyOnly) {
  Pool pool(loop_);
  auto one = Connection(), two = Connection();
  Stream* const newest = two.get();
  pool.Release(key_, std::move(one));
  pool.Release(key_, std::move(two));
  EXPECT_EQ(pool.idle_count(), 2u);
  EXPECT_EQ(pool.Acquire({"other.test", 443, 1}), nullptr);
  EXPECT_EQ(pool.Acquire({"up.test", 444, 1}), nullptr);
  EXPECT_EQ(pool.Acquire({"up.test", 443, 2}), nullptr);
  const auto lent = pool.Acquire(key_);
  EXPECT_EQ(lent.get(), newest);
  EXPECT_EQ(pool.idle_count(), 1u);
}

TEST_F(PoolTest, AConnectionThatEndsIsDroppedWhenItHappens) {
  Pool pool(loop_);
  pool.Release(key_, Connection());
  pool.Release(key_, Connection());
  accepted_[0].reset();
  ASSERT_TRUE(RunUntil(loop_, [&] { return pool.idle_count() == 1; }));
  EXPECT_NE(pool.Acquire(key_), nullptr);
  EXPECT_EQ(pool.Acquire(key_), nullptr);
}

TEST_F(PoolTest, AConnectionThatSpeaksUnaskedIsDropped) {
  Pool pool(loop_);
  pool.Release(key_, Connection());
  accepted_[0]->Write("HTTP/1.1 408 too slow\r\n\r\n");
  ASSERT_TRUE(RunUntil(loop_, [&] { return pool.idle_count() == 0; }));
  auto stream = Connection();
  accepted_[1]->Write("surplus");
  ASSERT_TRUE(RunUntil(loop_, [&] { return stream->Fill(100).io == Io::kOk; }));
  pool.Release(key_, std::move(stream));  // bytes behind the answer
  EXPECT_EQ(pool.idle_count(), 0u);
}

TEST_F(PoolTest, AnAbortedOrBrokenConnectionIsNotKept) {
  Pool pool(loop_);
  auto stream = Connection();
  stream->Abort();
  pool.Release(key_, std::move(stream));
  pool.Release(key_, nullptr);
  EXPECT_EQ(pool.idle_count(), 0u);
}

TEST_F(PoolTest, IdleConnectionsEndAfterTheirTimeAndTheLimitsHold) {
  base::FakeClock clock;
  Loop loop(clock);
  std::vector<std::unique_ptr<Stream>> others;
  Pool::Options options;
  options.max_idle_per_key = 2;
  options.max_idle = 3;
  Pool pool(loop, options);
  const auto connection = [&] {
    StreamPair pair(loop);
    others.push_back(std::move(pair.b));
    return std::move(pair.a);
  };
  for (int i = 0; i < 3; ++i) pool.Release(key_, connection());
  EXPECT_EQ(pool.idle_count(), 2u);
  for (int i = 0; i < 2; ++i) pool.Release({"b.test", 443, 1}, connection());
  EXPECT_EQ(pool.idle_count(), 3u);
  clock.Advance(absl::Seconds(59));
  loop.RunOnce(absl::ZeroDuration());
  EXPECT_EQ(pool.idle_count(), 3u);
  clock.Advance(absl::Seconds(2));
  loop.RunOnce(absl::ZeroDuration());
  EXPECT_EQ(pool.idle_count(), 0u);
  EXPECT_EQ(pool.Acquire(key_), nullptr);
}

TEST_F(PoolTest, ALentConnectionWorksAndMayComeBack) {
  Pool pool(loop_);
  pool.Release(key_, Connection());
  for (int i = 0; i < 3; ++i) {
    auto stream = pool.Acquire(key_);
    ASSERT_NE(stream, nullptr);
    stream->Write("ping");
    Received received, echo;
    auto read = [](Stream* from, Received* out) -> base::Task<void> { *out = co_await ReadExactly(from, 4); };
    loop_.Spawn(read(accepted_[0].get(), &received));
    ASSERT_TRUE(RunAll(loop_));
    EXPECT_EQ(received.bytes, "ping");
    accepted_[0]->Write("pong");
    loop_.Spawn(read(stream.get(), &echo));
    ASSERT_TRUE(RunAll(loop_));
    EXPECT_EQ(echo.bytes, "pong");
    pool.Release(key_, std::move(stream));
    EXPECT_EQ(pool.idle_count(), 1u);
  }
}

}  // namespace
}  // namespace credbroker::net
