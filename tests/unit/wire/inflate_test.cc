#include "wire/inflate.h"

#include <zlib.h>

#include <string>

#include "kit/status_matchers.h"
#include "wire/pktline.h"
#include "wire/receive_pack.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

std::string Deflate(const std::string& text, int window_bits) {
  z_stream z{};
  EXPECT_EQ(deflateInit2(&z, 9, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&z, text.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&z, Z_FINISH), Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}
std::string Gzip(const std::string& text) { return Deflate(text, 15 + 16); }

absl::Status Decode(Coding coding, const InflateLimits& limits, std::string_view in, std::size_t piece,
                    std::string* out) {
  Inflater inflater(coding, limits);
  for (std::size_t at = 0; at < in.size(); at += piece) {
    if (absl::Status status = inflater.Feed(in.substr(at, piece), out); !status.ok()) return status;
  }
  return inflater.Finish();
}

TEST(InflateTest, DecodesEveryFormInEveryPiece) {
  std::string text;
  for (int i = 0; i < 500; ++i) text += std::to_string(i * i) + " ";
  struct Case {
    Coding coding;
    std::string bytes;
  };
  for (const Case& c : {Case{Coding::kGzip, Gzip(text)}, Case{Coding::kDeflate, Deflate(text, 15)},
                        Case{Coding::kDeflate, Deflate(text, -15)}, Case{Coding::kIdentity, text}}) {
    for (const std::size_t piece : {1, 2, 3, 100, 1 << 20}) {
      std::string out;
      ASSERT_THAT(Decode(c.coding, {}, c.bytes, piece, &out), IsOk());
      ASSERT_EQ(out, text);
    }
  }
  std::string out;
  EXPECT_THAT(InflateAll(Coding::kGzip, {}, Gzip(""), &out), IsOk());
  EXPECT_EQ(out, "");
}

TEST(InflateTest, RefusesBrokenCutAndContinuedData) {
  const std::string good = Gzip("hello hello hello");
  for (std::size_t size = 1; size < good.size(); ++size) {
    std::string out;
    EXPECT_THAT(Decode(Coding::kGzip, {}, good.substr(0, size), 7, &out), FailsWith(ErrorCode::kUnsupportedCoding))
        << size;
  }
  for (std::string bytes : {good + "x", good + good, "x" + good, std::string("plain text")}) {
    std::string out;
    EXPECT_THAT(Decode(Coding::kGzip, {}, bytes, 1, &out), FailsWith(ErrorCode::kUnsupportedCoding));
    EXPECT_THAT(Decode(Coding::kGzip, {}, bytes, 1000, &out), FailsWith(ErrorCode::kUnsupportedCoding));
  }
  std::string flipped = good;
  flipped[good.size() - 6] ^= 1;  // the checksum
  std::string out;
  EXPECT_THAT(InflateAll(Coding::kGzip, {}, flipped, &out), FailsWith(ErrorCode::kUnsupportedCoding));
}

TEST(InflateTest, KeepsItsLimits) {
  std::string out;
  const InflateLimits small{.max_output_bytes = 100};
  EXPECT_THAT(InflateAll(Coding::kGzip, small, Gzip(std::string(100, 'a')), &out), IsOk());
  EXPECT_THAT(InflateAll(Coding::kGzip, small, Gzip(std::string(101, 'a')), &out), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(InflateAll(Coding::kIdentity, small, std::string(101, 'a'), &out), FailsWith(ErrorCode::kBodyTooLarge));
  out.clear();
  const std::string bomb = Gzip(std::string(20 << 20, '\0'));
  EXPECT_THAT(InflateAll(Coding::kGzip, {}, bomb, &out), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_LT(out.size(), bomb.size() * 400 + (2 << 20));
}

// B23: a compressed push is judged by its decoded commands.
TEST(InflateTest, CompressedPushIsReadAfterDecoding) {
  std::string body;
  AppendPkt(
      std::string(40, 'a') + " " + std::string(40, 'b') + " refs/heads/main" + std::string("\0", 1) + "report-status",
      &body);
  body += "0000PACK";
  std::string decoded;
  ASSERT_THAT(Decode(Coding::kGzip, {}, Gzip(body), 1, &decoded), IsOk());
  ReceivePackParser parser;
  ASSERT_TRUE(parser.Parse(decoded, EndOfBody::kYes).complete());
  EXPECT_EQ(parser.request().commands[0].ref, "refs/heads/main");
}

TEST(CodingTest, ReadsOneCoding) {
  EXPECT_EQ(ParseCoding(""), Coding::kIdentity);
  EXPECT_EQ(ParseCoding("GZIP"), Coding::kGzip);
  EXPECT_EQ(ParseCoding("x-gzip"), Coding::kGzip);
  EXPECT_EQ(ParseCoding("deflate"), Coding::kDeflate);
  for (const char* value : {"br", "zstd", "gzip, gzip", "gzip,", "identity, gzip", "compress"})
    EXPECT_EQ(ParseCoding(value), std::nullopt) << value;
}

}  // namespace
}  // namespace credbroker::wire
