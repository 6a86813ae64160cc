#include "evidence/hosts.h"

#include <map>
#include <set>

#include "base/str.h"

namespace credbroker::evidence {
namespace {

class Collector {
 public:
  void Add(const std::string& host, const std::string& why, const std::string& by, bool inspected) {
    Entry& entry = entries_[{host, why}];
    entry.inspected = inspected;
    if (!by.empty()) entry.by.insert(by);
  }

  std::vector<ReachableHost> Take() const {
    std::vector<ReachableHost> out;
    for (const auto& [key, entry] : entries_) {
      std::string by;
      for (const std::string& name : entry.by) base::StrAppend(&by, by.empty() ? "" : ", ", name);
      out.push_back({key.first, key.second, by, entry.inspected});
    }
    return out;
  }

 private:
  struct Entry {
    bool inspected = true;
    std::set<std::string> by;
  };
  std::map<std::pair<std::string, std::string>, Entry> entries_;
};

void AddService(const policy::Service& service, const std::string& scope, Collector* out) {
  for (const policy::ServiceHost& host : service.hosts) {
    out->Add(host.pattern.Text(), base::StrCat("service ", service.name), base::StrCat("scope ", scope), true);
  }
  // No session can name these: the edge goes there for an object that a granted repository's LFS answer pointed to.
  for (const model::HostPattern& host : service.lfs_hosts) {
    out->Add(host.Text(), base::StrCat("LFS storage of service ", service.name), base::StrCat("scope ", scope), true);
  }
}

}  // namespace

std::vector<ReachableHost> ReachableHosts(const policy::RuleSet& rules, absl::Time now) {
  Collector out;
  for (const auto& [name, scope] : rules.scopes()) {
    for (const policy::RepositoryRule& rule : scope.repositories) AddService(*rule.service, name, &out);
    for (const policy::EndpointRule& rule : scope.endpoints) AddService(*rule.service, name, &out);
    for (const policy::EgressRule& rule : scope.egress) {
      for (const model::HostPattern& host : rule.hosts) out.Add(host.Text(), base::StrCat("egress ", rule.rule), base::StrCat("scope ", name), true);
    }
  }
  for (const auto& [id, exception] : rules.exceptions()) {
    if (!exception.ActiveAt(now)) continue;
    for (const model::HostPattern& host : exception.hosts) out.Add(host.Text(), base::StrCat("exception ", id), "", false);
  }
  return out.Take();
}

}  // namespace credbroker::evidence
