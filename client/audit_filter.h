#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace CLI {
class App;
}
namespace credbroker::v1 {
class ListRecordsRequest;
}

namespace credbroker::client {

// Which records a command is about, as its flags say. All that are given must hold.
struct AuditFilter {
  std::string session, repository, requester, rule, effect_class, kind, exception, request_id, token_id, credential, host,
      code, action, decision, since, until;
  int64_t policy_version = 0;
};

void AddFilterFlags(CLI::App* leaf, AuditFilter& filter);

// A moment (RFC 3339, a date), or how long ago (15m, 7d). Fails kBadTime.
absl::StatusOr<absl::Time> ReadMoment(const std::string& text);

// Without a limit. Fails kBadTime.
absl::StatusOr<v1::ListRecordsRequest> MakeFilter(const AuditFilter& filter);

}  // namespace credbroker::client
