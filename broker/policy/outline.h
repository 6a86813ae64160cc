#pragma once

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "model/grant.h"
#include "policy/rule_set.h"

namespace credbroker::policy {

// What a grant permits now, in plain rows: for whoami, status and evidence. Shows no more than Decide allows; entries
// that deny are listed beside what they cut.
struct Outline {
  struct Repository {
    std::string scope, service, credential;
    std::string name;  // `acme/web` or `acme/*`
    std::vector<std::string> hosts;
    bool fetch = false;
    std::vector<std::string> push_refs;  // patterns, `{session}` filled in; empty = no push
    std::vector<std::string> only_refs;  // the token's own narrowing; both lists hold
    std::vector<std::string> deny_refs;  // of every scope of the session
    std::vector<std::string> deny_paths;  // so too
    bool create = false, remove = false, force = false;
    std::vector<std::string> api;  // effect classes
  };
  struct Endpoint {
    std::string scope, service, credential;
    std::vector<std::string> hosts;
    std::vector<std::string> methods;
    std::string path;
    bool deny = false;
  };
  struct Egress {
    std::string scope;
    std::vector<std::string> hosts;
    std::vector<std::string> methods;
    std::vector<std::string> paths;  // empty = every path
  };
  struct Tunnel {
    std::string exception;
    std::vector<std::string> hosts;
    absl::Time expires;
  };
  std::vector<Repository> repositories;
  std::vector<Endpoint> endpoints;
  std::vector<Egress> egress;
  std::vector<Tunnel> tunnels;
};

Outline OutlineOf(const model::Grant& grant, const RuleSet& rules, absl::Time now);

// One host that the policy makes reachable for somebody.
struct ReachableHost {
  std::string host;         // `api.github.com`, `*.mirror.example`, with a port when it is not 443
  std::string via;          // `service github`, `egress web-agent/1`, `exception EX-7`
  bool inspected = true;    // false: a tunnel
  bool credential = false;  // a service's host, where a credential may be injected
  bool active = true;       // false: an expired or disabled exception
};

// The full list, exceptions included, sorted by host and way. A service that no scope uses is not in it.
std::vector<ReachableHost> AllHosts(const RuleSet& rules, absl::Time now);

}  // namespace credbroker::policy
