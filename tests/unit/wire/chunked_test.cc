#include "wire/chunked.h"

#include <string>
#include <vector>

#include "kit/status_matchers.h"

namespace credbroker::wire {
namespace {

struct Decoded {
  std::string data;
  ChunkStep::Kind end = ChunkStep::Kind::kNeedMore;
  base::ErrorCode error = base::ErrorCode::kNone;
  std::size_t consumed = 0;
  bool operator==(const Decoded&) const = default;
};

// Feeds pieces of `first` bytes, then of `rest` bytes.
Decoded Decode(std::string_view bytes, std::size_t first, std::size_t rest) {
  ChunkedDecoder decoder(ChunkedDecoder::Side::kRequest);
  Decoded run;
  std::size_t given = std::min(first, bytes.size());
  while (true) {
    const ChunkStep step = decoder.Next(bytes.substr(run.consumed, given - run.consumed));
    run.consumed += step.consumed;
    run.data.append(step.data);
    run.end = step.kind;
    run.error = step.error;
    if (step.kind == ChunkStep::Kind::kComplete || step.kind == ChunkStep::Kind::kError) return run;
    if (step.kind == ChunkStep::Kind::kData) {
      EXPECT_FALSE(step.data.empty());
      continue;
    }
    EXPECT_EQ(run.consumed, given);
    if (given == bytes.size()) return run;
    given = std::min(given + rest, bytes.size());
  }
}

Decoded DecodeAtEveryCut(std::string_view bytes) {
  const Decoded whole = Decode(bytes, bytes.size(), 1);
  EXPECT_EQ(Decode(bytes, 1, 1), whole) << bytes;
  for (std::size_t cut = 0; cut < bytes.size(); ++cut)
    EXPECT_EQ(Decode(bytes, cut, bytes.size()), whole) << "cut at " << cut;
  return whole;
}

TEST(ChunkedTest, DecodesAtEveryCut) {
  const std::string body = "5\r\nhello\r\n0A\r\n, big worl\r\n000000001\r\nd\r\n0\r\n";
  const Decoded run = DecodeAtEveryCut(body + "\r\nGET /");
  EXPECT_EQ(run.end, ChunkStep::Kind::kComplete);
  EXPECT_EQ(run.data, "hello, big world");
  EXPECT_EQ(run.consumed, body.size() + 2);
  const Decoded trailers = DecodeAtEveryCut("1\r\nx\r\n0\r\nA: b\r\nC:\r\n\r\n");
  EXPECT_EQ(trailers.end, ChunkStep::Kind::kComplete);
  EXPECT_EQ(trailers.data, "x");
  EXPECT_EQ(DecodeAtEveryCut("0\r\n\r\n").data, "");
}

// B37 and its relatives.
TEST(ChunkedTest, RefusesEverythingThatIsNotStrict) {
  const std::vector<std::string> cases = {"5\nhello\r\n0\r\n\r\n",
                                          "5;a=b\r\nhello\r\n0\r\n\r\n",
                                          "5;a\nb\r\nhello\r\n",
                                          "5 \r\nhello\r\n",
                                          " 5\r\nhello\r\n",
                                          "5\rhello\r\n",
                                          "5\r\r\nhello\r\n",
                                          "\r\nhello",
                                          "x\r\n",
                                          "0x5\r\nhello\r\n",
                                          "-5\r\n",
                                          "+5\r\n",
                                          "5\r\nhello5\r\n",
                                          "5\r\nhello\n",
                                          "5\r\nhello\r5\r\n",
                                          "5\r\nhelloo\r\n",
                                          "1000000000000000\r\n",
                                          "fffffffffffffffff\r\n",
                                          "00000000000000000\r\n",
                                          "0\r\n folded\r\n\r\n",
                                          "0\r\nA: b\r\n folded\r\n\r\n",
                                          "0\r\nA: b\n\r\n",
                                          "0\r\n\n",
                                          "0\n\r\n",
                                          "0\r\nA b\r\n\r\n",
                                          "0\r\n: b\r\n\r\n",
                                          "0\r\nA: \x01\r\n\r\n",
                                          "0\r\nno-colon\r\n\r\n",
                                          "0\r\n\rX",
                                          "0\r\nA: b\rX\r\n\r\n",
                                          "1\r\na\r\n\r\n"};
  for (const std::string& bytes : cases) {
    const Decoded run = DecodeAtEveryCut(bytes);
    EXPECT_EQ(run.end, ChunkStep::Kind::kError) << bytes;
    EXPECT_EQ(run.error, base::ErrorCode::kMalformedHttp) << bytes;
  }
}

TEST(ChunkedTest, StaysRefusedAndNamesTheSide) {
  ChunkedDecoder decoder(ChunkedDecoder::Side::kResponse);
  EXPECT_EQ(decoder.Next("5\n").error, base::ErrorCode::kUpstreamMalformed);
  EXPECT_EQ(decoder.Next("0\r\n\r\n").kind, ChunkStep::Kind::kError);
  EXPECT_FALSE(decoder.done());
}

TEST(ChunkedTest, CapsTheTrailers) {
  EXPECT_EQ(Decode("0\r\nA: " + std::string(8 * 1024, 'a'), 1u << 20, 1).end, ChunkStep::Kind::kError);
  EXPECT_EQ(Decode("0\r\nA: " + std::string(8000, 'a') + "\r\n\r\n", 1u << 20, 1).end, ChunkStep::Kind::kComplete);
}

TEST(ChunkedTest, WritesWhatItReads) {
  std::string out;
  AppendChunk("", &out);
  AppendChunk(std::string(300, 'a'), &out);
  AppendChunkHeader(2, &out);
  out.append("bc").append(kChunkEnd).append(kLastChunk);
  EXPECT_TRUE(out.starts_with("12c\r\naaa"));
  EXPECT_EQ(DecodeAtEveryCut(out).data, std::string(300, 'a') + "bc");
}

}  // namespace
}  // namespace credbroker::wire
