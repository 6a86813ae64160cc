#include "net/send_ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "harness.h"

namespace credbroker::net {
namespace {

struct Pair {
  Pair() {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    near = base::Fd(fds[0]);
    far = base::Fd(fds[1]);
  }
  std::string Received() const {
    std::string text(1 << 20, '\0');
    const ssize_t got = read(far.get(), text.data(), text.size());
    text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return text;
  }
  base::Fd near, far;
};

class SendRingTest : public testing::Test {
 protected:
  SendRingTest() {
    if (ring_ == nullptr) std::cout << "this kernel has no io_uring, or forbids it: only SendsTest looks at how streams send\n";
  }
  const std::unique_ptr<SendRing> ring_ = SendRing::Create();
};

TEST_F(SendRingTest, EachSendHasItsOwnResult) {
  if (ring_ == nullptr) return;
  const std::vector<Pair> pairs(SendRing::kMaxBatch);
  // More rounds than the ring has places, so that its indices go round.
  for (int round = 0; round < 5; ++round) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < pairs.size(); ++i) texts.push_back(std::string(i + 1, static_cast<char>('a' + round)));
    std::vector<SendRing::Send> sends;
    for (std::size_t i = 0; i < pairs.size(); ++i) sends.push_back({pairs[i].near.get(), texts[i], 0});
    ring_->Run(sends);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      EXPECT_EQ(sends[i].result, static_cast<int>(i + 1));
      EXPECT_EQ(pairs[i].Received(), texts[i]);
    }
  }
}

TEST_F(SendRingTest, FaultsAreThoseOfTheirSockets) {
  if (ring_ == nullptr) return;
  Pair good, gone, full;
  gone.far = base::Fd();
  const std::string block(1 << 20, 'x');
  while (send(full.near.get(), block.data(), block.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
  }
  std::vector<SendRing::Send> sends = {{gone.near.get(), "a", 0}, {full.near.get(), "b", 0}, {-1, "c", 0}, {good.near.get(), "d", 0}};
  ring_->Run(sends);
  EXPECT_EQ(sends[0].result, -EPIPE);
  EXPECT_EQ(sends[1].result, -EAGAIN);
  EXPECT_EQ(sends[2].result, -EBADF);
  EXPECT_EQ(sends[3].result, 1);
  EXPECT_EQ(good.Received(), "d");
}

TEST_F(SendRingTest, AFullSocketTakesWhatItCan) {
  if (ring_ == nullptr) return;
  const Pair pair;
  const std::string much(8 << 20, 'x');
  std::vector<SendRing::Send> sends = {{pair.near.get(), much, 0}};
  ring_->Run(sends);
  EXPECT_GT(sends[0].result, 0);
  EXPECT_LT(sends[0].result, static_cast<int>(much.size()));
}

// The kernel takes a ring's entries from its creator alone: anybody else's call fails, which stands for every failure.
TEST_F(SendRingTest, WhenTheKernelRefusesSendsGoOneByOne) {
  if (ring_ == nullptr) return;
  const Pair a, b;
  std::vector<SendRing::Send> sends = {{a.near.get(), "one", 0}, {b.near.get(), "two", 0}};
  std::thread([&] { ring_->Run(sends); }).join();
  EXPECT_EQ(sends[0].result, 3);
  EXPECT_EQ(sends[1].result, 3);
  sends[0].bytes = "three";
  ring_->Run(sends);
  EXPECT_EQ(sends[0].result, 5);
  EXPECT_EQ(a.Received(), "onethree");
  EXPECT_EQ(b.Received(), "twotwo");
}

class SendsTest : public testing::TestWithParam<Sends> {};
INSTANTIATE_TEST_SUITE_P(Both, SendsTest, testing::Values(Sends::kAtOnce, Sends::kOneByOne));

base::Task<void> Collect(Stream* stream, std::size_t size, Received* out) { *out = co_await ReadExactly(stream, size); }

TEST_P(SendsTest, WhatABatchWritesArrivesOnEachOf200Streams) {
  Loop loop(base::SystemClock(), GetParam());
  std::vector<std::unique_ptr<StreamPair>> pairs;
  for (int i = 0; i < 200; ++i) pairs.push_back(std::make_unique<StreamPair>(loop));
  const std::string much(3 << 20, 'm');
  pairs[7]->b.reset();  // its end has gone
  pairs[8]->a->Write(much);
  std::vector<Received> received(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    pairs[i]->a->Write("number ");
    pairs[i]->a->Write(std::to_string(i));
    if (i != 7) loop.Spawn(Collect(pairs[i]->b.get(), (i == 8 ? much.size() : 0) + 7 + std::to_string(i).size(), &received[i]));
  }
  ASSERT_TRUE(RunAll(loop));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    if (i == 7) continue;
    EXPECT_EQ(received[i].bytes, (i == 8 ? much : std::string()) + "number " + std::to_string(i));
  }
  EXPECT_EQ(pairs[7]->a->Write("more"), Io::kReset);
}

}  // namespace
}  // namespace credbroker::net
