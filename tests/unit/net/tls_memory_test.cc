#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tls_fixture.h"

namespace credbroker::net {
namespace {

struct Bulk {
  std::size_t received = 0;
  std::size_t most_pending = 0;
  bool broken = false;
};
base::Task<void> SendBulk(Stream* stream, std::size_t total, Bulk* bulk) {
  const std::string block(64 * 1024, 'z');
  for (std::size_t sent = 0; sent < total; sent += block.size()) {
    const Io written = stream->Write(block);
    bulk->most_pending = std::max(bulk->most_pending, stream->pending());
    const Io flushed = co_await stream->Flush(Soon(stream->loop()));
    bulk->broken = bulk->broken || written != Io::kOk || flushed != Io::kOk;
    if (bulk->broken) co_return;
  }
}
base::Task<void> ReceiveBulk(Stream* stream, std::size_t total, Bulk* bulk) {
  Loop& loop = stream->loop();
  while (bulk->received < total && !bulk->broken) {
    const IoResult read = stream->Read({loop.scratch(), Loop::kScratchBytes});
    if (read.io == Io::kAgain) {
      const Io io = co_await stream->Readable(Soon(loop));
      bulk->broken = bulk->broken || io != Io::kOk;
      continue;
    }
    bulk->broken = bulk->broken || read.io != Io::kOk || loop.scratch()[read.bytes - 1] != 'z';
    bulk->received += read.bytes;
  }
}

TEST_F(TlsTest, HundredMebibytesEachWayAtOnceAtFlatMemory) {
  constexpr std::size_t kTotal = 100 * 1024 * 1024;
  StreamPair one(loop_), two(loop_);
  ASSERT_EQ(Shake(one, server_).client, Io::kOk);
  ASSERT_EQ(Shake(two, server_).client, Io::kOk);
  Bulk there, back;
  const std::size_t before = mallinfo2().uordblks;
  loop_.Spawn(SendBulk(one.a.get(), kTotal, &there));
  loop_.Spawn(ReceiveBulk(one.b.get(), kTotal, &there));
  loop_.Spawn(SendBulk(two.b.get(), kTotal, &back));
  loop_.Spawn(ReceiveBulk(two.a.get(), kTotal, &back));
  ASSERT_TRUE(RunAll(loop_));
  for (const Bulk* bulk : {&there, &back}) {
    EXPECT_FALSE(bulk->broken);
    EXPECT_EQ(bulk->received, kTotal);
    EXPECT_LE(bulk->most_pending, 128u * 1024);
  }
  EXPECT_LT(mallinfo2().uordblks, before + 1024 * 1024);
}

TEST_F(TlsTest, AnIdleConnectionGivesItsBuffersBackAndGoesOn) {
  base::FakeClock clock;
  Loop loop(clock);
  constexpr int kPairs = 50;
  std::vector<std::unique_ptr<StreamPair>> pairs;
  for (int i = 0; i < kPairs; ++i) {
    pairs.push_back(std::make_unique<StreamPair>(loop));
    Io server = Io::kAgain, client = Io::kAgain;
    loop.Spawn(Serve(pairs.back()->b.get(), server_, &server));
    loop.Spawn(Connect(pairs.back()->a.get(), client_, "ok.test", &client));
    ASSERT_TRUE(RunAll(loop));
    ASSERT_EQ(client, Io::kOk);
  }
  const std::size_t busy = mallinfo2().uordblks;
  for (int second = 0; second < 4; ++second) {
    clock.Advance(absl::Seconds(1) + absl::Milliseconds(100));
    loop.RunOnce(absl::ZeroDuration());
  }
  const std::size_t idle = mallinfo2().uordblks;
  if (busy > 0) {  // a sanitizer's heap counts nothing
    EXPECT_LT(idle + kPairs * 20'000, busy);
  }
  Received received;
  Io io = Io::kAgain;
  loop.Spawn(ReadInto(pairs[0]->a.get(), 5, &received));
  loop.Spawn(WriteFrom(pairs[0]->b.get(), "again", &io));
  ASSERT_TRUE(RunAll(loop));
  EXPECT_EQ(received.bytes, "again");
}

}  // namespace
}  // namespace credbroker::net
