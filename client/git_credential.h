#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace credbroker::client {

// git's credential helper protocol (gitcredentials(7), git-credential(1)):
//   input := (key "=" value LF)* (LF | end of file)
inline constexpr std::size_t kMaxCredentialInput = 64 << 10;

// What git asks for. `host` is canonical, with a port unless it is the protocol's own.
struct CredentialQuestion {
  std::string protocol;  // http, https
  std::string host;
};

// Reads a question. Strict, because a line break smuggled into a value makes a helper answer for another host
// (CVE-2020-5260, CVE-2020-11008, CVE-2024-50338). Fails kBadArgument: control bytes, a line without key or `=`, a
// doubled key (lists like `wwwauth[]` may repeat), no protocol or host, a host that is not canonical in meaning,
// another protocol than http and https; kTooLarge above kMaxCredentialInput. Pure, thread-safe.
absl::StatusOr<CredentialQuestion> ReadCredentialQuestion(std::string_view input);

// For whom the token is.
struct CredentialHosts {
  std::string gateway;                    // host:port of the gateway, reached over http or https
  std::vector<std::string> repositories;  // host[:port] of the token's repositories, reached over https
};

// The answer, `username=...` and `password=...`, or nothing for a host that the token is not for.
std::string AnswerCredential(const CredentialQuestion& question, const CredentialHosts& hosts, std::string_view token);

}  // namespace credbroker::client
