#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace credbroker::model {

// X-macro: the enum and its words stay together.
#define CREDBROKER_RECORD_KINDS(X)                                        \
  X(kIntent, "intent")      /* an allowed effect, before it happens */    \
  X(kOutcome, "outcome")    /* what became of an intent */                \
  X(kDeny, "deny")          /* a refused request */                       \
  X(kIssue, "issue")        /* a token was minted, derived or renewed */  \
  X(kRevoke, "revoke")      /* something was revoked */                   \
  X(kSession, "session")    /* a session changed its state */             \
  X(kAdmin, "admin")        /* policy, secrets, exceptions: an intent */  \
  X(kMisuse, "misuse")      /* a token that cannot be right was shown */  \
  X(kSystem, "system")      /* start, stop, recovery of a process */

enum class RecordKind {
#define X(name, text) name,
  CREDBROKER_RECORD_KINDS(X)
#undef X
};

std::string_view RecordKindName(RecordKind kind);

// One ref of a push, as the ledger keeps it.
struct RecordRef {
  std::string ref;
  std::string change;  // create, update, delete
  std::string old_id;
  std::string new_id;
};

// One audit record before it becomes a canonical line. Fields that are empty (or -1) are left out of the line. Holds no
// body, header value, query value or secret: there is no field for one. Texts may be hostile; the ledger escapes and
// cuts them. The ledger gives the record its `id` (`LEDGER-INDEX`, for example `edge-7`) and `schema` when it appends it.
struct Record {
  RecordKind kind = RecordKind::kSystem;
  absl::Time time;
  std::string request_id;  // joins intent and outcome, and is the one in a refusal
  // who
  std::string session, token_id, parent_token_id, requester, label, phase, ticket;
  std::string actor;       // admin calls: `uid:0`, the certificate's name
  std::string peer;        // address of the connection
  std::string channel;     // connect, http, gateway, tunnel, api
  std::vector<std::string> scopes;
  // what
  std::string method, scheme, host, path;
  int port = -1;
  std::vector<std::string> query_names;
  std::string service, repository;
  std::vector<RecordRef> refs;
  std::string action;      // admin, session, issue, revoke: `secret.put`, `token.mint`, `session.open`
  std::string subject;     // what the action is about: a name, an id
  std::string detail;      // short words of ours, never of a request
  std::string before, after;  // digests around a change
  // decision
  std::string effect_class, rule, credential, exception;
  std::string code;        // catalogue word when refused or failed: no_rule
  int64_t policy_version = -1;
  // outcome: what its intent does not say
  std::string outcome;     // done, failed, unknown
  int64_t intent = -1;     // index of the intent, in the same ledger
  int status = -1;         // HTTP status that the sandbox got
  int64_t bytes_up = -1, bytes_down = -1, duration_us = -1;

  // As new, with the memory of its texts kept for the next record.
  void Clear();
};

}  // namespace credbroker::model
