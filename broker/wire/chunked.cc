#include "wire/chunked.h"

#include <algorithm>
#include <charconv>

#include "wire/chars.h"

namespace credbroker::wire {
namespace {

// body    := *chunk "0" CRLF *( trailer CRLF ) CRLF
// chunk   := 1*16HEXDIG CRLF data CRLF
// trailer := token ":" *( HTAB / SP / VCHAR / obs-text )
constexpr int kMaxDigits = 16;
constexpr std::uint64_t kMaxChunk = std::uint64_t{1} << 60;
constexpr std::size_t kMaxTrailerBytes = 8 * 1024;

}  // namespace

ChunkStep ChunkedDecoder::Next(std::string_view bytes) {
  ChunkStep step;
  while (state_ != State::kDone && state_ != State::kFailed && step.consumed < bytes.size()) {
    if (state_ == State::kData) {
      const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size() - step.consumed));
      step.kind = ChunkStep::Kind::kData;
      step.data = bytes.substr(step.consumed, size);
      step.consumed += size;
      left_ -= size;
      if (left_ == 0) state_ = State::kDataCr;
      return step;
    }
    state_ = AfterByte(static_cast<unsigned char>(bytes[step.consumed++]));
  }
  if (state_ == State::kDone) step.kind = ChunkStep::Kind::kComplete;
  if (state_ == State::kFailed) {
    step.kind = ChunkStep::Kind::kError;
    step.error = side_ == Side::kRequest ? base::ErrorCode::kMalformedHttp : base::ErrorCode::kUpstreamMalformed;
  }
  return step;
}

ChunkedDecoder::State ChunkedDecoder::AfterByte(unsigned char byte) {
  switch (state_) {
    case State::kSizeStart:
    case State::kSize:
      return AfterSizeByte(byte);
    case State::kSizeLf:
      if (byte != '\n') return State::kFailed;
      return left_ == 0 ? State::kTrailerStart : State::kData;
    case State::kDataCr:
      return byte == '\r' ? State::kDataLf : State::kFailed;
    case State::kDataLf:
      return byte == '\n' ? State::kSizeStart : State::kFailed;
    case State::kLastLf:
      return byte == '\n' ? State::kDone : State::kFailed;
    default:
      return AfterTrailerByte(byte);
  }
}

ChunkedDecoder::State ChunkedDecoder::AfterSizeByte(unsigned char byte) {
  if (state_ == State::kSizeStart) {
    left_ = 0;
    digits_ = 0;
  }
  if (byte == '\r' && digits_ > 0) return State::kSizeLf;
  // Anything else than a digit fails: extensions and padding are where lenient readers see another length
  // (CVE-2025-22871).
  const int value = chars::HexValue(static_cast<char>(byte));
  if (value < 0 || ++digits_ > kMaxDigits || left_ >= kMaxChunk / 16) return State::kFailed;
  left_ = left_ * 16 + static_cast<std::uint64_t>(value);
  return State::kSize;
}

ChunkedDecoder::State ChunkedDecoder::AfterTrailerByte(unsigned char byte) {
  if (++trailer_bytes_ > kMaxTrailerBytes) return State::kFailed;
  const char c = static_cast<char>(byte);
  switch (state_) {
    case State::kTrailerStart:
      if (byte == '\r') return State::kLastLf;
      return chars::Is(c, chars::kTokenChar) ? State::kTrailerName : State::kFailed;
    case State::kTrailerName:
      if (byte == ':') return State::kTrailerValue;
      return chars::Is(c, chars::kTokenChar) ? State::kTrailerName : State::kFailed;
    case State::kTrailerValue:
      if (byte == '\r') return State::kTrailerLf;
      return chars::Is(c, chars::kFieldChar) || byte >= 0x80 ? State::kTrailerValue : State::kFailed;
    case State::kTrailerLf:
      return byte == '\n' ? State::kTrailerStart : State::kFailed;
    default:
      return State::kFailed;
  }
}

void AppendChunkHeader(std::uint64_t size, std::string* out) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, size, 16).ptr;
  out->append(digits, end);
  out->append(kChunkEnd);
}

void AppendChunk(std::string_view data, std::string* out) {
  if (data.empty()) return;
  AppendChunkHeader(data.size(), out);
  out->append(data);
  out->append(kChunkEnd);
}

}  // namespace credbroker::wire
