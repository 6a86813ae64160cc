#include "edge/body.h"

#include <algorithm>

namespace credbroker::edge {

using base::ErrorCode;
using net::Io;
using wire::ChunkStep;
using wire::Framing;

BodySource::BodySource(net::Stream& stream, Framing framing, uint64_t length, wire::ChunkedDecoder::Side side, std::size_t block)
    : stream_(stream), framing_(framing), left_(length), decoder_(side), side_(side), block_(block) {
  ended_ = framing == Framing::kNone || (framing == Framing::kLength && length == 0);
}

BodySource::Step BodySource::Fail(ErrorCode code) {
  error_ = code;
  return Step::kFailed;
}

BodySource::Step BodySource::FillMore() {
  switch (stream_.Fill(block_).io) {
    case Io::kOk:
    case Io::kFull: return Step::kPiece;
    case Io::kAgain: return Step::kWait;
    case Io::kEof:
      if (framing_ == Framing::kUntilClose) {
        ended_ = true;
        return Step::kEnd;
      }
      return Fail(side_ == wire::ChunkedDecoder::Side::kResponse ? ErrorCode::kUpstreamClosed : ErrorCode::kClientClosed);
    default: return Fail(side_ == wire::ChunkedDecoder::Side::kResponse ? ErrorCode::kUpstreamClosed : ErrorCode::kClientClosed);
  }
}

BodySource::Step BodySource::Next(std::string_view* piece) {
  if (ended_) return Step::kEnd;
  if (error_ != ErrorCode::kNone) return Step::kFailed;
  if (stream_.buffered().empty()) {
    if (const Step step = FillMore(); step != Step::kPiece) return step;
  }
  if (framing_ == Framing::kChunked) return NextChunked(piece);
  *piece = stream_.buffered();
  if (framing_ == Framing::kLength) *piece = piece->substr(0, std::min<uint64_t>(left_, piece->size()));
  consume_ = piece_ = piece->size();
  return Step::kPiece;
}

BodySource::Step BodySource::NextChunked(std::string_view* piece) {
  while (true) {
    const ChunkStep step = decoder_.Next(stream_.buffered());
    if (step.kind == ChunkStep::Kind::kError) return Fail(step.error);
    if (step.kind == ChunkStep::Kind::kData) {
      *piece = step.data;
      consume_ = step.consumed;
      piece_ = step.data.size();
      return Step::kPiece;
    }
    stream_.Consume(step.consumed);
    if (step.kind == ChunkStep::Kind::kComplete) {
      ended_ = true;
      return Step::kEnd;
    }
    if (const Step filled = FillMore(); filled != Step::kPiece) return filled;
  }
}

void BodySource::Take() {
  stream_.Consume(consume_);
  taken_ += piece_;
  if (framing_ == Framing::kLength) {
    left_ -= piece_;
    ended_ = left_ == 0;
  }
  consume_ = piece_ = 0;
}

}  // namespace credbroker::edge
