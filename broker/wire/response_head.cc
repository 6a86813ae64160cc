#include "wire/chars.h"
#include "wire/head_lines.h"

namespace credbroker::wire {
namespace {

// status-line := "HTTP/1." ("0" / "1") SP 3DIGIT SP [ reason ] CRLF
bool ReadStatusLine(std::string_view line, ResponseHead* out) {
  if (line.size() < 13 || !line.starts_with("HTTP/1.") || (line[7] != '0' && line[7] != '1')) return false;
  if (line[8] != ' ' || line[12] != ' ' || !chars::All(line.substr(9, 3), chars::kDigit)) return false;
  out->minor_version = line[7] - '0';
  out->status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  out->reason = line.substr(13);
  for (const char c : out->reason) {
    if (!chars::Is(c, chars::kFieldChar) && static_cast<unsigned char>(c) < 0x80) return false;
  }
  return out->status >= 100 && out->status <= 599;
}

// RFC 9112 section 6.3, in its order. False for lengths that contradict the status.
bool ReadFraming(std::string_view request_method, ResponseHead* out) {
  BodyFields body;
  if (ReadBodyFields(out->headers, out->minor_version, /*protect=*/false, &body) != base::ErrorCode::kNone)
    return false;
  const bool never_body = out->status < 200 || out->status == 204;
  // Servers that chunk all they send say so with 204 too (B43). It has no body all the same; whether an empty one
  // follows is not known, so that the connection ends there.
  const bool odd_204 = out->status == 204 && body.chunked;
  if (never_body && ((body.chunked && !odd_204) || body.length.value_or(0) > 0)) return false;
  const bool tunnel = request_method == "CONNECT" && out->status / 100 == 2;
  const bool no_body = never_body || tunnel || request_method == "HEAD" || out->status == 304;
  out->content_length = body.length.value_or(0);
  out->framing = no_body        ? Framing::kNone
                 : body.chunked ? Framing::kChunked
                 : body.length  ? Framing::kLength
                                : Framing::kUntilClose;
  out->keep_alive = !body.close && !odd_204 && (out->minor_version == 1 || body.keep_alive) &&
                    out->framing != Framing::kUntilClose;
  return true;
}

}  // namespace

ParseResult ParseResponseHead(std::string_view bytes, std::string_view request_method, const HeadLimits& limits,
                              ResponseHead* out) {
  const ParseResult malformed = ParseResult::Fail(base::ErrorCode::kUpstreamMalformed);
  constexpr std::string_view kStart = "HTTP/1.";
  LineCursor lines(bytes, limits.max_head_bytes);
  std::string_view line;
  ParseResult result = lines.Next(&line);
  if (result.need_more()) {
    const std::string_view part = bytes.substr(0, kStart.size());
    return kStart.starts_with(part) ? result : malformed;  // no wait for a peer that speaks something else
  }
  if (result.failed() || !ReadStatusLine(line, out)) return malformed;

  result = ParseFields(&lines, limits, ObsText::kAllow, &out->headers);
  if (result.need_more()) return result;
  if (result.failed() || !ReadFraming(request_method, out)) return malformed;
  return ParseResult::Complete(lines.consumed());
}

}  // namespace credbroker::wire
