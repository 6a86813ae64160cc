#include "client/audit_filter.h"

#include <google/protobuf/timestamp.pb.h>

#include <CLI/CLI.hpp>

#include "base/clock.h"
#include "base/duration.h"
#include "base/macros.h"
#include "client/command.h"
#include "credbroker/v1/audit.pb.h"

namespace credbroker::client {

void AddFilterFlags(CLI::App* leaf, AuditFilter& filter) {
  leaf->add_option("--session", filter.session, "of one session");
  leaf->add_option("--repository", filter.repository, "about one repository: acme/web");
  leaf->add_option("--requester", filter.requester, "of one requester's sessions");
  leaf->add_option("--rule", filter.rule, "decided by this rule");
  leaf->add_option("--effect-class", filter.effect_class, "read, push, write.issue, ...");
  leaf->add_option("--kind", filter.kind, "one kind of record")
      ->check(CLI::IsMember({"intent", "outcome", "deny", "issue", "revoke", "session", "admin", "misuse", "system"}));
  leaf->add_option("--decision", filter.decision, "allow (intents and outcomes) or deny")
      ->check(CLI::IsMember({"allow", "deny"}));
  leaf->add_option("--exception", filter.exception, "under this exception");
  leaf->add_option("--credential", filter.credential, "with this credential");
  leaf->add_option("--host", filter.host, "to this host");
  leaf->add_option("--code", filter.code, "refused or failed with this word: no_rule");
  leaf->add_option("--action", filter.action, "an action: policy.apply, secret.put, token.mint, ...");
  leaf->add_option("--policy-version", filter.policy_version, "judged under this version of the policy")
      ->check(CLI::PositiveNumber);
  leaf->add_option("--request-id", filter.request_id, "of one request, as a refusal names it");
  leaf->add_option("--token-id", filter.token_id, "under one token");
  leaf->add_option("--since", filter.since, "not older than 15m, or than 2026-11-30T12:00:00Z");
  leaf->add_option("--until", filter.until, "older than 15m, or than 2026-11-30T12:00:00Z");
}

absl::StatusOr<absl::Time> ReadMoment(const std::string& text) {
  if (const auto ago = base::ParseDuration(text); ago.ok()) return base::SystemClock().Now() - *ago;
  return base::ParseTime(text);
}

absl::StatusOr<v1::ListRecordsRequest> MakeFilter(const AuditFilter& filter) {
  v1::ListRecordsRequest request;
  request.set_session(filter.session);
  request.set_repository(filter.repository);
  request.set_requester(filter.requester);
  request.set_rule(filter.rule);
  request.set_effect_class(filter.effect_class);
  request.set_kind(filter.kind);
  request.set_decision(filter.decision);
  request.set_exception(filter.exception);
  request.set_credential(filter.credential);
  request.set_host(filter.host);
  request.set_code(filter.code);
  request.set_action(filter.action);
  request.set_policy_version(filter.policy_version);
  request.set_request_id(filter.request_id);
  request.set_token_id(filter.token_id);
  if (!filter.since.empty()) {
    ASSIGN_OR_RETURN(const absl::Time since, ReadMoment(filter.since), "reading --since");
    *request.mutable_since() = ToTimestamp(since);
  }
  if (!filter.until.empty()) {
    ASSIGN_OR_RETURN(const absl::Time until, ReadMoment(filter.until), "reading --until");
    *request.mutable_until() = ToTimestamp(until);
  }
  return request;
}

}  // namespace credbroker::client
