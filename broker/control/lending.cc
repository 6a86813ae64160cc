#include "control/lending.h"

#include <algorithm>

#include "base/macros.h"
#include "control/sessions.h"
#include "crypto/seal.h"
#include "model/authority.h"
#include "policy/outline.h"

namespace credbroker::control {
namespace {

// The names under which a client on this machine addresses the edge's gateway itself, over TLS.
bool IsGatewayName(std::string_view host) { return host == "localhost" || host == "127.0.0.1" || host == "::1"; }

bool Uses(const policy::Scope& scope, const policy::Credential& credential) {
  const auto names = [&](const auto& rule) { return rule.credential == &credential; };
  return std::any_of(scope.repositories.begin(), scope.repositories.end(), names) ||
         std::any_of(scope.endpoints.begin(), scope.endpoints.end(), names);
}

// Ports do not matter: a certificate names a host.
bool Reaches(const policy::ReachableHost& entry, const model::Authority& host) {
  if (!entry.inspected || !entry.active) return false;
  const auto pattern = model::HostPattern::Parse(entry.host);
  if (!pattern.ok()) return false;
  model::Authority asked = host;
  asked.port = pattern->authority().port;
  return pattern->Matches(asked);
}

}  // namespace

absl::StatusOr<Lent> Lending::Lend(std::string_view edge, std::string_view session, std::string_view credential) const {
  const std::optional<EdgeView> view = hub_.Find(edge);
  if (!view || !view->connected) return base::Error(base::ErrorCode::kEdgeNotFound, edge);
  const absl::Time now = clock_.Now();
  ASSIGN_OR_RETURN(const store::Session row, store_.sessions().Find(session), "lending");
  RETURN_IF_ERROR(CheckLive(row, now));
  const auto rules = rules_.Get();
  const auto named = rules->credentials().find(credential);
  if (named == rules->credentials().end()) return base::Error(base::ErrorCode::kNoRule, "no such credential");
  const bool used = std::any_of(row.scopes.begin(), row.scopes.end(), [&](const std::string& name) {
    const policy::Scope* scope = rules->FindScope(name);
    return scope != nullptr && Uses(*scope, named->second);
  });
  if (!used) return base::Error(base::ErrorCode::kNoRule, "no scope of the session uses the credential");

  // The version is read first: if the secret is rotated in between, the edge holds the newer value under an older
  // number.
  const absl::StatusOr<vault::SecretInfo> info = vault_.Find(named->second.secret);
  if (base::CodeOf(info.status()) == base::ErrorCode::kSecretNotFound) {
    return base::Error(base::ErrorCode::kCredentialNotSet, named->second.secret);
  }
  RETURN_IF_ERROR(info.status(), "lending");
  ASSIGN_OR_RETURN(const base::Secret value, vault_.Lend(named->second.secret), "lending");
  ASSIGN_OR_RETURN(std::string sealed, crypto::SealTo(view->hello.sealing_key, value), "sealing a lease");
  ++metrics_.leases_lent;
  return Lent{std::move(sealed), std::min(now + kLeaseLife, row.expires_at), info->version};
}

absl::StatusOr<std::string> Lending::SignLeaf(std::string_view host, std::string_view public_key_der) const {
  ASSIGN_OR_RETURN(const model::Authority asked, model::ParseHost(host), "signing a leaf");
  const absl::Time now = clock_.Now();
  const std::vector<policy::ReachableHost> hosts = policy::AllHosts(*rules_.Get(), now);
  const bool reached = std::any_of(hosts.begin(), hosts.end(), [&](const auto& entry) { return Reaches(entry, asked); });
  if (!reached && !IsGatewayName(asked.host)) {
    return base::Error(base::ErrorCode::kHostNotAllowed, asked.host);
  }
  ASSIGN_OR_RETURN(std::string leaf, ca_.SignLeaf(asked.host, public_key_der, now), "signing a leaf");
  ++metrics_.leaves_signed;
  return leaf;
}

}  // namespace credbroker::control
