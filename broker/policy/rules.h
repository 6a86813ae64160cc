#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/authority.h"
#include "model/decision.h"
#include "model/grant.h"
#include "model/placement.h"
#include "policy/pattern.h"
#include "policy/protected_path.h"

namespace credbroker::policy {

// The parts of a loaded policy, as plain values. They belong to one immutable RuleSet; pointers between them live as
// long as it does.

// A set of phases or labels, one bit each.
using Mask = uint8_t;
inline constexpr Mask kAny = 0xFF;
inline Mask Bit(model::Phase phase) { return static_cast<Mask>(1U << static_cast<unsigned>(phase)); }
inline Mask Bit(model::Label label) { return static_cast<Mask>(1U << static_cast<unsigned>(label)); }

enum class Preset { kNone, kGithub, kGitea, kGitlab, kBitbucket };

// One host of a service and what it carries. On a forge (a service with a preset) the hosts whose name starts with
// `api.` carry the API; when there is none, every host carries both, the API under `api_prefix`.
struct ServiceHost {
  model::HostPattern pattern;
  bool git = true;
  bool api = false;
  std::string api_prefix;     // `/api/v3`, or empty for the root
  bool root_api_too = false;  // `/repos/...` is read as an API path beside the prefix (one-host github preset)
};

struct Service {
  std::string name;
  Preset preset = Preset::kNone;
  std::vector<ServiceHost> hosts;
  bool plain_http = false;
  model::Upstream upstream;
  std::vector<model::HostPattern> lfs_hosts;  // that hold its LFS objects, beside its own
  std::vector<model::Placement> places;  // where its credentials go, each once: the sandbox's token may stand there too
};

// A static credential. Its place may differ between git and API requests of a forge.
struct Credential {
  std::string name;
  const Service* service = nullptr;
  std::string provider;
  std::string secret;  // the vault's name
  model::CredentialUse git;
  model::CredentialUse api;
  std::vector<std::string> placeholder_env;  // as written; empty = the service's usual names
};

struct PushRule {
  std::vector<RefPattern> refs;
  std::vector<RefPattern> deny_refs;    // win over every scope of the session
  std::vector<ProtectedPath> deny_paths;  // win over every scope of the session, for pushes to `refs`
  uint64_t max_push_bytes = 0;            // of the pack; 0 = no limit of the rule's
  uint64_t max_objects = 0;
  uint64_t max_blob_bytes = 0;
  bool create = false;
  bool remove = false;  // `delete:`
  bool force = false;

  // Must the pack be read for this rule?
  bool reads_content() const { return !deny_paths.empty() || max_push_bytes + max_objects + max_blob_bytes != 0; }
};

// Classes beyond read, read-host and write, granted by name: somebody answers for it, and it ends.
struct DangerousGrant {
  std::vector<std::string> classes;
  std::string owner;
  std::string reason;
  std::string approved_by;
  absl::Time expires;
};

struct RepositoryRule {
  std::string rule;  // `web-agent/repositories/acme/web`
  const Service* service = nullptr;
  RepositoryPattern name;
  std::string id;  // the host's number of the repository: requests may name it so; empty = they may not
  const Credential* credential = nullptr;  // null: none is injected
  bool fetch = false;
  std::optional<PushRule> push;
  std::vector<std::string> api;  // classes; `write` covers `write.issue`
  std::vector<DangerousGrant> dangerous;
};

struct EndpointRow {
  std::vector<std::string> methods;
  PathPattern path;
};

struct EndpointRule {
  std::string rule;  // `web-agent/endpoints/1`
  const Service* service = nullptr;
  const Credential* credential = nullptr;
  std::vector<EndpointRow> allow;
  std::vector<EndpointRow> deny;  // win over every scope of the session
  Mask phases = kAny;
};

struct EgressRule {
  std::string rule;  // `web-agent/egress/1`
  std::vector<model::HostPattern> hosts;
  std::vector<std::string> methods;  // default GET and HEAD
  std::vector<PathPattern> paths;    // empty = every path
  bool plain_http = false;           // plain http also on other ports than 80
  Mask phases = kAny;
  model::Upstream upstream;
};

struct Limits {
  absl::Duration session = absl::Hours(8);   // ceiling 24 h
  absl::Duration token = absl::Minutes(15);  // what a token gets when nothing is asked for
  absl::Duration token_ceiling = absl::Minutes(60);  // what may be asked for; `token` when the policy names it
  absl::Duration idle = absl::Minutes(30);   // at most `session`
  model::UseLimits use;                      // for each session under the scope
};

struct Scope {
  std::string name;
  std::string description;
  std::vector<std::string> requesters;
  Mask phases = kAny;
  Mask labels = kAny;
  Limits limits;
  std::vector<RepositoryRule> repositories;
  std::vector<EndpointRule> endpoints;
  std::vector<EgressRule> egress;
};

// A named, owned, expiring hole. `kind: tunnel`: connections to its hosts pass unread.
struct Exception {
  std::string id;
  std::string kind;
  std::vector<model::HostPattern> hosts;
  std::string reason;
  std::string owner;
  std::string approved_by;
  absl::Time expires;
  bool enabled = true;
  std::vector<std::string> scopes;  // empty = sessions of every scope
  model::Upstream upstream;

  bool ActiveAt(absl::Time now) const { return enabled && now < expires; }
};

}  // namespace credbroker::policy
