#include "control/convert.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/macros.h"
#include "base/str.h"
#include "forge/api_body.h"
#include "reveal/secret_reveal.h"

namespace credbroker::control {
namespace {

using base::Error;
using base::ErrorCode;

constexpr int64_t kMaxSeconds = 253402300799;  // the end of year 9999

template <typename List, typename Out>
void CopyList(const List& in, Out* out) {
  for (const auto& entry : in) *out->Add() = entry;
}

template <typename Field>
std::vector<std::string> ListOf(const Field& field) {
  return {field.begin(), field.end()};
}

// The form of token::EncodeNarrowing, from our own store.
void WriteNarrowing(const std::string& text, v1::Narrowing* out) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  const auto copy = [&](const char* key, auto* list) {
    if (!json.is_object() || !json.contains(key) || !json[key].is_array()) return;
    for (const auto& entry : json[key]) {
      if (entry.is_string()) list->Add(entry.get<std::string>());
    }
  };
  copy("repos", out->mutable_repositories());
  copy("refs", out->mutable_refs());
  copy("methods", out->mutable_methods());
  copy("hosts", out->mutable_hosts());
}

}  // namespace

void Write(absl::Time time, google::protobuf::Timestamp* out) {
  const int64_t seconds = absl::ToUnixSeconds(time);
  out->set_seconds(seconds);
  out->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(time - absl::FromUnixSeconds(seconds))));
}

absl::StatusOr<absl::Time> ReadTime(bool set, const google::protobuf::Timestamp& in, absl::Time absent) {
  if (!set) return absent;
  if (in.seconds() < 0 || in.seconds() > kMaxSeconds || in.nanos() < 0 || in.nanos() >= 1'000'000'000) {
    return Error(ErrorCode::kBadTime, "out of range");
  }
  return absl::FromUnixSeconds(in.seconds()) + absl::Nanoseconds(in.nanos());
}

absl::StatusOr<absl::Duration> ReadDuration(bool set, const google::protobuf::Duration& in) {
  if (!set) return absl::ZeroDuration();
  const absl::Duration value = absl::Seconds(in.seconds()) + absl::Nanoseconds(in.nanos());
  if (in.seconds() < 0 || in.seconds() > kMaxSeconds || in.nanos() < 0 || value <= absl::ZeroDuration()) {
    return Error(ErrorCode::kBadDuration, "a duration must be positive");
  }
  return value;
}

void Write(const store::Session& in, v1::Session* out) {
  out->set_id(in.id);
  out->set_requester(in.requester);
  CopyList(in.scopes, out->mutable_scopes());
  out->set_phase(std::string(model::PhaseName(in.phase)));
  out->set_state(std::string(store::SessionStateName(in.state)));
  out->set_label(std::string(model::LabelName(in.label)));
  out->set_ticket(in.ticket);
  Write(in.opened_at, out->mutable_opened_at());
  Write(in.expires_at, out->mutable_expires_at());
  out->mutable_idle_limit()->set_seconds(absl::ToInt64Seconds(in.idle_limit));
  Write(in.last_used_at, out->mutable_last_used_at());
  if (in.closed_at) Write(*in.closed_at, out->mutable_closed_at());
  out->set_close_reason(in.close_reason);
}

void Write(const store::TokenRow& in, v1::TokenInfo* out) {
  out->set_id(in.id);
  out->set_parent_id(in.parent_id);
  out->set_session(in.session);
  out->set_phase(std::string(model::PhaseName(in.phase)));
  out->set_label(std::string(model::LabelName(in.label)));
  Write(in.issued_at, out->mutable_issued_at());
  Write(in.expires_at, out->mutable_expires_at());
  if (!in.narrowing_json.empty()) WriteNarrowing(in.narrowing_json, out->mutable_narrowing());
  if (in.revoked_at) Write(*in.revoked_at, out->mutable_revoked_at());
}

void Write(const model::Narrowing& in, v1::Narrowing* out) {
  CopyList(in.repositories, out->mutable_repositories());
  CopyList(in.refs, out->mutable_refs());
  CopyList(in.methods, out->mutable_methods());
  CopyList(in.hosts, out->mutable_hosts());
}

void Write(const IssuedToken& in, v1::IssuedToken* out) {
  out->set_id(in.id);
  out->set_text(std::string(in.text.Reveal(base::SecretReveal{})));
  Write(in.expires_at, out->mutable_expires_at());
}

model::Narrowing Read(const v1::Narrowing& in) {
  return {ListOf(in.repositories()), ListOf(in.refs()), ListOf(in.methods()), ListOf(in.hosts())};
}

absl::StatusOr<SessionWish> Read(const v1::OpenSessionRequest& in) {
  SessionWish wish{.requester = in.requester(), .scopes = ListOf(in.scopes()), .ticket = in.ticket()};
  if (!in.phase().empty()) {
    ASSIGN_OR_RETURN(wish.phase, model::ParsePhase(in.phase()));
  }
  if (!in.label().empty()) {
    ASSIGN_OR_RETURN(wish.label, model::ParseLabel(in.label()));
  }
  ASSIGN_OR_RETURN(wish.token_life, ReadDuration(in.has_token_ttl(), in.token_ttl()));
  ASSIGN_OR_RETURN(wish.life, ReadDuration(in.has_session_ttl(), in.session_ttl()));
  return wish;
}

std::optional<RevokeTarget> Read(const v1::RevokeTokenRequest& in) {
  using Request = v1::RevokeTokenRequest;
  using store::RevocationKind;
  switch (in.target_case()) {
    case Request::kToken:
      return RevokeTarget{RevocationKind::kToken, in.token()};
    case Request::kSession:
      return RevokeTarget{RevocationKind::kSession, in.session()};
    case Request::kScope:
      return RevokeTarget{RevocationKind::kScope, in.scope()};
    case Request::kRepository:
      return RevokeTarget{RevocationKind::kRepository, in.repository()};
    case Request::kCredential:
      return RevokeTarget{RevocationKind::kCredential, in.credential()};
    case Request::kAll:
      return RevokeTarget{RevocationKind::kAll, {}};
    case Request::TARGET_NOT_SET:
      break;
  }
  return std::nullopt;
}

namespace {

void WriteRepository(const policy::Outline::Repository& in, v1::RepositoryRule* out) {
  out->set_service(in.service);
  if (!in.hosts.empty()) out->set_host(in.hosts.front());
  CopyList(in.hosts, out->mutable_hosts());
  out->set_name(in.name);
  out->set_scope(in.scope);
  out->set_credential(in.credential);
  out->set_fetch(in.fetch);
  CopyList(in.push_refs, out->mutable_push_refs());
  CopyList(in.only_refs, out->mutable_only_refs());
  CopyList(in.deny_refs, out->mutable_deny_refs());
  CopyList(in.deny_paths, out->mutable_deny_paths());
  out->set_create(in.create);
  out->set_delete_(in.remove);
  out->set_force(in.force);
  CopyList(in.api, out->mutable_api());
}

// One row a host and path: the form in which people ask.
void WriteEndpoint(const policy::Outline::Endpoint& in, v1::WhoAmIReply* out) {
  for (const std::string& host : in.hosts) {
    v1::EndpointRule* row = out->add_endpoints();
    row->set_host(host);
    CopyList(in.methods, row->mutable_methods());
    row->set_path(in.path);
    row->set_scope(in.scope);
    row->set_service(in.service);
    row->set_credential(in.credential);
    row->set_deny(in.deny);
  }
}

void WriteEgress(const policy::Outline::Egress& in, v1::WhoAmIReply* out) {
  const std::vector<std::string> paths = in.paths.empty() ? std::vector<std::string>{"/**"} : in.paths;
  for (const std::string& host : in.hosts) {
    for (const std::string& path : paths) {
      v1::EndpointRule* row = out->add_endpoints();
      row->set_host(host);
      CopyList(in.methods, row->mutable_methods());
      row->set_path(path);
      row->set_scope(in.scope);
    }
  }
}

}  // namespace

void Write(const WhoAmI& in, v1::WhoAmIReply* out) {
  Write(in.session, out->mutable_session());
  Write(in.token, out->mutable_token());
  if (!in.claims.narrowing.empty()) {
    out->mutable_token()->clear_narrowing();
    Write(in.claims.narrowing, out->mutable_token()->mutable_narrowing());
  }
  for (const auto& row : in.outline.repositories) WriteRepository(row, out->add_repositories());
  for (const auto& row : in.outline.endpoints) WriteEndpoint(row, out);
  for (const auto& row : in.outline.egress) WriteEgress(row, out);
  for (const auto& row : in.outline.tunnels) out->add_exceptions(row.exception);
  for (const auto& [name, value] : in.placeholders) (*out->mutable_placeholders())[name] = value;
  CopyList(in.claims.scopes, out->mutable_scopes());
  out->set_policy_version(in.policy_version);
}

policy::PolicySource Read(const v1::PolicySource& in) {
  policy::PolicySource source;
  for (const auto& file : in.documents()) source.documents.push_back({file.name(), file.text()});
  for (const auto& file : in.attachments()) source.attachments.push_back({file.name(), file.text()});
  return source;
}

void Write(const policy::PolicySource& in, v1::PolicySource* out) {
  for (const auto& file : in.documents) {
    v1::PolicyFile* row = out->add_documents();
    row->set_name(file.name);
    row->set_text(file.text);
  }
  for (const auto& file : in.attachments) {
    v1::PolicyFile* row = out->add_attachments();
    row->set_name(file.name);
    row->set_text(file.text);
  }
}

void Write(const store::PolicyVersion& in, v1::PolicyVersion* out) {
  out->set_version(in.version);
  out->set_digest(in.digest);
  out->set_author(in.author);
  Write(in.applied_at, out->mutable_applied_at());
  out->set_comment(in.comment);
}

policy::Question Read(const v1::Question& in) {
  policy::Question question;
  if (!in.method().empty()) question.method = in.method();
  question.url = in.url();
  forge::FillBody(in.body(), &question);
  question.git = in.git();
  question.repo = in.repo();
  question.ref = in.ref();
  question.create = in.change() == "create";
  question.remove = in.change() == "delete";
  question.force = in.change() == "force";
  question.path = in.path();
  return question;
}

void Write(const policy::Explanation& in, v1::Explanation* out) {
  out->set_decision(in.decision);
  out->set_rule(in.rule);
  out->set_effect_class(in.effect_class);
  out->set_credential(in.credential);
  out->set_reason_code(in.reason_code);
  out->set_next_step(in.next_step);
  CopyList(in.conditions, out->mutable_conditions());
}

void Write(const ExceptionView& in, v1::Exception* out) {
  out->set_id(in.exception.id);
  out->set_kind(in.exception.kind);
  for (const model::HostPattern& host : in.exception.hosts) out->add_hosts(host.Text());
  out->set_reason(in.exception.reason);
  out->set_owner(in.exception.owner);
  out->set_approved_by(in.exception.approved_by);
  if (in.exception.expires != absl::InfiniteFuture()) Write(in.exception.expires, out->mutable_expires());
  out->set_enabled(in.exception.enabled);
  out->set_state(in.state);
  out->set_uses(in.uses);
  out->set_passes(in.passes);
  out->set_built_in(in.built_in);
  if (in.last_use != absl::InfinitePast()) Write(in.last_use, out->mutable_last_use());
}

void Write(const SecretView& in, v1::SecretInfo* out) {
  out->set_name(in.info.name);
  out->set_version(in.info.version);
  Write(in.info.created_at, out->mutable_created_at());
  Write(in.info.rotated_at, out->mutable_rotated_at());
  CopyList(in.credentials, out->mutable_credentials());
}

base::Secret TakeSecret(std::string* value) {
  base::Secret secret = base::Secret::Copy(*value);
  base::WipeString(*value);
  return secret;
}

absl::StatusOr<audit::Filter> Read(const v1::ListRecordsRequest& in) {
  audit::Filter filter{.session = in.session(),
                       .requester = in.requester(),
                       .rule = in.rule(),
                       .effect_class = in.effect_class(),
                       .exception = in.exception(),
                       .request_id = in.request_id(),
                       .token = in.token_id(),
                       .credential = in.credential(),
                       .host = in.host(),
                       .code = in.code(),
                       .repository = in.repository(),
                       .kind = in.kind(),
                       .action = in.action(),
                       .decision = in.decision(),
                       .policy_version = in.policy_version()};
  if (!in.decision().empty() && in.decision() != "allow" && in.decision() != "deny") {
    return Error(ErrorCode::kBadArgument, "the decision is allow or deny");
  }
  if (in.limit() < 0 || static_cast<std::size_t>(in.limit()) > audit::kMaxQueryRecords) {
    return Error(ErrorCode::kBadArgument, "the limit is 1 to 10,000");
  }
  if (in.limit() > 0) filter.limit = static_cast<std::size_t>(in.limit());
  ASSIGN_OR_RETURN(filter.since, ReadTime(in.has_since(), in.since(), absl::InfinitePast()));
  ASSIGN_OR_RETURN(filter.until, ReadTime(in.has_until(), in.until(), absl::InfiniteFuture()));
  return filter;
}

EdgeHello Read(const v1::WatchRequest& in) {
  return {in.edge(),      in.sealing_key(), in.ledger_vkey(), in.version(), ListOf(in.listeners()),
          in.proxy_url(), in.gateway_url(), in.sockets_folder()};
}

namespace {

struct BodyWriter {
  absl::Time now;
  v1::EdgeUpdate* out;

  void operator()(const EdgeKeys& in) const {
    v1::KeysUpdate* keys = out->mutable_keys();
    CopyList(in.verify_keys, keys->mutable_verify_keys());
    keys->set_audience(in.audience);
    keys->set_implicit_assertion(in.assertion);
    keys->set_ca_pem(in.ca_pem);
  }
  void operator()(const std::shared_ptr<const EdgePolicy>& in) const {
    v1::PolicyUpdate* policy = out->mutable_policy();
    policy->set_version(in->version);
    policy->set_digest(in->digest);
    policy->set_source(in->source);
  }
  void operator()(const RevocationBatch& in) const {
    v1::RevocationsUpdate* update = out->mutable_revocations();
    update->set_whole(in.whole);
    for (const EdgeRevocation& revocation : in.revocations) {
      v1::Revocation* row = update->add_revocations();
      row->set_kind(revocation.kind);
      row->set_value(revocation.value);
      Write(revocation.at, row->mutable_at());
      Write(revocation.until, row->mutable_until());
    }
  }
  void operator()(const Heartbeat&) const { Write(now, out->mutable_heartbeat()->mutable_at()); }
  void operator()(const SocketBatch& in) const {
    for (const SessionSocket& socket : in.sockets) {
      v1::SessionSocket* row = out->mutable_sockets()->add_sockets();
      row->set_session(socket.session);
      row->set_token(std::string(socket.token->Reveal(base::SecretReveal{})));
    }
  }
  void operator()(const ShipNow& in) const { out->mutable_ship_now()->set_ticket(in.ticket); }
};

}  // namespace

void Write(const EdgeMessage& in, absl::Time now, v1::EdgeUpdate* out) {
  out->set_serial(in.serial);
  std::visit(BodyWriter{now, out}, in.body);
}

}  // namespace credbroker::control
