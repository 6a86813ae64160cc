#include "control/whoami.h"

#include <algorithm>
#include <utility>

#include "base/macros.h"
#include "model/target.h"
#include "token/mint/placeholder.h"

namespace credbroker::control {
namespace {

token::PlaceholderKind KindOf(std::string_view variable) {
  static const std::map<std::string_view, token::PlaceholderKind> kKinds = {
      {"GH_TOKEN", token::PlaceholderKind::kGithub},
      {"GITHUB_TOKEN", token::PlaceholderKind::kGithub},
      {"OPENAI_API_KEY", token::PlaceholderKind::kOpenai},
      {"ANTHROPIC_API_KEY", token::PlaceholderKind::kAnthropic},
      {"AWS_ACCESS_KEY_ID", token::PlaceholderKind::kAwsKeyId},
      {"AWS_SECRET_ACCESS_KEY", token::PlaceholderKind::kAwsSecret}};
  const auto it = kKinds.find(variable);
  return it == kKinds.end() ? token::PlaceholderKind::kGeneric : it->second;
}

void RemoveRefused(policy::Outline* outline, const Revocations& revocations, absl::Time issued_at) {
  const auto credential_refused = [&](const std::string& name) {
    return !name.empty() && revocations.Refuses(store::RevocationKind::kCredential, name, issued_at);
  };
  std::erase_if(outline->repositories, [&](const policy::Outline::Repository& row) {
    return credential_refused(row.credential) ||
           revocations.Refuses(store::RevocationKind::kRepository, model::CanonicalRepository(row.name), issued_at);
  });
  std::erase_if(outline->endpoints,
                [&](const policy::Outline::Endpoint& row) { return credential_refused(row.credential); });
}

}  // namespace

absl::StatusOr<WhoAmI> DescribeHolder(const token::Claims& holder, store::Store& store, const CurrentRules& rules,
                                      const Revocations& revocations, absl::Time now) {
  WhoAmI who;
  who.claims = holder;
  ASSIGN_OR_RETURN(who.session, store.sessions().Find(holder.session), "describing a holder");
  ASSIGN_OR_RETURN(who.token, store.tokens().Find(holder.id), "describing a holder");
  const auto current = rules.Get();
  who.policy_version = current->version();
  who.outline = policy::OutlineOf(token::ToGrant(holder), *current, now);
  RemoveRefused(&who.outline, revocations, holder.issued_at);
  for (const std::string& name : current->PlaceholderNames(holder.scopes)) {
    who.placeholders[name] = token::MakePlaceholder(KindOf(name), holder.session);
  }
  return who;
}

}  // namespace credbroker::control
