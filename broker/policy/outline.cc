#include "policy/outline.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/str.h"
#include "policy/catalogue.h"
#include "policy/narrow.h"

namespace credbroker::policy {
namespace {

using model::Narrowing;

std::vector<std::string> HostsOf(const std::vector<model::HostPattern>& patterns, const Narrowing& narrowing) {
  std::vector<std::string> out;
  for (const model::HostPattern& pattern : patterns) {
    if (narrowing.hosts.empty() || (!pattern.wildcard() && PermitsHost(narrowing, pattern.authority()))) {
      out.push_back(pattern.Text());
      continue;
    }
    // A wildcard that was narrowed: the hosts that the token names and that it matches.
    for (const std::string& entry : narrowing.hosts) {
      const auto host = model::ParseAuthority(entry, pattern.authority().port);
      if (host.ok() && pattern.Matches(*host)) out.push_back(host->Text(443));
    }
  }
  return out;
}

std::vector<std::string> HostsOf(const Service& service, const Narrowing& narrowing) {
  std::vector<model::HostPattern> patterns;
  for (const ServiceHost& host : service.hosts) patterns.push_back(host.pattern);
  return HostsOf(patterns, narrowing);
}

std::vector<std::string> MethodsOf(const std::vector<std::string>& methods, const Narrowing& narrowing) {
  std::vector<std::string> out;
  std::copy_if(methods.begin(), methods.end(), std::back_inserter(out),
               [&](const std::string& m) { return PermitsMethod(narrowing, m); });
  return out;
}

// `acme/web`, or what the token's list leaves of `acme/*`.
std::vector<std::string> NamesOf(const RepositoryRule& rule, const Narrowing& narrowing) {
  if (narrowing.repositories.empty()) return {rule.name.Text()};
  std::vector<std::string> out;
  if (!rule.name.owner_wide()) {
    if (PermitsRepository(narrowing, rule.name.key())) out.push_back(rule.name.Text());
    return out;
  }
  for (const std::string& entry : narrowing.repositories) {
    const auto pattern = RepositoryPattern::Parse(entry, 1, 20);
    if (!pattern.ok()) continue;
    const bool same_owner = pattern->owner_wide() && pattern->key() == rule.name.key();
    if (same_owner || (!pattern->owner_wide() && rule.name.Matches(pattern->key()))) out.push_back(pattern->Text());
  }
  return out;
}

class Writer {
 public:
  Writer(const model::Grant& grant, const RuleSet& rules, absl::Time now) : grant_(grant), rules_(rules), now_(now) {}

  Outline Run() {
    for (const std::string& name : grant_.scopes) {
      const Scope* scope = rules_.FindScope(name);
      if (scope == nullptr || (scope->phases & Bit(grant_.phase)) == 0 || (scope->labels & Bit(grant_.label)) == 0)
        continue;
      scopes_.push_back(scope);
    }
    for (const Scope* scope : scopes_) AddScope(*scope);
    if (!scopes_.empty() && !NarrowsContent(narrowing())) AddTunnels();
    return std::move(out_);
  }

 private:
  const Narrowing& narrowing() const { return grant_.narrowing; }

  void AddScope(const Scope& scope) {
    for (const RepositoryRule& rule : scope.repositories) {
      for (const std::string& name : NamesOf(rule, narrowing())) AddRepository(scope, rule, name);
    }
    // A token for repositories reaches nothing that names none.
    if (!narrowing().repositories.empty()) return;
    for (const EndpointRule& rule : scope.endpoints) {
      if ((rule.phases & Bit(grant_.phase)) == 0) continue;
      AddEndpoints(scope, rule, rule.allow, false);
      AddEndpoints(scope, rule, rule.deny, true);
    }
    for (const EgressRule& rule : scope.egress) AddEgress(scope, rule);
  }

  void AddRepository(const Scope& scope, const RepositoryRule& rule, const std::string& name) {
    Outline::Repository row;
    row.scope = scope.name;
    row.service = rule.service->name;
    row.credential = rule.credential == nullptr ? "" : rule.credential->name;
    row.name = name;
    row.hosts = HostsOf(*rule.service, narrowing());
    const bool speaks_git = PermitsMethod(narrowing(), "GET") && PermitsMethod(narrowing(), "POST");
    row.fetch = rule.fetch && speaks_git;
    if (rule.push && speaks_git) AddPush(*rule.push, rule, &row);
    for (const std::string& granted : rule.api) {
      if (ReachesClass(granted)) row.api.push_back(granted);
    }
    for (const DangerousGrant& grant : rule.dangerous) {
      if (now_ < grant.expires) std::copy_if(grant.classes.begin(), grant.classes.end(), std::back_inserter(row.api), [&](const auto& c) { return ReachesClass(c); });
    }
    if (!row.hosts.empty() && (row.fetch || !row.push_refs.empty() || !row.api.empty()))
      out_.repositories.push_back(std::move(row));
  }

  // Whether the token's methods leave an operation of this class.
  bool ReachesClass(std::string_view granted) const {
    const auto rows = Catalogue();
    return std::any_of(rows.begin(), rows.end(), [&](const CatalogueRow& row) {
      return Covers(granted, row.effect_class) && PermitsMethod(narrowing(), row.method);
    });
  }

  void AddPush(const PushRule& push, const RepositoryRule& rule, Outline::Repository* row) {
    for (const RefPattern& ref : push.refs) row->push_refs.push_back(ref.Filled(grant_.session));
    for (const std::string& ref : narrowing().refs) {
      const auto pattern = RefPattern::Parse(ref);
      if (pattern.ok()) row->only_refs.push_back(pattern->Filled(grant_.session));
    }
    // The token names refs, but none that can be read: no push.
    if (!narrowing().refs.empty() && row->only_refs.empty()) row->push_refs.clear();
    row->create = push.create;
    row->remove = push.remove;
    row->force = push.force;
    for (const Scope* scope : scopes_) {
      for (const RepositoryRule& other : scope->repositories) {
        const bool same =
            other.service == rule.service &&
            (other.name.Text() == rule.name.Text() || other.name.Matches(rule.name.key()) || rule.name.owner_wide());
        if (!same || !other.push) continue;
        for (const RefPattern& ref : other.push->deny_refs) row->deny_refs.push_back(ref.Filled(grant_.session));
        for (const ProtectedPath& path : other.push->deny_paths) {
          if (std::find(row->deny_paths.begin(), row->deny_paths.end(), path.text()) == row->deny_paths.end()) {
            row->deny_paths.push_back(path.text());
          }
        }
      }
    }
  }

  void AddEndpoints(const Scope& scope, const EndpointRule& rule, const std::vector<EndpointRow>& rows, bool deny) {
    for (const EndpointRow& entry : rows) {
      Outline::Endpoint row;
      row.scope = scope.name;
      row.service = rule.service->name;
      row.credential = rule.credential == nullptr || deny ? "" : rule.credential->name;
      row.hosts = HostsOf(*rule.service, narrowing());
      row.methods = deny ? entry.methods : MethodsOf(entry.methods, narrowing());
      row.path = entry.path.text();
      row.deny = deny;
      if (!row.hosts.empty() && !row.methods.empty()) out_.endpoints.push_back(std::move(row));
    }
  }

  void AddEgress(const Scope& scope, const EgressRule& rule) {
    if ((rule.phases & Bit(grant_.phase)) == 0) return;
    Outline::Egress row;
    row.scope = scope.name;
    row.hosts = HostsOf(rule.hosts, narrowing());
    row.methods = MethodsOf(rule.methods, narrowing());
    for (const PathPattern& path : rule.paths) row.paths.push_back(path.text());
    if (!row.hosts.empty() && !row.methods.empty()) out_.egress.push_back(std::move(row));
  }

  void AddTunnels() {
    for (const auto& entry : rules_.exceptions()) {
      const Exception& exception = entry.second;
      const bool ours =
          exception.scopes.empty() || std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope* scope) {
            return std::find(exception.scopes.begin(), exception.scopes.end(), scope->name) != exception.scopes.end();
          });
      if (!ours || !exception.ActiveAt(now_)) continue;
      Outline::Tunnel row{exception.id, {}, exception.expires};
      std::vector<model::HostPattern> open;
      std::copy_if(exception.hosts.begin(), exception.hosts.end(), std::back_inserter(open),
                   [&](const model::HostPattern& host) {
                     return host.wildcard() || rules_.FindService(host.authority()).service == nullptr;
                   });
      row.hosts = HostsOf(open, narrowing());
      if (!row.hosts.empty()) out_.tunnels.push_back(std::move(row));
    }
  }

  const model::Grant& grant_;
  const RuleSet& rules_;
  absl::Time now_;
  std::vector<const Scope*> scopes_;
  Outline out_;
};

}  // namespace

Outline OutlineOf(const model::Grant& grant, const RuleSet& rules, absl::Time now) {
  return Writer(grant, rules, now).Run();
}

std::vector<ReachableHost> AllHosts(const RuleSet& rules, absl::Time now) {
  std::vector<ReachableHost> out;
  std::set<const Service*> used;
  for (const auto& [name, scope] : rules.scopes()) {
    for (const RepositoryRule& rule : scope.repositories) used.insert(rule.service);
    for (const EndpointRule& rule : scope.endpoints) {
      if (!rule.allow.empty()) used.insert(rule.service);
    }
    for (const EgressRule& rule : scope.egress) {
      for (const model::HostPattern& host : rule.hosts)
        out.push_back({host.Text(), rule.upstream.id, true, false, true});
    }
  }
  for (const Service* service : used) {
    for (const ServiceHost& host : service->hosts)
      out.push_back({host.pattern.Text(), service->upstream.id, true, true, true});
    for (const model::HostPattern& host : service->lfs_hosts) out.push_back({host.Text(), service->upstream.id + " lfs", true, false, true});
  }
  for (const auto& [id, exception] : rules.exceptions()) {
    for (const model::HostPattern& host : exception.hosts) {
      out.push_back({host.Text(), exception.upstream.id, false, false, exception.ActiveAt(now)});
    }
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return std::tie(a.host, a.via) < std::tie(b.host, b.via); });
  return out;
}

}  // namespace credbroker::policy
