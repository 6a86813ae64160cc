#include "policy/rule_set.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/macros.h"
#include "base/text.h"
#include "policy/loader.h"
#include "policy/reader.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;

constexpr std::size_t kMaxName = 256;

bool Claims(const Service& service, std::string_view host) {
  return std::any_of(service.hosts.begin(), service.hosts.end(),
                     [&](const ServiceHost& h) { return !h.pattern.wildcard() && h.pattern.authority().host == host; });
}

void AddPlaceholders(const Credential& credential, std::set<std::string>* names) {
  if (!credential.placeholder_env.empty()) {
    names->insert(credential.placeholder_env.begin(), credential.placeholder_env.end());
    return;
  }
  if (credential.service->preset != Preset::kNone) names->insert({"GH_TOKEN", "GITHUB_TOKEN"});
  if (Claims(*credential.service, "api.openai.com")) names->insert("OPENAI_API_KEY");
  if (Claims(*credential.service, "api.anthropic.com")) names->insert("ANTHROPIC_API_KEY");
}

}  // namespace

absl::StatusOr<std::shared_ptr<const RuleSet>> RuleSet::Load(const PolicySource& source, int64_t version,
                                                             std::string digest) {
  Problems problems;
  Parts parts = Loader(source, &problems).Run();
  RETURN_IF_ERROR(problems.ToStatus());
  return std::make_shared<const RuleSet>(std::move(parts), version, std::move(digest));
}

std::shared_ptr<const RuleSet> RuleSet::Empty() { return std::make_shared<const RuleSet>(Parts{}, 0, ""); }

RuleSet::RuleSet(Parts parts, int64_t version, std::string digest)
    : parts_(std::move(parts)), version_(version), digest_(std::move(digest)) {
  Index();
}

void RuleSet::CollectPlaces() {
  for (const auto& [name, credential] : parts_.credentials) {
    const auto service = parts_.services.find(credential.service->name);
    if (service == parts_.services.end()) continue;
    std::vector<model::Placement>& places = service->second.places;
    for (const model::Placement& place : {credential.git.placement, credential.api.placement}) {
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
    }
  }
}

void RuleSet::Index() {
  CollectPlaces();
  for (const auto& [name, service] : parts_.services) {
    for (const ServiceHost& host : service.hosts) service_index_.Add(host.pattern, {&service, &host});
  }
  for (const auto& [id, exception] : parts_.exceptions) {
    for (const model::HostPattern& host : exception.hosts) exception_index_.Add(host, &exception);
  }
  for (const auto& [name, scope] : parts_.scopes) IndexScope(scope);
}

void RuleSet::IndexScope(const Scope& scope) {
  IndexedScope& out = scope_index_[scope.name];
  out.scope = &scope;
  has_limits_ = has_limits_ || scope.phases != kAny || scope.labels != kAny;
  const auto reach = [&](const Service* service, Mask phases, std::string_view rule) {
    has_limits_ = has_limits_ || phases != kAny;
    for (const auto& [known, reached] : out.reach) {
      if (known == service && (reached.first | phases) == reached.first) return;
    }
    out.reach.push_back({service, {phases, rule}});
  };
  for (const RepositoryRule& rule : scope.repositories) {
    auto& map = rule.name.owner_wide() ? out.owners : out.names;
    map.emplace(rule.name.key(), &rule);
    reach(rule.service, kAny, rule.rule);
  }
  for (const EndpointRule& rule : scope.endpoints) {
    if (!rule.allow.empty()) reach(rule.service, rule.phases, rule.rule);
  }
  for (const EgressRule& rule : scope.egress) {
    has_limits_ = has_limits_ || rule.phases != kAny;
    for (const model::HostPattern& host : rule.hosts) {
      out.egress.Add(host, {&rule, rule.plain_http || host.authority().port == 80});
    }
  }
}

const Scope* RuleSet::FindScope(std::string_view name) const {
  const auto found = parts_.scopes.find(name);
  return found == parts_.scopes.end() ? nullptr : &found->second;
}

absl::Status RuleSet::MayOpen(std::string_view scope_name, std::string_view requester) const {
  const Scope* scope = FindScope(scope_name);
  if (scope == nullptr) return base::Error(ErrorCode::kScopeNotFound, base::EscapeText(scope_name, 64));
  const auto& list = scope->requesters;
  if (!requester.empty() && std::find(list.begin(), list.end(), requester) != list.end()) return absl::OkStatus();
  return base::Error(ErrorCode::kRequesterNotAllowed, scope->name);
}

Limits RuleSet::SessionLimits(const std::vector<std::string>& scopes) const {
  Limits out;
  bool first = true;
  for (const std::string& name : scopes) {
    const Scope* scope = FindScope(name);
    if (scope == nullptr) continue;
    const Limits& limits = scope->limits;
    out.session = first ? limits.session : std::min(out.session, limits.session);
    out.token = first ? limits.token : std::min(out.token, limits.token);
    out.token_ceiling = first ? limits.token_ceiling : std::min(out.token_ceiling, limits.token_ceiling);
    out.idle = first ? limits.idle : std::min(out.idle, limits.idle);
    first = false;
  }
  return out;
}

std::vector<std::string> RuleSet::Secrets() const {
  std::set<std::string> names;
  for (const auto& [name, credential] : parts_.credentials) names.insert(credential.secret);
  return {names.begin(), names.end()};
}

std::vector<std::string> RuleSet::PlaceholderNames(const std::vector<std::string>& scopes) const {
  std::set<std::string> names;
  for (const std::string& scope_name : scopes) {
    const Scope* scope = FindScope(scope_name);
    if (scope == nullptr) continue;
    for (const RepositoryRule& rule : scope->repositories) {
      if (rule.credential != nullptr) AddPlaceholders(*rule.credential, &names);
    }
    for (const EndpointRule& rule : scope->endpoints) {
      if (rule.credential != nullptr) AddPlaceholders(*rule.credential, &names);
    }
  }
  return {names.begin(), names.end()};
}

RuleSet::ServiceMatch RuleSet::FindService(const model::Authority& authority) const {
  ServiceMatch out;
  service_index_.Any(authority, [&](const ServiceMatch& match) {
    out = match;
    return true;
  });
  return out;
}

const RuleSet::IndexedScope* RuleSet::FindIndexed(std::string_view scope) const {
  const auto found = scope_index_.find(scope);
  return found == scope_index_.end() ? nullptr : &found->second;
}

RuleSet::RepositoryRules RuleSet::FindRepository(const IndexedScope& scope, const Service& service,
                                                 std::string_view name) {
  RepositoryRules out;
  if (name.empty() || name.size() > kMaxName) return out;
  char buffer[kMaxName];
  std::transform(name.begin(), name.end(), buffer,
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  const std::string_view lower(buffer, name.size());
  const auto add = [&](const auto& map, std::string_view key) {
    for (auto [at, end] = map.equal_range(key); at != end; ++at) {
      if (at->second->service == &service && at->second->name.Matches(name)) out.push_back(at->second);
    }
  };
  add(scope.names, lower);
  if (const std::size_t slash = lower.rfind('/'); slash != std::string_view::npos)
    add(scope.owners, lower.substr(0, slash));
  return out;
}

}  // namespace credbroker::policy
