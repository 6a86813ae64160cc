#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "model/grant.h"

// The rows of the store: plain values. Times are kept to the microsecond; absl::InfiniteFuture() is kept as such.
namespace credbroker::store {

enum class SessionState { kOpened, kSetup, kAgent, kPaused, kClosed };
std::string_view SessionStateName(SessionState state);  // "opened", "setup", "agent", "paused", "closed"

struct Session {
  std::string id;
  std::string requester;
  std::vector<std::string> scopes;  // names; none holds a line feed
  model::Phase phase = model::Phase::kAgent;
  SessionState state = SessionState::kOpened;
  model::Label label = model::Label::kAgent;
  std::string ticket;   // the requester's own reference
  std::string sandbox;  // the sandbox that opened it, for revocation; may be empty
  absl::Time opened_at;
  absl::Time expires_at;                             // hard ceiling
  absl::Duration idle_limit = absl::ZeroDuration();  // zero: none
  absl::Time last_used_at;
  std::optional<absl::Time> closed_at;
  std::string close_reason;

  bool operator==(const Session&) const = default;
};

// A token that was issued. Never its text.
struct TokenRow {
  std::string id;
  std::string parent_id;  // empty for a token that was not derived
  std::string session;
  model::Label label = model::Label::kAgent;
  model::Phase phase = model::Phase::kAgent;
  std::string narrowing_json;  // as in the token's claims; empty when it narrows nothing
  absl::Time issued_at;
  absl::Time expires_at;
  std::optional<absl::Time> revoked_at;

  bool operator==(const TokenRow&) const = default;
};

enum class RevocationKind { kToken, kSession, kScope, kRepository, kCredential, kSandbox, kKey, kAll };
std::string_view RevocationKindName(RevocationKind kind);  // "token", "session", ...

struct Revocation {
  int64_t serial = 0;  // given by the store, grows by one, never reused
  RevocationKind kind = RevocationKind::kToken;
  std::string value;  // the id or name; empty for kAll
  absl::Time at;      // what was issued before falls
  std::string by;
  std::string reason;
  absl::Time until;  // no token it could concern lives longer: it may be forgotten then

  bool operator==(const Revocation&) const = default;
};

struct PolicyVersion {
  int64_t version = 0;  // given by the store, from 1
  std::string digest;
  std::string text;  // the canonical document with all its files
  std::string author;
  absl::Time applied_at;
  std::string comment;

  bool operator==(const PolicyVersion&) const = default;
};

struct SecretRow {
  std::string name;
  std::string sealed;   // opaque here
  int64_t version = 0;  // 1 at first, one more with each rotation
  absl::Time created_at;
  absl::Time rotated_at;

  bool operator==(const SecretRow&) const = default;
};

struct ExceptionUse {
  std::string exception;
  int64_t count = 0;
  absl::Time last_used_at;

  bool operator==(const ExceptionUse&) const = default;
};

struct EdgeRow {
  std::string id;
  std::string public_key;  // bytes
  absl::Time enrolled_at;
  absl::Time last_seen_at;

  bool operator==(const EdgeRow&) const = default;
};

}  // namespace credbroker::store
