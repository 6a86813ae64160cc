#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace credbroker::wire {

// Append parts of an HTTP/1.1 head to `out`. A head ends with AppendHeadEnd. These abort on bytes that would break the
// head (CR, LF, NUL, a name that is no token): the caller passes its own or parsed text only.
void AppendRequestLine(std::string_view method, std::string_view target, std::string* out);
// The reason phrase is the standard one.
void AppendStatusLine(int status, std::string* out);
void AppendHeader(std::string_view name, std::string_view value, std::string* out);
void AppendHeader(std::string_view name, std::uint64_t value, std::string* out);
inline void AppendHeadEnd(std::string* out) { out->append("\r\n"); }

// The same for text that nobody has checked; fails with kBadArgument and appends nothing.
absl::Status AppendForeignHeader(std::string_view name, std::string_view value, std::string* out);

// A token (RFC 9110 section 5.6.2), and a field value of visible ASCII, spaces and tabs.
bool IsToken(std::string_view text);
bool IsFieldValue(std::string_view text);

// `OK` for 200; `Unknown` for a status that has no entry.
std::string_view ReasonPhrase(int status);

enum class Persist { kKeep, kClose };
// A whole response with a body: status line, `extra` (whole header lines, each with CRLF), content-type,
// content-length, connection: close if asked.
void AppendResponse(int status, std::string_view content_type, std::string_view body, Persist persist,
                    std::string_view extra, std::string* out);

inline constexpr std::string_view kContinueResponse = "HTTP/1.1 100 Continue\r\n\r\n";
inline constexpr std::string_view kEstablishedResponse = "HTTP/1.1 200 Connection established\r\n\r\n";

}  // namespace credbroker::wire
