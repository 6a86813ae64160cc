#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "audit/ledger.h"
#include "base/error.h"
#include "base/pooled.h"
#include "base/secret.h"
#include "gate/accounts.h"
#include "gate/callers.h"
#include "model/decision.h"
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
  Passage(Passage&& other) noexcept = default;
  Passage& operator=(Passage&&) = delete;
  ~Passage();

  const model::Allow& allow() const { return state_->allow; }
  const audit::IntentReceipt& receipt() const { return *state_->receipt; }
  // Null when the decision names no credential.
  const Lease* lease() const { return state_->lease.get(); }
  const std::string& request_id() const { return state_->request_id; }

  // Counts body bytes of a running transfer, either way. False when the session has moved more than the scope allows: the
  // transfer ends with kByteLimit.
  bool Move(int64_t bytes) const {
    const int64_t limit = state_->allow->limits.bytes;
    return limit == 0 || state_->account->Move(bytes, limit);
  }

 private:
  friend class Gate;
  // In one place that does not move: a passage goes through several hands.
  struct State : base::Pooled {
    explicit State(model::Allow granted) : allow(std::move(granted)) {}

    Gate* gate = nullptr;  // set while the ledger holds an intent without outcome
    std::string request_id;
    audit::Position intent;
    Account* account = nullptr;  // of its session and scope; stays while this runs
    model::Allow allow;
    std::optional<audit::IntentReceipt> receipt;
    std::shared_ptr<const Lease> lease;
    absl::Duration opened;
  };
  explicit Passage(model::Allow allow) : state_(std::make_unique<State>(std::move(allow))) {}

  std::unique_ptr<State> state_;
};

// Why a request does not go on, in the words that the sandbox may read.
struct Refusal {
  base::ErrorCode code = base::ErrorCode::kInternal;
  std::string rule;
  std::string request_id;
  std::string ref;  // the ref that was refused, for pushes
  std::string path, pattern;  // the protected path that it changes, and the pattern that protects it
};

}  // namespace credbroker::gate
