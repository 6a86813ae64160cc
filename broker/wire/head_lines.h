#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wire/http_head.h"

namespace credbroker::wire {

// Private to the head parsers: what requests and responses share. Errors are the request's; ParseResponseHead folds
// them.

// Walks the lines of a head and keeps the size limit.
class LineCursor {
 public:
  LineCursor(std::string_view bytes, std::size_t max_bytes) : bytes_(bytes), max_bytes_(max_bytes) {}

  // Gives the next line without its CRLF. kNeedMore without a whole one, kError for a lone LF or above the limit.
  ParseResult Next(std::string_view* line);
  std::size_t consumed() const { return at_; }

 private:
  std::string_view bytes_;
  std::size_t max_bytes_;
  std::size_t at_ = 0;
};

enum class ObsText { kRefuse, kAllow };

// Reads header lines up to and with the empty one.
ParseResult ParseFields(LineCursor* lines, const HeadLimits& limits, ObsText obs_text, HeaderList* out);

// What the fields say about the body and the connection.
struct BodyFields {
  std::optional<std::uint64_t> length;
  bool chunked = false;
  bool close = false;       // Connection: close
  bool keep_alive = false;  // Connection: keep-alive
};
// kAmbiguousFraming, or kMalformedHttp for a broken Connection field. With `protect`, Connection must not name
// end-to-end fields.
base::ErrorCode ReadBodyFields(const HeaderList& headers, int minor_version, bool protect, BodyFields* out);

}  // namespace credbroker::wire
