#include "gate/gate.h"

#include <utility>

#include "base/id.h"
#include "base/macros.h"
#include "base/str.h"
#include "model/target.h"
#include "policy/decide.h"
#include "policy/lfs.h"

namespace credbroker::gate {
namespace {

using base::ErrorCode;
using model::Facts;
using model::RecordKind;

std::string_view ChangeName(model::RefChange::Kind kind) {
  switch (kind) {
    case model::RefChange::Kind::kCreate: return "create";
    case model::RefChange::Kind::kUpdate: return "update";
    case model::RefChange::Kind::kDelete: return "delete";
  }
  return "update";
}

void DescribeGit(const model::GitFacts& git, model::Record* record) {
  record->repository = git.repository;
  for (const model::RefChange& change : git.changes) {
    record->refs.push_back({change.ref, std::string(ChangeName(change.kind)), change.old_id, change.new_id});
  }
}

}  // namespace

Gate::Gate(const StateBoard& board, audit::Ledger& ledger, LeaseSource& leases, LedgerWait& wait, const base::Clock& clock,
           GateOptions options)
    : board_(board),
      ledger_(ledger),
      leases_(leases),
      wait_(wait),
      clock_(clock),
      options_(options),
      callers_(options.max_callers),
      accounts_(options.max_sessions),
      anonymous_rate_(options.max_strangers),
      id_prefix_(base::RandomId("r-").substr(0, 12)) {}

std::string Gate::NewRequestId() { return base::StrCat(id_prefix_, "-", ++next_id_); }

const EdgeState& Gate::state() {
  if (const uint64_t now = board_.generation(); now != generation_ || state_ == nullptr) {
    state_ = board_.Current();
    generation_ = now;
  }
  return *state_;
}

absl::StatusOr<std::shared_ptr<const Caller>> Gate::Identify(std::string_view token_text) {
  return callers_.Find(token_text, state(), clock_.Now());
}

ErrorCode Gate::CheckCaller(const Caller& caller, const Instant& at) {
  if (at.monotonic - board_.heard() > options_.freshness) return ErrorCode::kStateStale;
  return base::CodeOf(Callers::Alive(caller, state(), at.now));
}

bool Gate::Revoked(const Caller& caller, const Facts& facts, const model::Allow& allow) {
  const RevocationSet& revoked = *state().revocations;
  if (revoked.empty()) return false;
  if (facts.git && revoked.HitsRepository(model::CanonicalRepository(facts.git->repository), caller.issued_at)) return true;
  return allow->credential != nullptr && revoked.HitsCredential(allow->credential->name, caller.issued_at);
}

bool Gate::StillLent(const Caller& caller, const Facts& facts, const model::Allow& allow) {
  return !Callers::Revoked(caller, state()) && !Revoked(caller, facts, allow);
}

Gate::Uses Gate::TakeUses() {
  const absl::Time now = clock_.Now();
  accounts_.ForgetRested(clock_.Monotonic());
  accounts_.EachRunning([&](const std::string& session) {
    if (uses_.sessions.size() < options_.max_sessions) uses_.sessions[session].last = now;
  });
  return std::exchange(uses_, {});
}

ErrorCode Gate::CheckAllow(const Caller& caller, const Facts& facts, const model::Allow& allow, const Instant& at, Account** account) {
  if (Revoked(caller, facts, allow)) return ErrorCode::kTokenRevoked;
  *account = accounts_.Of(caller.grant.session, allow->scope, at.monotonic);
  if (*account == nullptr) return ErrorCode::kRateLimited;
  return (*account)->Admit(allow->limits, at.monotonic);
}

std::span<const model::Placement> Gate::Places(const model::Authority& authority) {
  const policy::Service* service = state().rules->FindService(authority).service;
  return service == nullptr ? std::span<const model::Placement>() : std::span<const model::Placement>(service->places);
}

bool Gate::MayStoreLfs(const model::Authority& host, model::Scheme scheme, const model::Authority& storage) {
  const policy::Service* service = state().rules->FindService(host).service;
  if (service == nullptr) return false;
  const policy::LfsStorage found = policy::StorageOf(*service, storage);
  return found != policy::LfsStorage::kRefused && (scheme == model::Scheme::kHttps || (found == policy::LfsStorage::kOwn && service->plain_http));
}

policy::PushNeeds Gate::NeedsOfPush(const Caller& caller, const Facts& facts) {
  return policy::NeedsOfPush(facts, caller.grant, state().rules);
}

policy::BodyRule Gate::BodyRuleOf(const Facts& facts) { return policy::BodyRuleOf(facts, *state().rules); }

base::Task<Gate::Opening> Gate::Open(std::shared_ptr<const Caller> caller, const Facts& facts, RequestInfo info,
                                     absl::Duration deadline) {
  const Instant at = Reading();
  if (const ErrorCode code = CheckCaller(*caller, at); code != ErrorCode::kNone) co_return Refuse(caller.get(), facts, info, code);
  if (facts.body == nullptr && BodyRuleOf(facts) != policy::BodyRule::kNone) co_return Refuse(caller.get(), facts, info, ErrorCode::kBodyUndecided);
  model::Decision decision = policy::Decide(facts, caller->grant, state().rules, at.now);
  if (const model::Deny* deny = decision.deny()) co_return RecordDeny(caller.get(), facts, info, *deny);
  Account* account = nullptr;
  if (const ErrorCode code = CheckAllow(*caller, facts, *decision.allow(), at, &account); code != ErrorCode::kNone) {
    co_return Refuse(caller.get(), facts, info, code);
  }
  Passage passage(decision.TakeAllow());
  passage.state_->account = account;
  const model::Allow& allow = passage.allow();
  const absl::StatusOr<audit::StagedIntent> staged = Stage(passage, *caller, facts, info, at);
  if (!staged.ok() || !(co_await Commit(passage, *staged, deadline)).ok()) {
    co_return Refusal{ErrorCode::kLedgerUnavailable, allow->rule, info.request_id, {}};
  }
  NoteUse(*caller, allow, at.now);
  if (allow->credential == nullptr) co_return std::move(passage);

  auto lease = co_await leases_.Borrow(allow, passage.receipt(), caller->grant.session, deadline);
  if (!lease.ok()) {
    const ErrorCode code = base::CodeOf(lease.status());
    Close(passage, {Outcome::Result::kFailed, code, base::Lookup(code).http_status});
    co_return Refusal{code, allow->rule, info.request_id, {}};
  }
  passage.state_->lease = *std::move(lease);
  co_return std::move(passage);
}

absl::StatusOr<audit::StagedIntent> Gate::Stage(Passage& passage, const Caller& caller, const Facts& facts, const RequestInfo& info,
                                                const Instant& at) {
  Passage::State& state = *passage.state_;
  const model::Allow& allow = state.allow;
  Describe(&caller, facts, info);
  record_.kind = RecordKind::kIntent;
  record_.time = at.now;
  record_.rule = allow->rule;
  record_.effect_class = allow->effect_class;
  record_.service = allow->service;
  record_.exception = allow->exception;
  record_.policy_version = allow->policy_version;
  if (allow->credential != nullptr) record_.credential = allow->credential->name;
  ASSIGN_OR_RETURN(const audit::StagedIntent staged, ledger_.StageIntent(record_));
  state.gate = this;  // from here on somebody must close it
  state.request_id = info.request_id;
  state.intent = staged.position();
  state.opened = at.monotonic;
  state.account->Begin();
  return staged;
}

// The intent: in the ledger when this is OK, as durable as the ledger is told to be. Otherwise closed.
base::Task<absl::Status> Gate::Commit(Passage& passage, const audit::StagedIntent& staged, absl::Duration deadline) {
  co_await wait_.Company();
  absl::StatusOr<audit::IntentReceipt> receipt = ledger_.Commit(staged);
  absl::Status status = receipt.status();
  if (receipt.ok()) passage.state_->receipt = *std::move(receipt);
  if (status.ok() && ledger_.durability() == audit::Durability::kSync) {
    status = co_await wait_.Durable(ledger_, staged.position(), deadline);
  }
  if (!status.ok()) Close(passage, {Outcome::Result::kFailed, ErrorCode::kLedgerUnavailable});
  co_return status;
}

std::variant<model::Allow, Refusal> Gate::Judge(const Caller& caller, const Facts& facts, const RequestInfo& info) {
  const Instant at = Reading();
  if (const ErrorCode code = CheckCaller(caller, at); code != ErrorCode::kNone) return Refuse(&caller, facts, info, code);
  const model::Decision decision = policy::Decide(facts, caller.grant, state().rules, at.now);
  if (const model::Deny* deny = decision.deny()) return RecordDeny(&caller, facts, info, *deny);
  return *decision.allow();
}

std::optional<model::Allow> Gate::Preview(const Caller& caller, const Facts& facts) {
  const model::Decision decision = policy::Decide(facts, caller.grant, state().rules, clock_.Now());
  if (decision.allow() == nullptr) return std::nullopt;
  return *decision.allow();
}

bool Gate::StillAllowed(const Caller& caller, const Facts& facts) {
  if (Callers::Revoked(caller, state())) return false;
  return policy::Decide(facts, caller.grant, state().rules, clock_.Now()).allow() != nullptr;
}

void Gate::Close(Passage& passage, const Outcome& outcome) {
  Passage::State& state = *passage.state_;
  if (std::exchange(state.gate, nullptr) == nullptr) return;
  constexpr std::string_view kWords[] = {"done", "failed", "unknown"};
  state.account->End();
  // Who, what and why stand in the intent; a reviewer's list puts them together (audit/outcomes.h).
  record_.Clear();
  record_.kind = RecordKind::kOutcome;
  record_.request_id = state.request_id;
  record_.intent = static_cast<int64_t>(state.intent.index);
  record_.time = clock_.Now();
  record_.outcome = kWords[static_cast<int>(outcome.result)];
  record_.status = outcome.status;
  record_.bytes_up = outcome.bytes_up;
  record_.bytes_down = outcome.bytes_down;
  record_.duration_us = absl::ToInt64Microseconds(clock_.Monotonic() - state.opened);
  if (outcome.code != ErrorCode::kNone) record_.code = base::Lookup(outcome.code).name;
  // A full ledger refuses the next intent by itself; the intent without outcome is closed as unknown at the next start.
  ledger_.AppendLater(record_).IgnoreError();
}

Refusal Gate::Refuse(const Caller* caller, const Facts& facts, const RequestInfo& info, ErrorCode code) {
  model::Deny deny;
  deny.code = code;
  deny.rule = base::StrCat("edge/", base::Lookup(code).name);
  deny.policy_version = state().rules->version();
  return RecordDeny(caller, facts, info, deny);
}

Refusal Gate::RecordDeny(const Caller* caller, const Facts& facts, const RequestInfo& info, const model::Deny& deny) {
  Refusal refusal{deny.code, deny.rule, info.request_id, deny.ref, deny.path, deny.pattern};
  if (caller == nullptr && !anonymous_rate_.Take(info.peer.substr(0, info.peer.rfind(':')), options_.anonymous_records_per_minute,
                                                 options_.anonymous_burst, clock_.Monotonic())) {
    return refusal;  // a stranger's flood must not fill the ledger
  }
  Describe(caller, facts, info);
  record_.time = clock_.Now();
  record_.kind = RecordKind::kDeny;
  record_.code = base::Lookup(deny.code).name;
  record_.rule = deny.rule;
  record_.effect_class = deny.effect_class;
  record_.exception = deny.exception;
  record_.detail = deny.pattern;
  record_.policy_version = deny.policy_version;
  record_.status = base::Lookup(deny.code).http_status;
  if (!ledger_.Append(record_, nullptr).ok()) refusal.code = ErrorCode::kLedgerUnavailable;
  return refusal;
}

// Begins record_ with who asks for what.
void Gate::Describe(const Caller* caller, const Facts& facts, const RequestInfo& info) {
  record_.Clear();
  record_.request_id = info.request_id;
  record_.channel = info.channel;
  record_.peer = info.peer;
  record_.query_names = info.query_names;
  record_.method = facts.method;
  record_.scheme = facts.scheme == model::Scheme::kHttps ? "https" : "http";
  record_.host = facts.authority.host;
  if (facts.authority.port != 0) record_.port = facts.authority.port;
  record_.path = facts.path;
  if (facts.git) DescribeGit(*facts.git, &record_);
  if (caller == nullptr) return;
  record_.session = caller->grant.session;
  record_.token_id = caller->grant.token_id;
  record_.parent_token_id = caller->grant.parent_id;
  record_.requester = caller->grant.requester;
  record_.label = model::LabelName(caller->grant.label);
  record_.phase = model::PhaseName(caller->grant.phase);
}

void Gate::NoteUse(const Caller& caller, const model::Allow& allow, absl::Time now) {
  const auto note = [&](std::unordered_map<std::string, Use>& uses, const std::string& name) {
    if (uses.size() >= options_.max_sessions && !uses.contains(name)) return;
    Use& use = uses[name];
    use.last = now;
    ++use.count;
  };
  note(uses_.sessions, caller.grant.session);
  if (!allow->exception.empty()) note(uses_.exceptions, std::string(allow->exception));
}

}  // namespace credbroker::gate
