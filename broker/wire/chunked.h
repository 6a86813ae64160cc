#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace credbroker::wire {

// What one call of ChunkedDecoder::Next found.
struct ChunkStep {
  enum class Kind {
    kData,      // `data` is body content, a view into the bytes given
    kNeedMore,  // all bytes are consumed
    kComplete,  // the body has ended; bytes after `consumed` belong to the next message
    kError,     // `error`; the connection cannot be used any more
  };
  Kind kind = Kind::kNeedMore;
  std::size_t consumed = 0;  // drop so many bytes before the next call
  std::string_view data;
  base::ErrorCode error = base::ErrorCode::kNone;
};

// Decodes the chunked coding (RFC 9112 section 7.1) in place, for bytes cut anywhere. Strict: CRLF only, a size of
// 1 to 16 hex digits below 2^60, no chunk extensions, no white space; trailer fields are checked like header fields,
// then dropped (at most 8 KiB of them). Holds no bytes itself. One object per body; not thread-safe.
class ChunkedDecoder {
 public:
  enum class Side { kRequest, kResponse };  // the error is kMalformedHttp or kUpstreamMalformed
  explicit ChunkedDecoder(Side side) : side_(side) {}

  // Call until kNeedMore, kComplete or kError; a kData step never has empty data.
  ChunkStep Next(std::string_view bytes);

  bool done() const { return state_ == State::kDone; }

 private:
  enum class State {
    kSizeStart,
    kSize,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kTrailerStart,
    kTrailerName,
    kTrailerValue,
    kTrailerLf,
    kLastLf,
    kDone,
    kFailed,
  };
  State AfterByte(unsigned char byte);
  State AfterSizeByte(unsigned char byte);
  State AfterTrailerByte(unsigned char byte);

  Side side_;
  State state_ = State::kSizeStart;
  std::uint64_t left_ = 0;  // of the current chunk
  int digits_ = 0;
  std::size_t trailer_bytes_ = 0;
};

// Appends the size line of a chunk of `size` bytes (above 0). The caller sends the data and then kChunkEnd.
void AppendChunkHeader(std::uint64_t size, std::string* out);
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Appends `data` as one whole chunk; nothing for empty data, which would end the body.
void AppendChunk(std::string_view data, std::string* out);

}  // namespace credbroker::wire
