#include "wire/head_lines.h"

#include "base/str.h"
#include "wire/chars.h"
#include "wire/hop.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

std::string_view TrimSpace(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool IsValue(std::string_view value, ObsText obs_text) {
  if (chars::NoControls(value, true) || chars::All(value, chars::kFieldChar)) return true;
  if (obs_text == ObsText::kRefuse) return false;
  for (const char c : value) {
    if (!chars::Is(c, chars::kFieldChar) && static_cast<unsigned char>(c) < 0x80) return false;
  }
  return true;
}

bool ParseField(std::string_view line, ObsText obs_text, Header* out) {
  const std::size_t colon = line.find(':');
  // No colon, an empty name, white space before the colon and a folded line all fail here: a space is no token byte.
  if (colon == std::string_view::npos || colon == 0) return false;
  out->name = line.substr(0, colon);
  out->value = TrimSpace(line.substr(colon + 1));
  return chars::All(out->name, chars::kTokenChar) && IsValue(out->value, obs_text);
}

ErrorCode TakeLength(std::string_view value, BodyFields* out) {
  // 18 digits stay below 2^63. A list, a sign, hex and leading zeros have more than one reading among servers.
  if (value.empty() || value.size() > 18 || !chars::All(value, chars::kDigit)) return ErrorCode::kAmbiguousFraming;
  if (value.size() > 1 && value.front() == '0') return ErrorCode::kAmbiguousFraming;
  std::uint64_t length = 0;
  base::ParseInt(value, &length);
  if (out->length && *out->length != length) return ErrorCode::kAmbiguousFraming;
  out->length = length;
  return ErrorCode::kNone;
}

ErrorCode TakeConnection(std::string_view value, bool protect, BodyFields* out) {
  TokenList list(value);
  for (std::string_view token; list.Next(&token);) {
    if (EqualsToken(token, "close")) out->close = true;
    if (EqualsToken(token, "keep-alive")) out->keep_alive = true;
    if (protect && IsProtectedFromConnection(token)) return ErrorCode::kMalformedHttp;
  }
  return list.malformed() ? ErrorCode::kMalformedHttp : ErrorCode::kNone;
}

}  // namespace

bool internal::EqualsTokenOfSameSize(std::string_view a, std::string_view b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i] && chars::Lower(a[i]) != chars::Lower(b[i])) return false;
  }
  return true;
}

std::optional<std::string_view> HeaderList::Find(std::string_view name) const {
  for (const Header& field : fields_) {
    if (EqualsToken(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::size_t HeaderList::Count(std::string_view name) const {
  std::size_t count = 0;
  for (const Header& field : fields_) count += EqualsToken(field.name, name) ? 1 : 0;
  return count;
}

ParseResult LineCursor::Next(std::string_view* line) {
  const std::string_view rest = bytes_.substr(at_);
  const std::size_t feed = rest.find('\n');
  const bool whole = feed != std::string_view::npos;
  if (at_ + (whole ? feed + 1 : rest.size()) > max_bytes_) return ParseResult::Fail(ErrorCode::kHeadTooLarge);
  if (!whole) return ParseResult::NeedMore();
  if (feed == 0 || rest[feed - 1] != '\r') return ParseResult::Fail(ErrorCode::kMalformedHttp);
  *line = rest.substr(0, feed - 1);
  at_ += feed + 1;
  return ParseResult::Complete(at_);
}

ParseResult ParseFields(LineCursor* lines, const HeadLimits& limits, ObsText obs_text, HeaderList* out) {
  out->Clear();
  std::string_view line;
  while (true) {
    const ParseResult result = lines->Next(&line);
    if (!result.complete() || line.empty()) return result;
    if (out->size() == limits.max_headers) return ParseResult::Fail(ErrorCode::kHeadTooLarge);
    Header field;
    if (!ParseField(line, obs_text, &field)) return ParseResult::Fail(ErrorCode::kMalformedHttp);
    out->Add(field);
  }
}

ErrorCode ReadBodyFields(const HeaderList& headers, int minor_version, bool protect, BodyFields* out) {
  for (const Header& field : headers) {
    ErrorCode error = ErrorCode::kNone;
    if (EqualsToken(field.name, "content-length")) {
      error = TakeLength(field.value, out);
    } else if (EqualsToken(field.name, "transfer-encoding")) {
      // One field, one coding: everything else is where readers part (RFC 9112 section 6.1).
      if (out->chunked || minor_version == 0 || !EqualsToken(field.value, "chunked"))
        error = ErrorCode::kAmbiguousFraming;
      out->chunked = true;
    } else if (EqualsToken(field.name, "connection")) {
      error = TakeConnection(field.value, protect, out);
    }
    if (error != ErrorCode::kNone) return error;
  }
  return out->chunked && out->length ? ErrorCode::kAmbiguousFraming : ErrorCode::kNone;
}

}  // namespace credbroker::wire
