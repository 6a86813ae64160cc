#pragma once

#include <string>

#include "absl/time/time.h"
#include "token/claims.h"

namespace credbroker::token {

inline const absl::Time kIssued = absl::FromUnixSeconds(1'800'000'000);

// Claims that encode; tests change one thing.
inline Claims SampleClaims() {
  Claims claims;
  claims.id = "t-1";
  claims.session = "s-1";
  claims.audience = "install-1";
  claims.requester = "team-web";
  claims.issued_at = kIssued;
  claims.not_before = kIssued;
  claims.expires_at = kIssued + absl::Minutes(15);
  claims.scopes = {"web-agent"};
  claims.policy_digest = "abc123";
  return claims;
}

inline std::string SampleJson() {
  return R"({"aud":"install-1","exp":1800000900,"iat":1800000000,"jti":"t-1","label":"agent","nbf":1800000000,)"
         R"("phase":"agent","policy":"abc123","req":"team-web","scopes":["web-agent"],"sid":"s-1"})";
}

}  // namespace credbroker::token
