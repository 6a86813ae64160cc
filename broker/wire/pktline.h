#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "wire/parse_result.h"

namespace credbroker::wire {

// Git's packet lines (gitprotocol-common): four hex digits of length, themselves included, then the payload.
inline constexpr std::size_t kMaxPktBytes = 65520;
inline constexpr std::size_t kMaxPktPayload = kMaxPktBytes - 4;

enum class PktKind { kData, kFlush, kDelimiter, kResponseEnd };  // 0004.., 0000, 0001, 0002

struct Pkt {
  PktKind kind = PktKind::kFlush;
  std::string_view payload;  // kData only; a view into the parsed bytes, the line feed included
};

// Reads one packet from the start of `bytes`. kBadGitRequest for digits that are none, 0003, or above kMaxPktBytes.
ParseResult ParsePkt(std::string_view bytes, Pkt* out);

// `payload` without one line feed at its end.
std::string_view ChompLine(std::string_view payload);

// Appends one data packet. Aborts above kMaxPktPayload.
void AppendPkt(std::string_view payload, std::string* out);
// Appends packets of one side-band (1 data, 2 text for the user), as many as `payload` needs.
void AppendSideBand(int band, std::string_view payload, std::string* out);
inline void AppendFlush(std::string* out) { out->append("0000"); }

}  // namespace credbroker::wire
