#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "audit/ledger.h"
#include "base/error.h"
#include "base/secret.h"
#include "gate/callers.h"
#include "model/decision.h"
#include "model/record.h"
#include "rewrite/scrub.h"

namespace credbroker::gate {

class Gate;

// A credential's value lent for a bounded time, with the texts that must not come back. Immutable, shared.
struct Lease {
  base::Secret secret;
  std::shared_ptr<const rewrite::ScrubSet> scrub;
  absl::Time expires_at;
  int64_t secret_version = 0;
};

// What became of an allowed request.
struct Outcome {
  enum class Result { kDone, kFailed, kUnknown };
  Result result = Result::kUnknown;
  base::ErrorCode code = base::ErrorCode::kNone;  // why it failed
  int status = -1;                                // HTTP status that the sandbox got
  int64_t bytes_up = 0, bytes_down = 0;           // body bytes
};

// The right to have one effect: an Allow, its intent in the ledger, and the lease if a credential is due. Injection takes
// nothing else. Closed exactly once: by Gate::Close, or as `unknown` when it dies (a connection that was cut).
class Passage {
 public:
  Passage(Passage&& other) noexcept;
  Passage& operator=(Passage&&) = delete;
  ~Passage();

  const model::Allow& allow() const { return allow_; }
  const audit::IntentReceipt& receipt() const { return receipt_; }
  // Null when the decision names no credential.
  const Lease* lease() const { return lease_.get(); }
  const std::string& request_id() const { return record_->request_id; }

 private:
  friend class Gate;
  Passage(Gate* gate, model::Allow allow, audit::IntentReceipt receipt, std::unique_ptr<model::Record> record, absl::Duration opened);

  Gate* gate_;  // null once closed
  model::Allow allow_;
  audit::IntentReceipt receipt_;
  std::shared_ptr<const Lease> lease_;
  std::unique_ptr<model::Record> record_;  // the intent; becomes the outcome
  absl::Duration opened_;
};

// Why a request does not go on, in the words that the sandbox may read.
struct Refusal {
  base::ErrorCode code = base::ErrorCode::kInternal;
  std::string rule;
  std::string request_id;
  std::string ref;  // the ref that was refused, for pushes
};

}  // namespace credbroker::gate
