#include "wire/pktline.h"

#include <algorithm>
#include <cstdlib>

#include "wire/chars.h"

namespace credbroker::wire {

ParseResult ParsePkt(std::string_view bytes, Pkt* out) {
  const ParseResult malformed = ParseResult::Fail(base::ErrorCode::kBadGitRequest);
  std::size_t length = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, bytes.size()); ++i) {
    const int digit = chars::HexValue(bytes[i]);
    if (digit < 0) return malformed;
    length = length * 16 + static_cast<std::size_t>(digit);
  }
  if (bytes.size() < 4) return ParseResult::NeedMore();
  if (length == 3 || length > kMaxPktBytes) return malformed;
  if (length < 4) {
    *out = {static_cast<PktKind>(length + 1), {}};
    return ParseResult::Complete(4);
  }
  if (bytes.size() < length) return ParseResult::NeedMore();
  *out = {PktKind::kData, bytes.substr(4, length - 4)};
  return ParseResult::Complete(length);
}

std::string_view ChompLine(std::string_view payload) {
  if (payload.ends_with('\n')) payload.remove_suffix(1);
  return payload;
}

void AppendPkt(std::string_view payload, std::string* out) {
  if (payload.size() > kMaxPktPayload) std::abort();
  constexpr std::string_view kDigits = "0123456789abcdef";
  const std::size_t length = payload.size() + 4;
  for (int shift = 12; shift >= 0; shift -= 4) out->push_back(kDigits[(length >> shift) & 15]);
  out->append(payload);
}

void AppendSideBand(int band, std::string_view payload, std::string* out) {
  while (!payload.empty()) {
    const std::string_view piece = payload.substr(0, kMaxPktPayload - 1);
    payload.remove_prefix(piece.size());
    std::string framed(1, static_cast<char>(band));
    framed.append(piece);
    AppendPkt(framed, out);
  }
}

}  // namespace credbroker::wire
