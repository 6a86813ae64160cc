#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "policy/host_index.h"
#include "policy/rules.h"
#include "policy/source.h"

namespace credbroker::policy {

// One immutable version of the policy, ready for decisions. Shared by pointer; thread-safe.
class RuleSet {
 public:
  // What a policy holds, by name.
  struct Parts {
    std::map<std::string, Service, std::less<>> services;
    std::map<std::string, Credential, std::less<>> credentials;
    std::map<std::string, Scope, std::less<>> scopes;
    std::map<std::string, Exception, std::less<>> exceptions;
    std::vector<std::string> warnings;
  };
  struct ServiceMatch {
    const Service* service = nullptr;  // null: no service claims the host
    const ServiceHost* host = nullptr;
  };
  // A scope and the indexes over its rules.
  struct IndexedScope {
    const Scope* scope = nullptr;
    std::multimap<std::string, const RepositoryRule*, std::less<>> names;   // by lower-case name
    std::multimap<std::string, const RepositoryRule*, std::less<>> owners;  // by lower-case owner, for `owner/*`
    std::vector<std::pair<const Service*, std::pair<Mask, std::string_view>>> reach;  // phases and rule per service
    HostIndex<std::pair<const EgressRule*, bool>> egress;  // the bool: this host entry permits plain http
  };
  // The rules of one scope that name a repository.
  using RepositoryRules = absl::InlinedVector<const RepositoryRule*, 4>;

  // Loads a source. `version` and `digest` are the caller's and are handed on unread. Fails kPolicyInvalid with up to
  // ten lines `FILE:LINE:COLUMN: what is wrong; hint`. Limits: 10,000 scopes, 16 levels of nesting, 500,000 YAML nodes.
  static absl::StatusOr<std::shared_ptr<const RuleSet>> Load(const PolicySource& source, int64_t version,
                                                             std::string digest);
  // Version 0, which denies everything.
  static std::shared_ptr<const RuleSet> Empty();

  RuleSet(Parts parts, int64_t version, std::string digest);
  RuleSet(const RuleSet&) = delete;
  RuleSet& operator=(const RuleSet&) = delete;

  int64_t version() const { return version_; }
  const std::string& digest() const { return digest_; }
  // What an admin should know and what does not stop the policy from loading, as `FILE:LINE:COLUMN: text`.
  const std::vector<std::string>& warnings() const { return parts_.warnings; }

  const std::map<std::string, Service, std::less<>>& services() const { return parts_.services; }
  const std::map<std::string, Credential, std::less<>>& credentials() const { return parts_.credentials; }
  const std::map<std::string, Scope, std::less<>>& scopes() const { return parts_.scopes; }
  const std::map<std::string, Exception, std::less<>>& exceptions() const { return parts_.exceptions; }

  const Scope* FindScope(std::string_view name) const;  // null: there is none
  // Whether `requester` may open a session under the scope. Fails kScopeNotFound, kRequesterNotAllowed.
  absl::Status MayOpen(std::string_view scope, std::string_view requester) const;
  // The tightest of the limits of several scopes; unknown names are left out. Without `use`, which holds scope by scope.
  Limits SessionLimits(const std::vector<std::string>& scopes) const;
  // The vault's names that credentials refer to, sorted, each once.
  std::vector<std::string> Secrets() const;
  // Names of environment variables in which tools under these scopes look for keys of granted services: a credential's
  // `placeholder_env`, else GH_TOKEN and GITHUB_TOKEN for forges, OPENAI_API_KEY and ANTHROPIC_API_KEY for their hosts.
  // Sorted, each once.
  std::vector<std::string> PlaceholderNames(const std::vector<std::string>& scopes) const;

  // For Decide.
  ServiceMatch FindService(const model::Authority& authority) const;
  const IndexedScope* FindIndexed(std::string_view scope) const;
  static RepositoryRules FindRepository(const IndexedScope& scope, const Service& service, std::string_view name);
  const HostIndex<const Exception*>& exception_index() const { return exception_index_; }
  bool has_limits() const { return has_limits_; }  // some rule holds in some phases or for some labels only

 private:
  void CollectPlaces();
  void Index();
  void IndexScope(const Scope& scope);

  Parts parts_;
  int64_t version_;
  std::string digest_;
  HostIndex<ServiceMatch> service_index_;
  HostIndex<const Exception*> exception_index_;
  TextMap<IndexedScope> scope_index_;
  bool has_limits_ = false;
};

}  // namespace credbroker::policy
