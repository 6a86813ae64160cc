#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "base/error.h"
#include "model/authority.h"
#include "model/placement.h"

namespace credbroker::policy {
struct DecisionMaker;  // policy/decide.cc: the only maker of an Allow
}

namespace credbroker::model {

// How the upstream of an allowed request is reached and checked. Part of an immutable policy version.
struct Upstream {
  std::string id;                      // `service github`, `egress web-agent/1`, `exception EX-7`: key of TLS contexts
  std::vector<std::string> addresses;  // CIDRs that its hosts may resolve to although they are not public
  std::string extra_ca_pem;            // trusted for these hosts beside the system's roots; empty = none
};

// The credential that an Allow names, and where it goes.
struct CredentialUse {
  std::string name;
  std::string secret;  // the vault's name for a static credential
  Placement placement;
};

enum class Handling {
  kIntercept,  // CONNECT: our TLS end, requests inside are judged one by one
  kTunnel,     // CONNECT under an exception: bytes pass unread, SNI must agree
  kForward,    // a request: forwarded, with the credential if one is named
};

// What one session may use under one scope. 0 = no limit.
struct UseLimits {
  int requests_per_minute = 0;
  int concurrent_requests = 0;
  int64_t bytes = 0;  // of bodies, both ways together, as an edge counts them
  bool operator==(const UseLimits&) const = default;
};

// Permission for one request under one policy version. Made by policy::Decide only. A value: copies share the
// immutable policy version and keep it alive.
class Allow {
 public:
  struct Fields {
    Handling handling = Handling::kForward;
    std::string rule;          // `web-agent/repositories/acme/web/git.push`
    std::string effect_class;  // facts.md 3.1: read, write.issue, push, fetch, ...
    // Names in the policy version; they live as long as `version`.
    std::string_view scope;
    std::string_view service;    // empty for egress and exceptions
    std::string_view exception;  // id of the exception that permits this, or empty
    const Upstream* upstream = nullptr;         // never null; lives as long as `version`
    const CredentialUse* credential = nullptr;  // null: none is injected
    bool managed = false;      // a service's host: every foreign credential is removed or refused
    bool proves_ancestry = false;  // the rule holds only for fast-forwards: the push must be read before it goes on
    bool reads_content = false;    // so it must for what it carries
    std::vector<std::string> protected_paths;  // patterns that were judged, or that would be
    int64_t policy_version = 0;
    UseLimits limits;  // the scope's
    std::shared_ptr<const void> version;
  };

  const Fields& operator*() const { return fields_; }
  const Fields* operator->() const { return &fields_; }

 private:
  friend struct policy::DecisionMaker;
  explicit Allow(Fields fields) : fields_(std::move(fields)) {}
  Fields fields_;
};

// A refusal with the rule that made it (`default deny` when no rule matched).
struct Deny {
  base::ErrorCode code = base::ErrorCode::kNoRule;
  std::string rule = "default-deny";
  std::string effect_class;
  std::string ref;        // the first ref that was refused, for pushes
  std::string path;       // the protected path that the push changes
  std::string pattern;    // and the pattern that protects it
  std::string exception;  // an expired or disabled one
  int64_t policy_version = 0;
};

class Decision {
 public:
  Decision(Allow allow) : value_(std::move(allow)) {}  // NOLINT(google-explicit-constructor): two results, one return
  Decision(Deny deny) : value_(std::move(deny)) {}     // NOLINT(google-explicit-constructor)
  const Allow* allow() const { return std::get_if<Allow>(&value_); }
  const Deny* deny() const { return std::get_if<Deny>(&value_); }
  // The permission, moved out; only when there is one.
  Allow TakeAllow() { return std::get<Allow>(std::move(value_)); }

 private:
  std::variant<Allow, Deny> value_;
};

std::string_view HandlingName(Handling handling);  // "intercept", "tunnel", "forward"

}  // namespace credbroker::model
