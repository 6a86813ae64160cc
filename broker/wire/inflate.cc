#include "wire/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/macros.h"
#include "wire/http_head.h"

namespace credbroker::wire {
namespace {

constexpr std::uint64_t kRatioGrace = 1024 * 1024;
constexpr std::size_t kBlock = 16 * 1024;

absl::Status Broken(const char* detail) { return base::Error(base::ErrorCode::kUnsupportedCoding, detail); }

// `deflate` means zlib's frame (RFC 9110 section 8.4.1.2), and some senders leave it out.
int WindowBits(Coding coding, std::string_view first) {
  if (coding == Coding::kGzip) return 15 + 16;
  const auto head = (static_cast<unsigned char>(first[0]) << 8) | static_cast<unsigned char>(first[1]);
  const bool framed = (first[0] & 0x0F) == 8 && head % 31 == 0;
  return framed ? 15 : -15;
}

}  // namespace

struct Inflater::Stream {
  z_stream z{};
  bool open = false;
  ~Stream() {
    if (open) inflateEnd(&z);
  }
};

std::optional<Coding> ParseCoding(std::string_view content_encoding) {
  if (content_encoding.empty() || EqualsToken(content_encoding, "identity")) return Coding::kIdentity;
  if (EqualsToken(content_encoding, "gzip") || EqualsToken(content_encoding, "x-gzip")) return Coding::kGzip;
  if (EqualsToken(content_encoding, "deflate")) return Coding::kDeflate;
  return std::nullopt;
}

Inflater::Inflater(Coding coding, const InflateLimits& limits)
    : coding_(coding), limits_(limits), stream_(std::make_unique<Stream>()) {}
Inflater::~Inflater() = default;

absl::Status Inflater::Start(std::string_view first) {
  stream_->open = inflateInit2(&stream_->z, WindowBits(coding_, first)) == Z_OK;
  return stream_->open ? absl::OkStatus() : base::Error(base::ErrorCode::kOverloaded, "no memory to decode a body");
}

absl::Status Inflater::Feed(std::string_view in, std::string* out) {
  if (coding_ == Coding::kIdentity) {
    out_bytes_ += in.size();
    if (out_bytes_ > limits_.max_output_bytes) return base::Error(base::ErrorCode::kBodyTooLarge);
    out->append(in);
    return absl::OkStatus();
  }
  if (stream_->open) return Run(in, out);
  first_.append(in);
  if (first_.size() < 2) return absl::OkStatus();
  RETURN_IF_ERROR(Start(first_));
  const std::string first = std::move(first_);
  return Run(first, out);
}

absl::Status Inflater::Run(std::string_view in, std::string* out) {
  z_stream& z = stream_->z;
  in_bytes_ += in.size();
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
  z.avail_in = static_cast<uInt>(in.size());
  unsigned char block[kBlock];
  do {
    if (ended_) return z.avail_in == 0 ? absl::OkStatus() : Broken("bytes follow the compressed data");
    z.next_out = block;
    z.avail_out = sizeof block;
    const int result = inflate(&z, Z_NO_FLUSH);
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
      return Broken("the compressed data is broken");
    const std::size_t made = sizeof block - z.avail_out;
    out_bytes_ += made;
    if (out_bytes_ > limits_.max_output_bytes) return base::Error(base::ErrorCode::kBodyTooLarge, "decoded size");
    if (out_bytes_ > kRatioGrace && out_bytes_ / limits_.max_ratio > in_bytes_ - z.avail_in) {
      return base::Error(base::ErrorCode::kBodyTooLarge, "compression ratio");
    }
    out->append(reinterpret_cast<const char*>(block), made);
    ended_ = result == Z_STREAM_END;
  } while (z.avail_in > 0 || z.avail_out == 0);
  return absl::OkStatus();
}

absl::Status Inflater::Finish() const {
  const bool empty = first_.empty() && !stream_->open;
  if (coding_ == Coding::kIdentity || ended_ || empty) return absl::OkStatus();
  return Broken("the compressed data ends early");
}

absl::Status InflateAll(Coding coding, const InflateLimits& limits, std::string_view body, std::string* out) {
  Inflater inflater(coding, limits);
  RETURN_IF_ERROR(inflater.Feed(body, out));
  return inflater.Finish();
}

}  // namespace credbroker::wire
