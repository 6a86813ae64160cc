#include "control/tokens.h"

#include <algorithm>
#include <utility>

#include "base/id.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "control/event_log.h"
#include "control/sessions.h"
#include "model/authority.h"
#include "token/mint/mint.h"

namespace credbroker::control {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::string_view kMintPrefix = "t-";
// Renewals carry a mark in their id, so that their chain can be told from derivation without a column of its own:
// random ids hold no dash.
constexpr std::string_view kRenewPrefix = "t-r-";
constexpr int kMaxChain = 1000;

absl::Time WholeSecond(absl::Time time) { return absl::FromUnixSeconds(absl::ToUnixSeconds(time)); }

absl::StatusOr<model::Narrowing> CleanNarrowing(const model::Narrowing& asked) {
  model::Narrowing clean = asked;
  for (const std::string& host : clean.hosts) RETURN_IF_ERROR(model::HostPattern::Parse(host).status(), "narrowing");
  for (std::string& method : clean.methods) {
    std::transform(method.begin(), method.end(), method.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    if (method.empty() || !std::all_of(method.begin(), method.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
      return Error(ErrorCode::kBadArgument, "a method of the narrowing");
    }
  }
  for (const std::string& name : clean.repositories) {
    if (name.empty() || name.front() == '/') return Error(ErrorCode::kBadArgument, "a repository of the narrowing");
  }
  for (const std::string& ref : clean.refs) {
    if (!ref.starts_with("refs/")) return Error(ErrorCode::kBadArgument, "a ref of the narrowing is not a full name");
  }
  return clean;
}

absl::Status CheckLife(absl::Duration life) {
  if (life >= absl::ZeroDuration() && (life == absl::ZeroDuration() || life >= absl::Seconds(1)))
    return absl::OkStatus();
  return Error(ErrorCode::kBadDuration, "a token's life is at least one second");
}

}  // namespace

Tokens::Tokens(store::Store& store, const CurrentRules& rules, const token::Minter& minter,
               const token::Verifier& verifier, Recorder& recorder, Revocations& revocations, Metrics& metrics,
               const base::Clock& clock)
    : store_(store),
      rules_(rules),
      minter_(minter),
      verifier_(verifier),
      recorder_(recorder),
      revocations_(revocations),
      metrics_(metrics),
      clock_(clock) {}

absl::StatusOr<IssuedToken> Tokens::Mint(const Caller& caller, std::string_view session, const TokenWish& wish) {
  ASSIGN_OR_RETURN(const store::Session row, store_.sessions().Find(session), "minting");
  RETURN_IF_ERROR(caller.MayActFor(row.requester));
  ASSIGN_OR_RETURN(token::Claims claims, Prepare(row, wish), "minting");
  return Issue(row, std::move(claims), "token.mint", {.actor = caller.actor});
}

absl::StatusOr<IssuedToken> Tokens::MintFirst(const store::Session& session, absl::Duration life, const Cause& cause) {
  ASSIGN_OR_RETURN(token::Claims claims, Prepare(session, {.life = life}), "minting");
  return Issue(session, std::move(claims), "token.mint", cause);
}

absl::StatusOr<IssuedToken> Tokens::MintForSocket(const store::Session& session) {
  ASSIGN_OR_RETURN(token::Claims claims, Prepare(session, {.life = kTokenCeiling}), "minting");
  return Issue(session, std::move(claims), "token.socket", {.actor = "broker"}, IsUse::kNo);
}

absl::StatusOr<token::Claims> Tokens::Prepare(const store::Session& session, const TokenWish& wish) const {
  const absl::Time now = clock_.Now();
  RETURN_IF_ERROR(CheckLife(wish.life));
  RETURN_IF_ERROR(CheckLive(session, now));
  const auto rules = rules_.Get();
  for (const std::string& scope : session.scopes) RETURN_IF_ERROR(rules->MayOpen(scope, session.requester));
  const policy::Limits limits = rules->SessionLimits(session.scopes);
  const absl::Duration asked = wish.life == absl::ZeroDuration() ? limits.token : wish.life;
  const absl::Duration life = std::min({asked, limits.token_ceiling, kTokenCeiling});

  token::Claims claims;
  claims.id = base::RandomId(kMintPrefix);
  claims.session = session.id;
  claims.requester = session.requester;
  claims.issued_at = revocations_.IssueTime(now);
  claims.not_before = claims.issued_at;
  claims.expires_at = WholeSecond(std::min(now + life, session.expires_at));
  claims.phase = session.phase;
  claims.label = wish.label.value_or(session.label);
  claims.scopes = session.scopes;
  claims.policy_digest = rules->digest();
  ASSIGN_OR_RETURN(claims.narrowing, CleanNarrowing(wish.narrowing));
  if (claims.expires_at <= claims.issued_at) return Error(ErrorCode::kSessionClosed, "the session is about to end");
  return claims;
}

absl::StatusOr<IssuedToken> Tokens::Derive(const Caller& caller, const TokenWish& wish) {
  if (!caller.holder) return caller.holder_status;
  const token::Claims& parent = *caller.holder;
  RETURN_IF_ERROR(CheckLife(wish.life));
  ASSIGN_OR_RETURN(const store::Session row, store_.sessions().Find(parent.session), "deriving");
  const absl::Time now = clock_.Now();
  token::DeriveRequest request{.life = wish.life, .label = parent.label};
  ASSIGN_OR_RETURN(request.narrowing, CleanNarrowing(wish.narrowing));
  // The minter's own check decides what is narrower. Its text is dropped: the one that is handed out is signed after
  // the record.
  ASSIGN_OR_RETURN(token::Minted checked, minter_.Derive(parent, request, now), "deriving");
  token::Claims claims = std::move(checked.claims);
  claims.issued_at = revocations_.RefusesSomething(parent.issued_at) ? parent.issued_at : revocations_.IssueTime(now);
  claims.not_before = std::max(claims.issued_at, claims.not_before);
  return Issue(row, std::move(claims), "token.derive", {.actor = caller.actor});
}

absl::StatusOr<IssuedToken> Tokens::Renew(const Caller& caller, absl::Duration life) {
  if (!caller.holder) return caller.holder_status;
  const token::Claims& old = *caller.holder;
  ASSIGN_OR_RETURN(const store::Session row, store_.sessions().Find(old.session), "renewing");
  ASSIGN_OR_RETURN(token::Claims claims, Prepare(row, {.life = life, .narrowing = old.narrowing, .label = old.label}),
                   "renewing");
  if (claims.phase != old.phase) return Error(ErrorCode::kTokenRevoked, "the session's phase has changed");
  ASSIGN_OR_RETURN(const absl::Time end, DerivedEnd(old), "renewing");
  claims.id = base::RandomId(kRenewPrefix);
  claims.parent_id = old.id;
  claims.scopes = old.scopes;
  claims.narrowing = old.narrowing;
  claims.expires_at = std::min(claims.expires_at, end);
  if (revocations_.RefusesSomething(old.issued_at)) claims.issued_at = old.issued_at;
  return Issue(row, std::move(claims), "token.renew", {.actor = caller.actor});
}

absl::StatusOr<absl::Time> Tokens::DerivedEnd(const token::Claims& claims) const {
  ASSIGN_OR_RETURN(store::TokenRow row, store_.tokens().Find(claims.id));
  for (int i = 0; row.id.starts_with(kRenewPrefix); ++i) {
    if (i == kMaxChain) return Error(ErrorCode::kTokenExpired, "renewed too often; mint a new token");
    ASSIGN_OR_RETURN(row, store_.tokens().Find(row.parent_id));
  }
  if (row.parent_id.empty()) return absl::InfiniteFuture();
  ASSIGN_OR_RETURN(const store::TokenRow parent, store_.tokens().Find(row.parent_id));
  return parent.expires_at;
}

absl::StatusOr<IssuedToken> Tokens::Issue(const store::Session& session, token::Claims claims, std::string_view action,
                                          const Cause& cause, IsUse use) {
  claims.audience = minter_.audience();
  RETURN_IF_ERROR(token::EncodeClaims(claims).status(), "issuing");
  model::Record record{.kind = model::RecordKind::kIssue};
  record.action = action;
  record.subject = claims.id;
  record.session = claims.session;
  record.token_id = claims.id;
  record.parent_token_id = claims.parent_id;
  record.requester = claims.requester;
  record.label = model::LabelName(claims.label);
  record.phase = model::PhaseName(claims.phase);
  record.ticket = session.ticket;
  record.scopes = claims.scopes;
  record.actor = cause.actor;
  record.policy_version = rules_.Get()->version();
  record.detail = base::StrCat(
      "until ", base::View(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", claims.expires_at, absl::UTCTimeZone())));
  RETURN_IF_ERROR(recorder_.Write(std::move(record)), "issuing");
  RETURN_IF_ERROR(Store(session, claims, use), "issuing");
  ASSIGN_OR_RETURN(token::Minted minted, minter_.Mint(std::move(claims)), "signing");
  ++metrics_.tokens_issued;
  return IssuedToken{minted.claims.id, std::move(minted.text), minted.claims.expires_at};
}

absl::Status Tokens::Store(const store::Session& session, const token::Claims& claims, IsUse use) {
  const absl::Time now = clock_.Now();
  return store_.InTransaction([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const store::Session current, store_.sessions().Find(session.id));
    RETURN_IF_ERROR(CheckLive(current, now));
    if (current.phase != claims.phase) return Error(ErrorCode::kSessionClosed, "the phase changed meanwhile");
    if (!claims.parent_id.empty()) {
      ASSIGN_OR_RETURN(const store::TokenRow parent, store_.tokens().Find(claims.parent_id));
      if (parent.revoked_at) return Error(ErrorCode::kTokenRevoked, "the parent fell meanwhile");
    }
    RETURN_IF_ERROR(store_.tokens().Insert({.id = claims.id,
                                            .parent_id = claims.parent_id,
                                            .session = claims.session,
                                            .label = claims.label,
                                            .phase = claims.phase,
                                            .narrowing_json = token::EncodeNarrowing(claims.narrowing),
                                            .issued_at = claims.issued_at,
                                            .expires_at = claims.expires_at}));
    return use == IsUse::kYes ? store_.sessions().Touch(session.id, now) : absl::OkStatus();
  });
}

absl::StatusOr<token::Claims> Tokens::VerifyHolder(std::string_view text) const {
  if (text.empty()) return Error(ErrorCode::kNoToken);
  const absl::Time now = clock_.Now();
  ASSIGN_OR_RETURN(token::Claims claims, verifier_.Verify(text, now));
  const absl::StatusOr<store::TokenRow> row = store_.tokens().Find(claims.id);
  if (base::CodeOf(row.status()) == ErrorCode::kTokenNotFound) return Error(ErrorCode::kBadToken, "no such token");
  RETURN_IF_ERROR(row.status(), "finding a token");
  if (row->revoked_at) return Error(ErrorCode::kTokenRevoked, claims.id);
  const absl::StatusOr<store::Session> session = store_.sessions().Find(claims.session);
  if (base::CodeOf(session.status()) == ErrorCode::kStoreUnavailable) return session.status();
  if (!session.ok() || !CheckLive(*session, now).ok()) return Error(ErrorCode::kTokenRevoked, claims.session);
  return claims;
}

absl::Status Tokens::CheckOwn(const token::Claims& holder, const RevokeTarget& target) const {
  const absl::Status refused = Error(ErrorCode::kCallerNotAllowed, "a holder revokes its own token or its children");
  if (target.kind != store::RevocationKind::kToken) return refused;
  std::string id = target.value;
  for (int i = 0; i < kMaxChain && !id.empty(); ++i) {
    if (id == holder.id) return absl::OkStatus();
    const absl::StatusOr<store::TokenRow> row = store_.tokens().Find(id);
    if (!row.ok()) return refused;  // whether the token exists is nothing that a stranger may learn
    id = row->parent_id;
  }
  return refused;
}

absl::StatusOr<Revoked> Tokens::Revoke(const Caller& caller, const std::optional<RevokeTarget>& target,
                                       std::string reason) {
  const Cause cause{caller.actor, reason.empty() ? "revoked" : std::move(reason)};
  if (!target) {
    if (!caller.holder) return caller.holder_status;
    return revocations_.Revoke({store::RevocationKind::kToken, caller.holder->id}, cause);
  }
  if (caller.roles.Meets(Roles::Of(Role::kAdmin, Role::kOperator))) return revocations_.Revoke(*target, cause);
  if (!caller.roles.Has(Role::kRequester)) {
    if (!caller.holder) return caller.holder_status;
    RETURN_IF_ERROR(CheckOwn(*caller.holder, *target));
    return revocations_.Revoke(*target, cause);
  }
  // A requester: what belongs to its own sessions only.
  std::string session = target->value;
  if (target->kind == store::RevocationKind::kToken) {
    ASSIGN_OR_RETURN(const store::TokenRow row, store_.tokens().Find(target->value));
    session = row.session;
  } else if (target->kind != store::RevocationKind::kSession) {
    return Error(ErrorCode::kCallerNotAllowed, "a requester revokes tokens and sessions of its own");
  }
  ASSIGN_OR_RETURN(const store::Session row, store_.sessions().Find(session));
  RETURN_IF_ERROR(caller.MayActFor(row.requester));
  return revocations_.Revoke(*target, cause);
}

}  // namespace credbroker::control
