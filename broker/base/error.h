#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace credbroker::base {

// The one catalogue of errors (errors.def). Numbers are stable and public: users see them in refusals, audit
// records and exit messages. 1xxx who, 2xxx policy, 3xxx framing and transport, 4xxx ledger and storage,
// 5xxx control (admin input), 6xxx upstream, 9xxx our own fault.
enum class ErrorCode : int {
  kNone = 0,
#define BROKER_ERROR(number, name, status, http, text, next_step) name = number,
#include "base/errors.def"
#undef BROKER_ERROR
};

struct ErrorEntry {
  ErrorCode code;
  std::string_view name;       // stable word, snake case, without the k: `no_rule`
  absl::StatusCode status;     // over gRPC
  int http_status;             // over HTTP
  std::string_view text;       // what the caller reads; holds no data of the request
  std::string_view next_step;  // what the caller can do
};

// The entry of `code`; an unknown number gives the entry of kInternal.
const ErrorEntry& Lookup(ErrorCode code);

// A status that carries `code`. `detail` is for logs and admins, never for a sandbox; no secret, no payload bytes.
absl::Status Error(ErrorCode code, std::string_view detail = {});

// The code that `status` carries. A status without one is kInternal; OK is kNone.
ErrorCode CodeOf(const absl::Status& status);

// Prepends `context` to the message ("loading grant g-17: ..."), keeps code and payload.
absl::Status WithContext(absl::Status status, std::string_view context = {});

}  // namespace credbroker::base
