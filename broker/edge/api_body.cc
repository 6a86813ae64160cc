#include "edge/api_body.h"

namespace credbroker::edge {

using base::ErrorCode;

base::Task<ErrorCode> ApiBody::Read(std::string_view content_encoding) {
  const auto coding = wire::ParseCoding(content_encoding);
  if (!coding) co_return ErrorCode::kBodyUndecided;
  std::string raw;
  std::string_view piece;
  while (true) {
    const BodySource::Step step = source_.Next(&piece);
    if (step == BodySource::Step::kFailed) co_return source_.error();
    if (step == BodySource::Step::kEnd) break;
    if (step == BodySource::Step::kPiece) {
      if (raw.size() + piece.size() > options_.max_api_body) co_return ErrorCode::kBodyUndecided;
      raw.append(piece);
      source_.Take();
      continue;
    }
    const net::Io io = co_await stream_.Readable(stream_.loop().After(options_.stream_idle));
    if (io != net::Io::kOk) co_return ErrorCode::kClientClosed;
  }
  if (raw.empty()) co_return ErrorCode::kNone;
  wire::InflateLimits limits;
  limits.max_output_bytes = options_.max_api_body;
  const absl::Status decoded = wire::InflateAll(*coding, limits, raw, &text_);
  co_return decoded.ok() ? ErrorCode::kNone : ErrorCode::kBodyUndecided;
}

}  // namespace credbroker::edge
