#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "audit/ledger.h"
#include "base/clock.h"
#include "base/task.h"
#include "gate/accounts.h"
#include "gate/callers.h"
#include "gate/passage.h"
#include "gate/rate.h"
#include "gate/state_board.h"
#include "model/facts.h"
#include "model/record.h"
#include "policy/catalogue.h"
#include "policy/decide.h"

namespace credbroker::gate {

// Where leases come from. `Borrow` gives a lease for what `allow` names, fetched once for all that wait for it, and
// never an empty one. Fails kCredentialNotSet, kProviderDown, kTokenRevoked. `deadline` is monotonic time.
class LeaseSource {
 public:
  virtual ~LeaseSource() = default;
  virtual base::Task<absl::StatusOr<std::shared_ptr<const Lease>>> Borrow(const model::Allow& allow, const audit::IntentReceipt& receipt,
                                                                         std::string session, absl::Duration deadline) = 0;
};

// The gate's waits for its ledger, on the caller's loop.
class LedgerWait {
 public:
  virtual ~LedgerWait() = default;
  // Lets the other requests at hand stage their intents, so that one write serves all.
  virtual base::Task<void> Company() = 0;
  // Until the ledger has `position` on the disk. Fails kLedgerUnavailable.
  virtual base::Task<absl::Status> Durable(audit::Ledger& ledger, audit::Position position, absl::Duration deadline) = 0;
};

// What the ledger keeps of a request beside its facts. The views outlive the call that it is given to.
struct RequestInfo {
  std::string request_id;
  std::string_view channel;  // connect, http, gateway, tunnel
  std::string_view peer;     // ADDRESS:PORT
  std::vector<std::string> query_names;
};

struct GateOptions {
  absl::Duration freshness = absl::Seconds(60);  // without a word from the broker, then everything is refused
  std::size_t max_callers = 4096;                // verified tokens kept
  std::size_t max_sessions = 65536;              // for limits and use reports, each under each scope
  std::size_t max_strangers = 4096;              // addresses whose refusals are counted
  double anonymous_records_per_minute = 300;     // refusals without a known caller that are recorded, per peer
  double anonymous_burst = 60;
};

// The inside half of a request: who -> decision -> intent -> lease. One per loop; loop thread only. Everything it is
// given must outlive it, and it must outlive its passages.
class Gate {
 public:
  Gate(const StateBoard& board, audit::Ledger& ledger, LeaseSource& leases, LedgerWait& wait, const base::Clock& clock,
       GateOptions options);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // A name for a request: unique, not guessable across edges, the same in refusal and ledger.
  std::string NewRequestId();

  // Who presents this token. Fails as Callers::Find, and kStateStale.
  absl::StatusOr<std::shared_ptr<const Caller>> Identify(std::string_view token_text);

  // Decides, records and lends for one request. A refusal is in the ledger before it is returned. Never both.
  using Opening = std::variant<Passage, Refusal>;
  base::Task<Opening> Open(std::shared_ptr<const Caller> caller, const model::Facts& facts, RequestInfo info,
                           absl::Duration deadline);

  // Where the credentials of the host's service go: a token may stand there too. Good until the next call of any kind.
  std::span<const model::Placement> Places(const model::Authority& authority);

  // Whether objects of an LFS server on `host` may lie on `storage`, as its service's policy says.
  bool MayStoreLfs(const model::Authority& host, model::Scheme scheme, const model::Authority& storage);

  // What must be found out of a push before Open (policy/decide.h).
  policy::PushNeeds NeedsOfPush(const Caller& caller, const model::Facts& facts);

  // What of the request's body the decision depends on. Then fill facts.body in before Open, which refuses without it.
  policy::BodyRule BodyRuleOf(const model::Facts& facts);

  // A connection to a host, judged without an intent: an intercepted CONNECT has no effect of its own, the requests inside
  // do. Records refusals as Open does. A tunnel needs Open.
  std::variant<model::Allow, Refusal> Judge(const Caller& caller, const model::Facts& facts, const RequestInfo& info);

  // What Open would decide, without a trace. For questions about a request that is about to be refused or opened.
  std::optional<model::Allow> Preview(const Caller& caller, const model::Facts& facts);

  // Writes the outcome. The passage is spent.
  void Close(Passage& passage, const Outcome& outcome);

  // Records a request that was refused before or beside a decision (framing, identity, misdirection).
  Refusal Refuse(const Caller* caller, const model::Facts& facts, const RequestInfo& info, base::ErrorCode code);

  // Is this caller not revoked, and would this connection still be opened? For sweeps after a change. A token that expires
  // ends no running transfer: its session's end does, by revocation.
  bool StillAllowed(const Caller& caller, const model::Facts& facts);

  // Is nothing of this running request revoked: its caller, its repository, its credential?
  bool StillLent(const Caller& caller, const model::Facts& facts, const model::Allow& allow);

  // Sessions used and exceptions used since the last call. A session is in use while a request of it runs, also one that
  // runs for hours (an event stream, a WebSocket, a tunnel).
  struct Use {
    absl::Time last;
    int64_t count = 0;
  };
  struct Uses {
    std::unordered_map<std::string, Use> sessions, exceptions;
  };
  Uses TakeUses();

  const EdgeState& state();

 private:
  // Both clocks, read once for a request.
  struct Instant {
    absl::Time now;
    absl::Duration monotonic;
  };
  Instant Reading() const { return {clock_.Now(), clock_.Monotonic()}; }
  base::ErrorCode CheckCaller(const Caller& caller, const Instant& at);
  base::ErrorCode CheckAllow(const Caller& caller, const model::Facts& facts, const model::Allow& allow, const Instant& at,
                             Account** account);
  absl::StatusOr<audit::StagedIntent> Stage(Passage& passage, const Caller& caller, const model::Facts& facts, const RequestInfo& info,
                                            const Instant& at);
  base::Task<absl::Status> Commit(Passage& passage, const audit::StagedIntent& staged, absl::Duration deadline);
  void Describe(const Caller* caller, const model::Facts& facts, const RequestInfo& info);
  Refusal RecordDeny(const Caller* caller, const model::Facts& facts, const RequestInfo& info, const model::Deny& deny);
  bool Revoked(const Caller& caller, const model::Facts& facts, const model::Allow& allow);
  void NoteUse(const Caller& caller, const model::Allow& allow, absl::Time now);

  const StateBoard& board_;
  audit::Ledger& ledger_;
  LeaseSource& leases_;
  LedgerWait& wait_;
  const base::Clock& clock_;
  const GateOptions options_;

  uint64_t generation_ = 0;
  std::shared_ptr<const EdgeState> state_;
  Callers callers_;
  Accounts accounts_;
  RateLimiter anonymous_rate_;
  Uses uses_;
  model::Record record_;  // the one that is being written, for its memory; nothing stays in it from call to call
  std::string id_prefix_;
  uint64_t next_id_ = 0;
};

}  // namespace credbroker::gate
