#pragma once

#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "net/stream.h"
#include "wire/chunked.h"
#include "wire/http_head.h"

namespace credbroker::edge {

// Content piece by piece. Never waits.
//
//   switch (body.Next(&piece)) { case kPiece: use piece; body.Take(); ...
class ContentSource {
 public:
  enum class Step {
    kPiece,   // `piece` is content; call Take when it is used
    kWait,    // nothing now: wait until the stream is readable
    kEnd,     // all was given
    kFailed,  // error() says why
  };
  virtual ~ContentSource() = default;
  virtual Step Next(std::string_view* piece) = 0;
  virtual void Take() = 0;
  virtual base::ErrorCode error() const = 0;
};

// The body of one message, taken from a stream without gathering it.
class BodySource final : public ContentSource {
 public:
  BodySource(net::Stream& stream, wire::Framing framing, uint64_t length, wire::ChunkedDecoder::Side side, std::size_t block);

  Step Next(std::string_view* piece) override;
  void Take() override;
  base::ErrorCode error() const override { return error_; }

  bool ended() const { return ended_; }
  uint64_t taken() const { return taken_; }  // content bytes

 private:
  Step FillMore();
  Step NextChunked(std::string_view* piece);
  Step Fail(base::ErrorCode code);

  net::Stream& stream_;
  wire::Framing framing_;
  uint64_t left_;
  wire::ChunkedDecoder decoder_;
  const wire::ChunkedDecoder::Side side_;
  const std::size_t block_;
  std::size_t consume_ = 0;  // of the buffer, when the piece is taken
  std::size_t piece_ = 0;
  uint64_t taken_ = 0;
  bool ended_ = false;
  base::ErrorCode error_ = base::ErrorCode::kNone;
};

}  // namespace credbroker::edge
