#include "wire/http_head.h"

#include <array>

#include "wire/chars.h"
#include "wire/head_lines.h"
#include "wire/hop.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

// request-line := method SP target SP "HTTP/1." ("0" / "1") CRLF
// What is not here is refused: a method that the policy cannot name has no rule either.
constexpr std::array<std::string_view, 8> kMethods = {"GET",    "POST",    "HEAD",  "PUT",
                                                      "DELETE", "OPTIONS", "PATCH", "CONNECT"};
constexpr std::size_t kMaxMethodBytes = 24;
// Behind the target: SP HTTP/1.1 CRLF.
constexpr std::size_t kVersionBytes = 11;

bool IsAuthority(std::string_view text) { return !text.empty() && chars::All(text, chars::kHostChar); }

ErrorCode ReadVersion(std::string_view text, int* minor) {
  if (text.size() != 8 || !text.starts_with("HTTP/") || !chars::Is(text[5], chars::kDigit) || text[6] != '.' ||
      !chars::Is(text[7], chars::kDigit)) {
    return ErrorCode::kMalformedHttp;
  }
  if (text[5] != '1' || text[7] > '1') return ErrorCode::kHttpVersion;
  *minor = text[7] - '0';
  return ErrorCode::kNone;
}

ErrorCode ReadMethod(std::string_view method) {
  for (const std::string_view known : kMethods) {
    if (method == known) return ErrorCode::kNone;
  }
  return !method.empty() && chars::All(method, chars::kTokenChar) ? ErrorCode::kMethodNotSupported
                                                                  : ErrorCode::kMalformedHttp;
}

ErrorCode ReadAbsolute(std::string_view target, RequestHead* out) {
  const bool https = target.size() >= 8 && EqualsToken(target.substr(0, 8), "https://");
  const bool http = target.size() >= 7 && EqualsToken(target.substr(0, 7), "http://");
  if (!http && !https) return ErrorCode::kMalformedHttp;
  const std::string_view rest = target.substr(https ? 8 : 7);
  // A target without a path would have to be rewritten before a rule can be tested on it.
  const std::size_t slash = rest.find_first_of("/?");
  if (slash == std::string_view::npos || rest[slash] != '/') return ErrorCode::kMalformedHttp;
  out->form = TargetForm::kAbsolute;
  out->scheme = https ? "https" : "http";
  out->authority = rest.substr(0, slash);
  out->resource = rest.substr(slash);
  return IsAuthority(out->authority) ? ErrorCode::kNone : ErrorCode::kBadHost;
}

ErrorCode ReadTarget(RequestHead* out) {
  const std::string_view target = out->target;
  out->scheme = out->authority = out->resource = {};
  if (target.empty() || !chars::All(target, chars::kTargetChar)) return ErrorCode::kMalformedHttp;
  if (out->method == "CONNECT") {
    out->form = TargetForm::kAuthority;
    out->authority = target;
    return IsAuthority(target) ? ErrorCode::kNone : ErrorCode::kBadHost;
  }
  if (target == "*") {
    out->form = TargetForm::kAsterisk;
    out->resource = target;
    return out->method == "OPTIONS" ? ErrorCode::kNone : ErrorCode::kMalformedHttp;
  }
  if (target.front() != '/') return ReadAbsolute(target, out);
  out->form = TargetForm::kOrigin;
  out->resource = target;
  return ErrorCode::kNone;
}

ErrorCode ReadRequestLine(std::string_view line, const HeadLimits& limits, RequestHead* out) {
  const std::size_t first = line.find(' ');
  if (first == std::string_view::npos) return ErrorCode::kMalformedHttp;
  const std::size_t last = line.rfind(' ');
  out->method = line.substr(0, first);
  if (last == first) return ErrorCode::kMalformedHttp;
  out->target = line.substr(first + 1, last - first - 1);
  if (const ErrorCode error = ReadVersion(line.substr(last + 1), &out->minor_version); error != ErrorCode::kNone)
    return error;
  if (out->target.size() > limits.max_target_bytes) return ErrorCode::kUriTooLong;
  if (const ErrorCode error = ReadMethod(out->method); error != ErrorCode::kNone) return error;
  return ReadTarget(out);
}

// Judged before the line's end is there, and in the same way when it is: a peer that speaks TLS or sends one endless
// line is not waited for. `start` is the line up to its LF, or all there is.
ErrorCode JudgeLineStart(std::string_view start, const HeadLimits& limits) {
  if (!start.empty() && !chars::Is(start.front(), chars::kTokenChar)) return ErrorCode::kMalformedHttp;
  const bool fits = start.size() <= limits.max_target_bytes + kMaxMethodBytes + kVersionBytes;
  return fits ? ErrorCode::kNone : ErrorCode::kUriTooLong;
}

// Fields that no two readers may take from different lines. The answer names what was doubled where that helps.
ErrorCode JudgeRepeats(const HeaderList& headers) {
  struct Single {
    std::string_view name;
    ErrorCode error;
  };
  static constexpr std::array<Single, 9> kSingles = {{{"host", ErrorCode::kBadHost},
                                                      {"authorization", ErrorCode::kAmbiguousToken},
                                                      {"proxy-authorization", ErrorCode::kAmbiguousToken},
                                                      {"content-type", ErrorCode::kMalformedHttp},
                                                      {"content-encoding", ErrorCode::kMalformedHttp},
                                                      {"git-protocol", ErrorCode::kMalformedHttp},
                                                      {"connection", ErrorCode::kMalformedHttp},
                                                      {"expect", ErrorCode::kMalformedHttp},
                                                      {"upgrade", ErrorCode::kMalformedHttp}}};
  std::array<bool, kSingles.size()> seen{};
  for (const Header& field : headers) {
    if (IsUnderscoreDisguise(field.name)) return ErrorCode::kMalformedHttp;
    for (std::size_t i = 0; i < kSingles.size(); ++i) {
      if (!EqualsToken(field.name, kSingles[i].name)) continue;
      if (seen[i]) return kSingles[i].error;
      seen[i] = true;
    }
  }
  return ErrorCode::kNone;
}

ErrorCode ReadHost(RequestHead* out) {
  const std::optional<std::string_view> host = out->FindHeader("host");
  out->host = host.value_or(std::string_view());
  if (host) return IsAuthority(*host) ? ErrorCode::kNone : ErrorCode::kBadHost;
  const bool named_elsewhere = out->form == TargetForm::kAuthority || out->form == TargetForm::kAbsolute;
  return out->minor_version == 0 && named_elsewhere ? ErrorCode::kNone : ErrorCode::kBadHost;
}

ErrorCode ReadExpect(RequestHead* out) {
  out->expect_continue = false;
  const std::optional<std::string_view> expect = out->FindHeader("expect");
  if (!expect) return ErrorCode::kNone;
  if (!EqualsToken(*expect, "100-continue")) return ErrorCode::kExpectation;
  out->expect_continue = out->minor_version == 1;  // RFC 9110 section 10.1.1: ignored in HTTP/1.0
  return ErrorCode::kNone;
}

ErrorCode ReadFraming(RequestHead* out) {
  BodyFields body;
  const ErrorCode error = ReadBodyFields(out->headers, out->minor_version, /*protect=*/true, &body);
  if (error != ErrorCode::kNone) return error;
  if (out->form == TargetForm::kAuthority && (body.chunked || body.length.value_or(0) > 0)) {
    return ErrorCode::kAmbiguousFraming;  // the bytes could be a body or the tunnel's first ones
  }
  out->content_length = body.length.value_or(0);
  out->framing = body.chunked ? Framing::kChunked : body.length ? Framing::kLength : Framing::kNone;
  out->keep_alive = !body.close && (out->minor_version == 1 || body.keep_alive);
  out->upgrade = out->headers.Find("upgrade").has_value();
  return ErrorCode::kNone;
}

}  // namespace

ParseResult ParseRequestHead(std::string_view bytes, const HeadLimits& limits, RequestHead* out) {
  LineCursor lines(bytes, limits.max_head_bytes);
  std::string_view line;
  const ErrorCode start = JudgeLineStart(bytes.substr(0, bytes.find('\n')), limits);
  if (start != ErrorCode::kNone) return ParseResult::Fail(start);
  ParseResult result = lines.Next(&line);
  if (!result.complete()) return result;
  if (const ErrorCode error = ReadRequestLine(line, limits, out); error != ErrorCode::kNone)
    return ParseResult::Fail(error);

  result = ParseFields(&lines, limits, ObsText::kRefuse, &out->headers);
  if (!result.complete()) return result;
  if (const ErrorCode error = JudgeRepeats(out->headers); error != ErrorCode::kNone) return ParseResult::Fail(error);
  for (const auto read : {ReadHost, ReadFraming, ReadExpect}) {
    if (const ErrorCode error = read(out); error != ErrorCode::kNone) return ParseResult::Fail(error);
  }
  return ParseResult::Complete(lines.consumed());
}

}  // namespace credbroker::wire
