#include "client/probe.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "model/authority.h"

namespace credbroker::client {
namespace {

using base::Error;
using base::ErrorCode;

int Milliseconds() { return static_cast<int>(absl::ToInt64Milliseconds(kProbeWait)); }

// A socket connected to the first address of `authority` that answers in time.
base::Fd Connected(const std::string& authority, int type) {
  const auto where = model::ParseAuthority(authority, std::nullopt);
  if (!where.ok()) return {};
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = type;
  if (getaddrinfo(where->host.c_str(), base::StrCat(where->port).c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    base::Fd fd(socket(one->ai_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd.ok()) continue;
    if (connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    if (errno != EINPROGRESS) continue;  // no route: a socket that failed at once polls as writable
    pollfd ready{fd.get(), POLLOUT, 0};
    int fault = 1;
    socklen_t size = sizeof fault;
    if (poll(&ready, 1, Milliseconds()) == 1 && getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &fault, &size) == 0 && fault == 0) return fd;
  }
  return {};
}

bool Send(const base::Fd& fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
      continue;
    }
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return false;
    pollfd ready{fd.get(), POLLOUT, 0};
    if (poll(&ready, 1, Milliseconds()) != 1) return false;
  }
  return true;
}

// Appends what comes next; false at the end, after an error or in silence.
bool Receive(const base::Fd& fd, std::string* in) {
  pollfd ready{fd.get(), POLLIN, 0};
  if (poll(&ready, 1, Milliseconds()) != 1) return false;
  char block[4096];
  const ssize_t got = recv(fd.get(), block, sizeof block, 0);
  if (got <= 0) return false;
  in->append(block, static_cast<std::size_t>(got));
  return true;
}

// The value of `name` in a head, lower case; -1 when it is absent.
int64_t LengthIn(std::string_view head) {
  const std::string lower = base::AsciiLower(head);
  const std::size_t at = lower.find("\r\ncontent-length:");
  if (at == std::string::npos) return -1;
  std::string_view value = std::string_view(lower).substr(at + 17);
  value = value.substr(0, value.find("\r\n"));
  value.remove_prefix(std::min(value.size(), value.find_first_not_of(' ')));
  int64_t length = -1;
  return base::ParseInt(value, &length) ? length : -1;
}

}  // namespace

absl::StatusOr<ProbeAnswer> AskHttp(const std::string& authority, std::string_view request) {
  const base::Fd fd = Connected(authority, SOCK_STREAM);
  if (!fd.ok() || !Send(fd, request)) return Error(ErrorCode::kUpstreamUnreachable, authority);
  std::string in;
  std::size_t end = std::string::npos;
  while ((end = in.find("\r\n\r\n")) == std::string::npos) {
    if (in.size() > kMaxProbeBody || !Receive(fd, &in)) return Error(ErrorCode::kUpstreamMalformed, authority);
  }
  ProbeAnswer answer;
  const bool http = in.starts_with("HTTP/1.") && in.size() > 12 && base::ParseInt(std::string_view(in).substr(9, 3), &answer.status);
  if (!http) return Error(ErrorCode::kUpstreamMalformed, authority);
  const int64_t length = LengthIn(std::string_view(in).substr(0, end + 2));
  answer.body = in.substr(end + 4);
  const std::size_t most = length < 0 ? kMaxProbeBody : std::min<std::size_t>(static_cast<std::size_t>(length), kMaxProbeBody);
  const bool bodyless = answer.status == 200 && length < 0 && request.starts_with("CONNECT ");
  while (!bodyless && answer.body.size() < most && Receive(fd, &answer.body)) {
  }
  return answer;
}

bool ReachesTcp(const std::string& authority) { return Connected(authority, SOCK_STREAM).ok(); }

bool ReachesDns(const std::string& authority) {
  const base::Fd fd = Connected(authority, SOCK_DGRAM);
  // RFC 1035: id 0x6362, recursion desired, one question: example. A IN.
  constexpr char kQuestion[] = "cb\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x07" "example\x00\x00\x01\x00\x01";
  if (!fd.ok() || !Send(fd, {kQuestion, sizeof kQuestion - 1})) return false;
  std::string in;
  return Receive(fd, &in) && in.starts_with("cb");
}

}  // namespace credbroker::client
