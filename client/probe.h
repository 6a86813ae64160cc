#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace credbroker::client {

// Raw sockets with short deadlines, for the pilot: nothing tidies up what is sent, and nothing is sent that the test did not
// mean. Names are resolved by the system. Blocking; not for servers.

inline constexpr absl::Duration kProbeWait = absl::Seconds(5);  // connect and each answer

struct ProbeAnswer {
  int status = 0;    // of HTTP, 0 when there was none
  std::string body;  // at most kMaxProbeBody bytes
};
inline constexpr std::size_t kMaxProbeBody = 64 * 1024;

// Sends `request` to HOST:PORT and reads one HTTP/1.1 answer: to its length, or to the end. Fails kUpstreamUnreachable,
// kUpstreamMalformed.
absl::StatusOr<ProbeAnswer> AskHttp(const std::string& authority, std::string_view request);

// Does a TCP connection to HOST:PORT come about, or a DNS server at HOST:PORT answer a question?
bool ReachesTcp(const std::string& authority);
bool ReachesDns(const std::string& authority);

}  // namespace credbroker::client
