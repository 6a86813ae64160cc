#include "net/stream.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <string>

#include "harness.h"
#include "kit/status_matchers.h"

namespace credbroker::net {
namespace {

using testing_kit::FailsWith;
using testing_kit::IsOk;

constexpr absl::Duration kNoWait = absl::ZeroDuration();

base::Task<void> ReadInto(Stream* stream, std::size_t size, Received* out) {
  *out = co_await ReadExactly(stream, size);
}
base::Task<void> WriteFrom(Stream* stream, std::string bytes, Io* out) { *out = co_await WriteAll(stream, bytes); }

TEST(StreamTest, BytesArriveInOrderAndEndIsSeen) {
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  Received received;
  Io io = Io::kAgain;
  loop.Spawn(ReadInto(pair.b.get(), 1000, &received));
  EXPECT_EQ(pair.a->Write("hello "), Io::kOk);
  EXPECT_EQ(pair.a->Write("new ", "world"), Io::kOk);
  loop.Spawn(WriteFrom(pair.a.get(), "!", &io));
  pair.a->FinishWrites();
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(received.bytes, "hello new world!");
  EXPECT_EQ(received.end, Io::kEof);
  EXPECT_EQ(io, Io::kOk);
  EXPECT_EQ(pair.a->Write("late"), Io::kReset);
}

TEST(StreamTest, BufferedInputStaysUntilConsumedAndGrowsToItsLimit) {
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  const std::string big(40'000, 'x');
  pair.a->Write("abc");
  pair.a->Write(big);
  Io io = Io::kAgain;
  loop.Spawn(WriteFrom(pair.a.get(), "end", &io));
  ASSERT_TRUE(RunAll(loop));
  Stream& b = *pair.b;
  EXPECT_EQ(b.Fill(2).io, Io::kOk);
  EXPECT_EQ(b.buffered(), "ab");
  EXPECT_EQ(b.Fill(2).io, Io::kFull);
  b.Consume(1);
  while (b.Fill(50'000).io == Io::kOk) {
  }
  EXPECT_EQ(b.buffered(), "bc" + big + "end");
  char block[10];
  EXPECT_EQ(b.Read(block).bytes, 10u);
  EXPECT_EQ(std::string(block, 10), "bcxxxxxxxx");
  b.Consume(b.buffered().size());
  EXPECT_TRUE(b.buffered().empty());
  EXPECT_EQ(b.Fill(100).io, Io::kAgain);
}

// What several streams write in one batch leaves at its end, each stream's bytes in their order, however they interleave.
TEST(StreamTest, WritesOfManyStreamsInOneBatchKeepTheirOrder) {
  Loop loop(base::SystemClock());
  std::vector<std::unique_ptr<StreamPair>> pairs;
  std::vector<Received> received(7);
  std::vector<std::string> sent(received.size());
  for (std::size_t i = 0; i < received.size(); ++i) {
    pairs.push_back(std::make_unique<StreamPair>(loop));
    loop.Spawn(ReadInto(pairs[i]->b.get(), 10'000'000, &received[i]));
  }
  loop.Post([&] {
    for (std::size_t round = 0; round < 300; ++round) {
      const std::size_t i = round * 5 % pairs.size();
      const std::size_t size = round % 50 == 49 ? 200'000 : 1 + round * 37 % 3000;  // beyond the shared buffer, and small
      const std::string piece(size, static_cast<char>('a' + round % 26));
      ASSERT_EQ(pairs[i]->a->Write(piece), Io::kOk);
      sent[i] += piece;
    }
    for (auto& pair : pairs) pair->a->FinishWrites();
  });
  ASSERT_TRUE(RunAll(loop));
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    EXPECT_TRUE(received[i].bytes == sent[i]) << i;
    EXPECT_EQ(pairs[i]->a->pending(), 0u);
  }
}

TEST(StreamTest, ReadDeadlinePassesAfterItsTime) {
  base::FakeClock clock;
  Loop loop(clock);
  StreamPair pair(loop);
  Received received;
  loop.Spawn(ReadInto(pair.b.get(), 10, &received));
  clock.Advance(absl::Seconds(29));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(loop.task_count(), 1u);
  clock.Advance(absl::Seconds(2));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(loop.task_count(), 0u);
  EXPECT_EQ(received.end, Io::kTimeout);
}

TEST(StreamTest, WholeHeadDeadlineHoldsAgainstDrippedBytes) {  // B109
  base::FakeClock clock;
  Loop loop(clock);
  StreamPair pair(loop);
  Io end = Io::kOk;
  auto read_head = [](Loop* l, Stream* stream, Io* out) -> base::Task<void> {
    const Deadline deadline = l->After(absl::Seconds(10));
    while (true) {
      const IoResult read = stream->Fill(4096);
      if (read.io != Io::kAgain && read.io != Io::kOk) break;
      *out = co_await stream->Readable(deadline);
      if (*out != Io::kOk) co_return;
    }
  };
  loop.Spawn(read_head(&loop, pair.b.get(), &end));
  for (int second = 0; second < 12; ++second) {
    pair.a->Write("x");
    loop.RunOnce(kNoWait);
    clock.Advance(absl::Seconds(1));
    loop.RunOnce(kNoWait);
  }
  EXPECT_EQ(loop.task_count(), 0u);
  EXPECT_EQ(end, Io::kTimeout);
}

TEST(StreamTest, AbortWakesTheWaiterLaterAndEndsAllUse) {
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  Received received;
  loop.Spawn(ReadInto(pair.b.get(), 10, &received));
  pair.b->Abort();
  EXPECT_EQ(loop.task_count(), 1u);  // not inside the call
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(received.end, Io::kAborted);
  EXPECT_EQ(pair.b->Write("x"), Io::kAborted);
  char byte;
  EXPECT_EQ(pair.b->Read({&byte, 1}).io, Io::kAborted);
  Received other;
  loop.Spawn(ReadInto(pair.a.get(), 10, &other));  // the peer is told at once
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(other.end, Io::kEof);
}

TEST(StreamTest, AbortUnderBackPressureDropsWhatIsQueued) {
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  Io io = Io::kOk;
  loop.Spawn(WriteFrom(pair.a.get(), std::string(3'000'000, 'x'), &io));
  loop.RunOnce(kNoWait);
  EXPECT_GT(pair.a->pending(), 0u);
  pair.a->Abort();
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(io, Io::kAborted);
  EXPECT_EQ(pair.a->pending(), 0u);
}

TEST(StreamTest, AStreamDestroyedUnderItsWaiterAbortsTheWait) {
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  Io io = Io::kOk;
  auto wait = [](Stream* a, Stream* b, Io* out) -> base::Task<void> {
    const EitherReady ready = co_await WaitEither(*a, kReadable, *b, kHangup, Deadline::Never());
    *out = ready.io;
  };
  pair.a->Fill(10);  // says kAgain, so that the wait has something to wait for
  loop.Spawn(wait(pair.a.get(), pair.b.get(), &io));
  pair.b.reset();
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(io, Io::kAborted);
}

TEST(StreamTest, ATaskDestroyedInAWaitLeavesNothingBehind) {
  StreamPair* pair = nullptr;
  Received received;
  Loop loop(base::SystemClock());
  StreamPair owned(loop);
  pair = &owned;
  {
    base::Task<void> task = ReadInto(pair->b.get(), 10, &received);
    task.Start();
    EXPECT_FALSE(task.done());
  }
  pair->a->Write("x");
  loop.RunOnce(kNoWait);
  loop.RunOnce(kNoWait);
  loop.Spawn(ReadInto(pair->b.get(), 1, &received));  // a new waiter may come
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(received.bytes, "x");
}

TEST(StreamTest, EitherWaitTellsWhichStreamIsReady) {
  Loop loop(base::SystemClock());
  StreamPair one(loop), two(loop);
  EitherReady ready{};
  auto wait = [](Stream* a, Stream* b, EitherReady* out) -> base::Task<void> {
    *out = co_await WaitEither(*a, kReadable, *b, kReadable | kHangup, Soon(a->loop()));
  };
  one.b->Fill(10);
  two.b->Fill(10);
  loop.Spawn(wait(one.b.get(), two.b.get(), &ready));
  two.a->Write("x");
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(ready.io, Io::kOk);
  EXPECT_EQ(ready.first, 0u);
  EXPECT_EQ(ready.second, unsigned{kReadable});
  two.a.reset();
  ASSERT_TRUE(RunUntil(loop, [&] { return two.b->hung_up(); }));
}

TEST(StreamTest, APeerThatLeavesEarlyIsSeenByHangup) {  // B57
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  Io io = Io::kAgain;
  auto wait = [](Stream* stream, Io* out) -> base::Task<void> { *out = co_await stream->Hangup(Soon(stream->loop())); };
  loop.Spawn(wait(pair.b.get(), &io));
  pair.a->Write("bytes that are never read");
  loop.RunOnce(kNoWait);
  EXPECT_EQ(loop.task_count(), 1u);
  pair.a.reset();
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(io, Io::kOk);
}

TEST(StreamTest, WritingToAClosedPeerFailsWithoutASignal) {
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  pair.b.reset();
  Io io = Io::kOk;
  loop.Spawn(WriteFrom(pair.a.get(), "x", &io));
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(io, Io::kReset);
  EXPECT_EQ(pair.a->Write("y"), Io::kReset);
}

// ---- bulk, against a slow reader

struct Bulk {
  std::size_t most_pending = 0;
  std::size_t sent = 0;
  std::size_t received = 0;
  uint64_t sent_sum = 0;
  uint64_t received_sum = 0;
  bool broken = false;
};

base::Task<void> SendBulk(Stream* stream, std::size_t total, Bulk* bulk) {
  std::string block(64 * 1024, '\0');
  while (bulk->sent < total) {
    for (std::size_t i = 0; i < block.size(); i += 997) block[i] = static_cast<char>(bulk->sent / 65536 + i);
    for (std::size_t i = 0; i < block.size(); i += 997)
      bulk->sent_sum = bulk->sent_sum * 31 + static_cast<uint8_t>(block[i]);
    bulk->broken = bulk->broken || stream->Write(block) != Io::kOk;
    bulk->sent += block.size();
    bulk->most_pending = std::max(bulk->most_pending, stream->pending());
    const Io io = co_await stream->Flush(Soon(stream->loop()));
    bulk->broken = bulk->broken || io != Io::kOk;
    if (bulk->broken) co_return;
  }
  stream->FinishWrites();
}

base::Task<void> ReceiveBulk(Stream* stream, Bulk* bulk) {
  Loop& loop = stream->loop();
  while (true) {
    const IoResult read = stream->Read({loop.scratch(), Loop::kScratchBytes});
    if (read.io == Io::kAgain) {
      const Io io = co_await stream->Readable(Soon(loop));
      if (io != Io::kOk) bulk->broken = true;
      if (bulk->broken) co_return;
      continue;
    }
    if (read.io != Io::kOk) co_return;
    for (std::size_t i = 0; i < read.bytes; ++i) {
      const std::size_t at = (bulk->received + i) % 65536;
      if (at % 997 == 0) bulk->received_sum = bulk->received_sum * 31 + static_cast<uint8_t>(loop.scratch()[i]);
    }
    bulk->received += read.bytes;
  }
}

TEST(StreamTest, HundredMebibytesEachWayAtFlatMemory) {
  constexpr std::size_t kTotal = 100 * 1024 * 1024;
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  Bulk there, back;
  const std::size_t before = mallinfo2().uordblks;
  loop.Spawn(SendBulk(pair.a.get(), kTotal, &there));
  loop.Spawn(ReceiveBulk(pair.b.get(), &there));
  ASSERT_TRUE(RunAll(loop));
  loop.Spawn(SendBulk(pair.b.get(), kTotal, &back));
  loop.Spawn(ReceiveBulk(pair.a.get(), &back));
  ASSERT_TRUE(RunAll(loop));
  for (const Bulk* bulk : {&there, &back}) {
    EXPECT_FALSE(bulk->broken);
    EXPECT_EQ(bulk->received, kTotal);
    EXPECT_EQ(bulk->received_sum, bulk->sent_sum);
    EXPECT_LE(bulk->most_pending, 64u * 1024);
  }
  EXPECT_LT(mallinfo2().uordblks, before + 512 * 1024);
}

TEST(StreamTest, BackPressureHoldsTheSenderUntilThePeerReads) {
  base::FakeClock clock;
  Loop loop(clock);
  StreamPair pair(loop);
  Bulk bulk;
  loop.Spawn(SendBulk(pair.a.get(), 10 * 1024 * 1024, &bulk));
  for (int i = 0; i < 50; ++i) loop.RunOnce(kNoWait);
  EXPECT_LT(bulk.sent, 2u * 1024 * 1024);
  EXPECT_LE(pair.a->pending(), 64u * 1024);
  loop.Spawn(ReceiveBulk(pair.b.get(), &bulk));
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(bulk.received_sum, bulk.sent_sum);
}

TEST(StreamTest, AFastPairDoesNotStarveOthers) {
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  Bulk bulk;
  bool ticked = false;
  loop.Spawn(SendBulk(pair.a.get(), 100 * 1024 * 1024, &bulk));
  loop.Spawn(ReceiveBulk(pair.b.get(), &bulk));
  loop.Post([&] { ticked = true; });
  loop.RunOnce(kNoWait);
  EXPECT_TRUE(ticked);
  EXPECT_LT(bulk.received, 100u * 1024 * 1024);
}

TEST(StreamTest, APeerThatNeverReadsCannotMakeTheQueueGrowWithoutEnd) {
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  const std::string block(1024 * 1024, 'x');
  Io io = Io::kOk;
  for (int i = 0; i < 10 && io == Io::kOk; ++i) io = pair.a->Write(block);
  EXPECT_EQ(io, Io::kReset);
  EXPECT_LE(pair.a->pending(), Stream::kMaxPending);
}

TEST(StreamTest, CloseLetsAStillSendingPeerReadTheAnswer) {  // B111
  Loop loop(base::SystemClock());
  StreamPair pair(loop);
  auto answer = [](Stream* stream) -> base::Task<void> {
    stream->Write("HTTP/1.1 407 no\r\n\r\n");
    co_await stream->Close(Soon(stream->loop()));
  };
  pair.a->Write(std::string(100'000, 'x'));  // never looked at by the other side
  loop.Spawn(answer(pair.b.get()));
  Received received;
  loop.Spawn(ReadInto(pair.a.get(), 1000, &received));
  ASSERT_TRUE(RunUntil(loop, [&] { return loop.task_count() == 1; }));
  EXPECT_EQ(received.bytes, "HTTP/1.1 407 no\r\n\r\n");
  EXPECT_EQ(received.end, Io::kEof);
  pair.a.reset();
  ASSERT_TRUE(RunAll(loop));
}

TEST(StreamTest, CloseEndsAtItsDeadlineWhenThePeerStays) {
  base::FakeClock clock;
  Loop loop(clock);
  StreamPair pair(loop);
  auto close = [](Loop* l, Stream* stream) -> base::Task<void> { co_await stream->Close(l->After(absl::Seconds(2))); };
  loop.Spawn(close(&loop, pair.b.get()));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(loop.task_count(), 1u);
  clock.Advance(absl::Seconds(3));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(loop.task_count(), 0u);
}

TEST(StreamTest, UpstreamErrorsKeepTheirKind) {
  EXPECT_THAT(UpstreamStatus(Io::kOk, ""), IsOk());
  EXPECT_THAT(UpstreamStatus(Io::kReset, "x"), FailsWith(base::ErrorCode::kUpstreamClosed));
  EXPECT_THAT(UpstreamStatus(Io::kTruncated, ""), FailsWith(base::ErrorCode::kUpstreamClosed));
  EXPECT_THAT(UpstreamStatus(Io::kTimeout, ""), FailsWith(base::ErrorCode::kUpstreamTimeout));
  EXPECT_THAT(UpstreamStatus(Io::kTls, ""), FailsWith(base::ErrorCode::kUpstreamTls));
}

}  // namespace
}  // namespace credbroker::net
