#include "policy/narrow.h"

#include <algorithm>

#include "policy/pattern.h"

namespace credbroker::policy {

bool PermitsMethod(const model::Narrowing& narrowing, std::string_view method) {
  const auto& list = narrowing.methods;
  return list.empty() || std::find(list.begin(), list.end(), method) != list.end();
}

// An entry without a port means the host on every port that the scope allows.
bool PermitsHost(const model::Narrowing& narrowing, const model::Authority& authority) {
  return narrowing.hosts.empty() ||
         std::any_of(narrowing.hosts.begin(), narrowing.hosts.end(), [&](const std::string& entry) {
           const auto host = model::ParseAuthority(entry, authority.port);
           return host.ok() && *host == authority;
         });
}

bool PermitsRepository(const model::Narrowing& narrowing, std::string_view repository) {
  if (narrowing.repositories.empty()) return true;
  return !repository.empty() &&
         std::any_of(narrowing.repositories.begin(), narrowing.repositories.end(), [&](const std::string& entry) {
           const auto pattern = RepositoryPattern::Parse(entry, 1, 20);
           return pattern.ok() && pattern->Matches(repository);
         });
}

bool NarrowsContent(const model::Narrowing& narrowing) {
  return !narrowing.methods.empty() || !narrowing.repositories.empty() || !narrowing.refs.empty();
}

bool Permits(const model::Narrowing& narrowing, const model::Facts& facts, std::string_view repository,
             std::string_view session, std::string* ref) {
  if (narrowing.empty()) return true;
  if (!PermitsHost(narrowing, facts.authority)) return false;
  if (facts.kind == model::Facts::Kind::kConnect) return true;
  if (!PermitsMethod(narrowing, facts.method) || !PermitsRepository(narrowing, repository)) return false;
  using Operation = model::GitFacts::Operation;
  const bool writes = facts.git && (facts.git->operation == Operation::kPush || facts.git->operation == Operation::kLfsWrite);
  if (narrowing.refs.empty() || !writes) return true;
  for (const model::RefChange& change : facts.git->changes) {
    const bool named = std::any_of(narrowing.refs.begin(), narrowing.refs.end(), [&](const std::string& entry) {
      const auto pattern = RefPattern::Parse(entry);
      return pattern.ok() && pattern->Matches(change.ref, session);
    });
    if (named) continue;
    *ref = change.ref;
    return false;
  }
  return true;
}

}  // namespace credbroker::policy
