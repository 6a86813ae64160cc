#include "client/git_credential.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/str.h"
#include "credbroker/credbroker.h"
#include "model/authority.h"

namespace credbroker::client {
namespace {

using Attributes = std::map<std::string, std::string, std::less<>>;

absl::Status Refused(std::string_view why) { return base::Error(base::ErrorCode::kBadArgument, why); }

bool HasControlByte(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
}

absl::Status AddLine(std::string_view line, Attributes* attributes) {
  if (HasControlByte(line)) return Refused("git's question holds a control byte");
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos || equals == 0) return Refused("git's question holds a line without a key");
  const std::string key(line.substr(0, equals));
  if (key.ends_with("[]")) return absl::OkStatus();
  if (!attributes->emplace(key, line.substr(equals + 1)).second) return Refused("git's question names a key twice");
  return absl::OkStatus();
}

absl::StatusOr<Attributes> ReadAttributes(std::string_view input) {
  Attributes attributes;
  while (!input.empty()) {
    const std::size_t end = std::min(input.find('\n'), input.size());
    const std::string_view line = input.substr(0, end);
    if (line.empty()) break;
    if (const absl::Status status = AddLine(line, &attributes); !status.ok()) return status;
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return attributes;
}

uint16_t DefaultPort(std::string_view protocol) { return protocol == "http" ? 80 : 443; }

bool SameHost(std::string_view listed, const CredentialQuestion& question) {
  const uint16_t port = DefaultPort(question.protocol);
  const auto authority = model::ParseAuthority(listed, port);
  return authority.ok() && authority->Text(port) == question.host;
}

}  // namespace

absl::StatusOr<CredentialQuestion> ReadCredentialQuestion(std::string_view input) {
  if (input.size() > kMaxCredentialInput) return base::Error(base::ErrorCode::kTooLarge, "git's question");
  const absl::StatusOr<Attributes> attributes = ReadAttributes(input);
  if (!attributes.ok()) return attributes.status();
  const auto protocol = attributes->find("protocol");
  if (protocol == attributes->end()) return Refused("git's question names no protocol");
  if (protocol->second != "https" && protocol->second != "http")
    return Refused("git asks for another protocol than http");
  const auto host = attributes->find("host");
  if (host == attributes->end() || host->second.empty()) return Refused("git's question names no host");
  const uint16_t port = DefaultPort(protocol->second);
  const auto authority = model::ParseAuthority(host->second, port);
  if (!authority.ok()) return Refused("git's question names a host that cannot be read");
  return CredentialQuestion{protocol->second, authority->Text(port)};
}

std::string AnswerCredential(const CredentialQuestion& question, const CredentialHosts& hosts, std::string_view token) {
  const bool gateway = !hosts.gateway.empty() && SameHost(hosts.gateway, question);
  // Over plain http the token would cross the network to a host that is not the edge.
  const bool repository =
      question.protocol == "https" && std::any_of(hosts.repositories.begin(), hosts.repositories.end(),
                                                  [&](const std::string& host) { return SameHost(host, question); });
  if (!gateway && !repository) return {};
  if (token.empty() || HasControlByte(token)) return {};
  return base::StrCat("username=", kTokenUser, "\npassword=", token, "\n");
}

}  // namespace credbroker::client
