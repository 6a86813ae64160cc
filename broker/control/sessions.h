#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "control/caller.h"
#include "control/current_rules.h"
#include "control/recorder.h"
#include "control/revocations.h"
#include "control/tokens.h"
#include "model/grant.h"
#include "store/store.h"

namespace credbroker::control {

// Fails kSessionClosed when the session was closed, has reached its ceiling, or was idle for too long at `now`: what
// the sweep has not closed yet is over all the same.
absl::Status CheckLive(const store::Session& session, absl::Time now);

struct SessionWish {
  std::string requester;
  std::vector<std::string> scopes;
  model::Phase phase = model::Phase::kAgent;
  model::Label label = model::Label::kAgent;
  std::string ticket;
  absl::Duration life = absl::ZeroDuration();  // zero: the scopes' limit, which is also the ceiling
  absl::Duration token_life = absl::ZeroDuration();
};

struct SessionAndToken {
  store::Session session;
  IssuedToken token;
  std::vector<std::string> revoked_tokens;
};

struct ClosedSession {
  store::Session session;
  std::vector<std::string> revoked_tokens;
};

struct SessionAndTokens {
  store::Session session;
  std::vector<store::TokenRow> tokens;
};

// Sessions: opened, moved forward, closed, swept. Thread-safe.
class Sessions {
 public:
  Sessions(store::Store& store, const CurrentRules& rules, Tokens& tokens, Recorder& recorder, Revocations& revocations,
           const base::Clock& clock)
      : store_(store), rules_(rules), tokens_(tokens), recorder_(recorder), revocations_(revocations), clock_(clock) {}

  // Fails kRequesterNotAllowed, kScopeNotFound, kBadArgument, kBadDuration, kLedgerUnavailable.
  absl::StatusOr<SessionAndToken> Open(const Caller& caller, const SessionWish& wish);
  // The newest first; a requester access sees its own only.
  absl::StatusOr<std::vector<store::Session>> List(const Caller& caller, bool include_closed) const;
  absl::StatusOr<SessionAndTokens> Get(const Caller& caller, std::string_view id) const;  // kSessionNotFound
  // Setup to agent. All tokens fall, one of the new phase is minted. Fails kPhaseStep, kSessionClosed,
  // kSessionNotFound, kLedgerUnavailable (nothing has changed then).
  absl::StatusOr<SessionAndToken> SetPhase(const Caller& caller, std::string_view id, model::Phase phase);
  // Closes for ever; a closed session stays as it is. Goes on when the ledger cannot be written.
  absl::StatusOr<ClosedSession> Close(const Caller& caller, std::string_view id, std::string_view reason);

  // An edge saw the session used. Never later than now; unknown sessions are ignored.
  void Touch(std::string_view id, absl::Time used_at);
  // Closes what is over. Gives the number of sessions that it closed.
  int Sweep();

 private:
  absl::StatusOr<store::Session> Draft(const SessionWish& wish) const;
  absl::StatusOr<ClosedSession> CloseFor(std::string_view id, const Cause& cause, std::string_view action);
  model::Record RecordOf(const store::Session& session, std::string_view action, const Cause& cause) const;

  store::Store& store_;
  const CurrentRules& rules_;
  Tokens& tokens_;
  Recorder& recorder_;
  Revocations& revocations_;
  const base::Clock& clock_;
};

}  // namespace credbroker::control
