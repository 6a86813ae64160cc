#include "wire/http_writer.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/error.h"
#include "base/str.h"
#include "wire/chars.h"

namespace credbroker::wire {
namespace {

struct Phrase {
  int status;
  std::string_view text;
};
constexpr std::array kPhrases = std::to_array<Phrase>({{100, "Continue"},
                                                       {101, "Switching Protocols"},
                                                       {200, "OK"},
                                                       {201, "Created"},
                                                       {202, "Accepted"},
                                                       {204, "No Content"},
                                                       {206, "Partial Content"},
                                                       {301, "Moved Permanently"},
                                                       {302, "Found"},
                                                       {303, "See Other"},
                                                       {304, "Not Modified"},
                                                       {307, "Temporary Redirect"},
                                                       {308, "Permanent Redirect"},
                                                       {400, "Bad Request"},
                                                       {401, "Unauthorized"},
                                                       {403, "Forbidden"},
                                                       {404, "Not Found"},
                                                       {405, "Method Not Allowed"},
                                                       {407, "Proxy Authentication Required"},
                                                       {408, "Request Timeout"},
                                                       {409, "Conflict"},
                                                       {411, "Length Required"},
                                                       {413, "Content Too Large"},
                                                       {414, "URI Too Long"},
                                                       {415, "Unsupported Media Type"},
                                                       {417, "Expectation Failed"},
                                                       {421, "Misdirected Request"},
                                                       {429, "Too Many Requests"},
                                                       {431, "Request Header Fields Too Large"},
                                                       {500, "Internal Server Error"},
                                                       {501, "Not Implemented"},
                                                       {502, "Bad Gateway"},
                                                       {503, "Service Unavailable"},
                                                       {504, "Gateway Timeout"},
                                                       {505, "HTTP Version Not Supported"}});

// Parsed values may hold obs-text (responses); what breaks a head are the controls.
bool KeepsLine(std::string_view value) {
  if (chars::NoControls(value, false)) return true;
  return std::none_of(value.begin(), value.end(),
                      [](char c) { return !chars::Is(c, chars::kFieldChar) && static_cast<unsigned char>(c) < 0x80; });
}

// A line break here would be ours to answer for: better no process than a split head.
void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

bool IsToken(std::string_view text) { return !text.empty() && chars::All(text, chars::kTokenChar); }
bool IsFieldValue(std::string_view text) { return chars::All(text, chars::kFieldChar); }

std::string_view ReasonPhrase(int status) {
  const auto* found =
      std::find_if(kPhrases.begin(), kPhrases.end(), [status](const Phrase& p) { return p.status == status; });
  return found == kPhrases.end() ? "Unknown" : found->text;
}

void AppendRequestLine(std::string_view method, std::string_view target, std::string* out) {
  Require(IsToken(method) && !target.empty() && KeepsLine(target) && target.find(' ') == std::string_view::npos);
  base::StrAppend(out, method, ' ', target, " HTTP/1.1\r\n");
}

void AppendStatusLine(int status, std::string* out) {
  Require(status >= 100 && status <= 599);
  base::StrAppend(out, "HTTP/1.1 ", status, ' ', ReasonPhrase(status), "\r\n");
}

void AppendHeader(std::string_view name, std::string_view value, std::string* out) {
  Require(IsToken(name) && KeepsLine(value));
  out->append(name).append(": ").append(value).append("\r\n");
}

void AppendHeader(std::string_view name, std::uint64_t value, std::string* out) {
  Require(IsToken(name));
  base::StrAppend(out, name, ": ", value, "\r\n");
}

absl::Status AppendForeignHeader(std::string_view name, std::string_view value, std::string* out) {
  if (!IsToken(name)) return base::Error(base::ErrorCode::kBadArgument, "a header name is no token");
  if (!IsFieldValue(value))
    return base::Error(base::ErrorCode::kBadArgument, "a header value has control or non-ASCII bytes");
  AppendHeader(name, value, out);
  return absl::OkStatus();
}

void AppendResponse(int status, std::string_view content_type, std::string_view body, Persist persist,
                    std::string_view extra, std::string* out) {
  Require(extra.empty() || extra.ends_with("\r\n"));
  AppendStatusLine(status, out);
  out->append(extra);
  if (!content_type.empty()) AppendHeader("content-type", content_type, out);
  AppendHeader("content-length", body.size(), out);
  if (persist == Persist::kClose) AppendHeader("connection", "close", out);
  AppendHeadEnd(out);
  out->append(body);
}

}  // namespace credbroker::wire
