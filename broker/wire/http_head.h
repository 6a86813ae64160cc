#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "wire/parse_result.h"

namespace credbroker::wire {

// HTTP/1 heads (RFC 9112), read strictly: CRLF only, no folding, no space before the colon, one way to tell the
// body's length. What two readers could read in two ways is refused. Every view points into the parsed bytes.

struct Header {
  std::string_view name;   // a token, in the sender's letter case
  std::string_view value;  // without the white space around it
};

// How long the body is.
enum class Framing {
  kNone,        // no body
  kLength,      // `content_length` bytes (may be 0)
  kChunked,     // wire/chunked.h
  kUntilClose,  // responses only: all bytes until the peer closes
};

// The form of a request target (RFC 9112 section 3.2).
enum class TargetForm { kOrigin, kAbsolute, kAuthority, kAsterisk };

struct HeadLimits {
  std::size_t max_head_bytes = 64 * 1024;   // the whole head: kHeadTooLarge
  std::size_t max_target_bytes = 8 * 1024;  // the request target: kUriTooLong
  std::size_t max_headers = 128;            // header lines: kHeadTooLarge
};

// Header fields in the order of arrival. Keeps its memory when parsed into again, so that a connection allocates once.
class HeaderList {
 public:
  // The first field of that name (any letter case), or none.
  std::optional<std::string_view> Find(std::string_view name) const;
  std::size_t Count(std::string_view name) const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }
  const Header& operator[](std::size_t i) const { return fields_[i]; }

  void Clear() { fields_.clear(); }
  void Add(const Header& field) { fields_.push_back(field); }

 private:
  std::vector<Header> fields_;
};

struct RequestHead {
  std::string_view method;  // GET HEAD POST PUT PATCH DELETE OPTIONS CONNECT; nothing else parses
  std::string_view target;  // as sent, 1 to max_target_bytes of visible ASCII
  int minor_version = 1;    // HTTP/1.minor_version: 0 or 1
  HeaderList headers;

  TargetForm form = TargetForm::kOrigin;
  std::string_view scheme;     // absolute form: `http` or `https` in lower case; else empty
  std::string_view authority;  // absolute form: host[:port] of the target; authority form: the target; else empty
  std::string_view resource;   // path and query: starts with '/'; `*` for OPTIONS *; empty for CONNECT
  std::string_view host;       // value of Host, empty if there is none (HTTP/1.0 or CONNECT in HTTP/1.0 only)

  Framing framing = Framing::kNone;  // kNone, kLength or kChunked
  std::uint64_t content_length = 0;
  bool keep_alive = true;        // the sender would use the connection again
  bool expect_continue = false;  // answer 100 before reading the body
  bool upgrade = false;          // an Upgrade field is present, whatever Connection says

  std::optional<std::string_view> FindHeader(std::string_view name) const { return headers.Find(name); }
  std::size_t CountHeader(std::string_view name) const { return headers.Count(name); }
};

// Reads one request head from the start of `bytes`; `consumed` is where the body starts.
//
// Refuses with kMalformedHttp, kAmbiguousFraming (two lengths, CL with TE, TE other than `chunked`, TE in HTTP/1.0,
// a body on CONNECT), kBadHost (Host missing, twice, or with bytes no host has), kAmbiguousToken (Authorization or
// Proxy-Authorization twice), kUriTooLong, kHeadTooLarge, kHttpVersion, kMethodNotSupported, kExpectation.
// Also refused: an empty line before the request, user-info and fragments in the target, non-ASCII bytes anywhere,
// repeated Content-Type, Content-Encoding and Git-Protocol, underscore spellings of fields that carry credentials or
// framing, and a Connection field that names an end-to-end field.
//
// Judges whole lines only, so the outcome does not depend on how the bytes were cut. `out` is valid on kComplete
// and while the bytes stay where they are; it may be used again for the next request.
ParseResult ParseRequestHead(std::string_view bytes, const HeadLimits& limits, RequestHead* out);

struct ResponseHead {
  int status = 0;  // 100 to 599
  std::string_view reason;
  int minor_version = 1;
  HeaderList headers;

  Framing framing = Framing::kNone;
  std::uint64_t content_length = 0;  // also for kNone answers to HEAD and for 304: what a GET would have had
  bool keep_alive = true;            // the connection may be used again after the body

  bool interim() const { return status < 200 && status != 101; }
  std::optional<std::string_view> FindHeader(std::string_view name) const { return headers.Find(name); }
  std::size_t CountHeader(std::string_view name) const { return headers.Count(name); }
};

// Reads one response head; `request_method` decides about the body (RFC 9112 section 6.3). Fails with
// kUpstreamMalformed alone. Bytes above 0x7F are allowed in values. Otherwise like ParseRequestHead.
ParseResult ParseResponseHead(std::string_view bytes, std::string_view request_method, const HeadLimits& limits,
                              ResponseHead* out);

namespace internal {
bool EqualsTokenOfSameSize(std::string_view a, std::string_view b);
}
// Field names and tokens compare without letter case (ASCII). The length decides most comparisons, so it is inline.
inline bool EqualsToken(std::string_view a, std::string_view b) {
  return a.size() == b.size() && internal::EqualsTokenOfSameSize(a, b);
}

}  // namespace credbroker::wire
