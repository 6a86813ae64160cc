#include <optional>
#include <string>

#include "edge/websocket.h"
#include "kit/status_matchers.h"
#include "unit/edge/two_ends.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using namespace std::string_literals;

// A WebSocket between two sockets of the test, on a clock of the test.
class CarryTest : public TwoEnds {
 protected:
  ~CarryTest() override { Turn(); }

  void Start(const gate::Lease* lease = nullptr) {
    loop_.Spawn(Carry(lease));
    Turn();
  }
  base::Task<void> Carry(const gate::Lease* lease) {
    const auto meter = [this](int64_t bytes) { return (budget_ -= bytes) >= 0; };
    const WebSocketEnd end = co_await CarryWebSocket(*client_, *upstream_, lease, meter, options_);
    end_ = end;
  }

  std::optional<WebSocketEnd> end_;
  int64_t budget_ = 1 << 30;
};

TEST_F(CarryTest, EndsWhenTheSessionHasMovedWhatItMay) {
  budget_ = 10;
  Start();
  Say(client_end_, "123456");
  EXPECT_EQ(Hear(upstream_end_), "123456");
  EXPECT_FALSE(end_.has_value());
  Say(upstream_end_, "12345");
  Turn();
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->error, ErrorCode::kByteLimit);
}

TEST_F(CarryTest, CarriesBothWaysAndCounts) {
  Say(client_end_, "early");  // sent with the handshake
  EXPECT_EQ(client_->Fill(100).io, net::Io::kOk);
  Start();
  EXPECT_EQ(Hear(upstream_end_), "early");
  Say(upstream_end_, "answer");
  EXPECT_EQ(Hear(client_end_), "answer");
  client_end_ = base::Fd();
  Turn();
  EXPECT_EQ(Hear(upstream_end_), "<end>");
  EXPECT_FALSE(end_.has_value());
  upstream_end_ = base::Fd();
  Turn();
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->error, ErrorCode::kNone);
  EXPECT_EQ(end_->bytes_up, 5);
  EXPECT_EQ(end_->bytes_down, 6);
}

TEST_F(CarryTest, SilenceBelowTheLimitIsFineAndAtItEnds) {
  Start();
  for (int i = 0; i < 3; ++i) {
    Pass(options_.stream_idle - absl::Seconds(1));
    ASSERT_FALSE(end_.has_value());
    Say(i % 2 == 0 ? client_end_ : upstream_end_, "\x89\0"s);
  }
  Pass(options_.stream_idle + absl::Seconds(1));
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->error, ErrorCode::kUpstreamTimeout);
}

TEST_F(CarryTest, AfterOneSideHasEndedTheOtherMayFinish) {
  Start();
  shutdown(client_end_.get(), SHUT_WR);
  Turn();
  EXPECT_EQ(Hear(upstream_end_), "<end>");
  for (int i = 0; i < 5; ++i) {
    Pass(options_.close_wait - absl::Seconds(1));
    Say(upstream_end_, "more");
    EXPECT_EQ(Hear(client_end_), "more");
  }
  ASSERT_FALSE(end_.has_value());
  Pass(options_.close_wait + absl::Seconds(1));
  ASSERT_TRUE(end_.has_value()) << "an upstream that ignores the end";
  EXPECT_EQ(end_->error, ErrorCode::kNone);
}

TEST_F(CarryTest, TheUpstreamsEndReachesTheClientWhichMayFinish) {
  Start();
  Say(upstream_end_, "bye");
  shutdown(upstream_end_.get(), SHUT_WR);
  Turn();
  EXPECT_EQ(Hear(client_end_), "bye<end>");
  Say(client_end_, "bye too");
  EXPECT_EQ(Hear(upstream_end_), "bye too");
  ASSERT_FALSE(end_.has_value());
  Pass(options_.close_wait + absl::Seconds(1));
  EXPECT_TRUE(end_.has_value());
}

TEST_F(CarryTest, AnAbortedClientEndsItAtOnce) {
  Start();
  client_->Abort();
  Turn();
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->error, ErrorCode::kTokenRevoked);
}

TEST_F(CarryTest, ASlowReaderHoldsBackTheOtherSideOnly) {
  Start();
  const std::string block(64 * 1024, 'x');
  std::size_t sent = 0;
  for (int idle = 0; idle < 20;) {
    const ssize_t n = send(upstream_end_.get(), block.data(), block.size(), MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<std::size_t>(n);
    idle = n > 0 ? 0 : idle + 1;
    Turn();
    ASSERT_LT(sent, 8u << 20);
  }
  EXPECT_LE(client_->pending(), options_.high_water + options_.body_block);
  Say(client_end_, "still heard");
  EXPECT_EQ(Hear(upstream_end_), "still heard");
  std::string all;
  for (int i = 0; i < 1000 && all.size() < sent; ++i) {
    all += Hear(client_end_);
    Turn();
  }
  EXPECT_EQ(all, std::string(sent, 'x'));
}

TEST_F(CarryTest, WithALeaseOnlyFramesPassAndTheSecretDoesNot) {
  gate::Lease lease;
  lease.secret = base::Secret::Copy("s3cr3t-0123456789-abcdef");
  auto set = rewrite::ScrubSet::Make({{&lease.secret, ""}});
  ASSERT_THAT(set, testing_kit::IsOk());
  lease.scrub = *set;
  Start(&lease);
  Say(upstream_end_, "\x81\x1As3cr3t-01234");
  EXPECT_EQ(Hear(client_end_), "\x81\x1A");
  Say(upstream_end_, "56789-abcdef..");
  EXPECT_EQ(Hear(client_end_), "************************..");
  Say(upstream_end_, "\x81\1s");
  EXPECT_EQ(Hear(client_end_), "\x81\1s") << "a whole message does not wait";
  Say(upstream_end_, "\xC1\5hello");
  ASSERT_TRUE(end_.has_value());
  EXPECT_EQ(end_->error, ErrorCode::kUpstreamMalformed);
  EXPECT_EQ(Hear(client_end_), "");
}

}  // namespace
}  // namespace credbroker::edge
