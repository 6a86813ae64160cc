#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "token/claims.h"

namespace credbroker::control {

// What a caller may be. A caller can be several at once; every caller is kAnyone.
enum class Role : uint8_t { kAnyone, kHolder, kRequester, kReviewer, kOperator, kAdmin, kEdge };

std::string_view RoleName(Role role);  // "anyone", "holder", ...
std::optional<Role> ParseRole(std::string_view text);

// A set of roles. A value.
class Roles {
 public:
  constexpr Roles() = default;
  template <typename... R>
  static constexpr Roles Of(R... roles) {
    Roles set;
    ((set.bits_ |= Bit(roles)), ...);
    return set;
  }
  // Everything an owner may do: all roles but holder and edge, which need proof of their own.
  static constexpr Roles Owner() {
    return Of(Role::kAnyone, Role::kRequester, Role::kReviewer, Role::kOperator, Role::kAdmin);
  }

  constexpr void Add(Role role) { bits_ |= Bit(role); }
  constexpr bool Has(Role role) const { return (bits_ & Bit(role)) != 0; }
  constexpr bool Meets(Roles other) const { return (bits_ & other.bits_) != 0; }
  constexpr bool operator==(const Roles&) const = default;

 private:
  static constexpr unsigned Bit(Role role) { return 1U << static_cast<unsigned>(role); }
  unsigned bits_ = 0;
};

// Where calls come in, and what that alone proves about who calls.
struct Door {
  Roles roles = Roles::Of(Role::kAnyone);
  std::string actor;          // for the ledger: `uid:0`, `edge:edge`; empty when the door does not tell
  bool takes_access = false;  // bearer tokens of accesses are looked at (TCP)
  std::string edge;           // name of the edge behind it, for role edge
};

// Who calls, proven.
struct Caller {
  Roles roles;
  std::string actor;                    // for the ledger: `uid:1000`, `access:admin`, `token:t-...`
  std::string requester;                // a requester access acts for this one only; empty = for every one
  std::optional<token::Claims> holder;  // of the token that was shown, verified, when it is good
  absl::Status holder_status;           // why there is no holder

  // Fails kRequesterNotAllowed when the caller may not act for `name`.
  absl::Status MayActFor(std::string_view name) const;
  // True when answers may hold details beyond the catalogue's text.
  bool privileged() const {
    return roles.Meets(Roles::Of(Role::kAdmin, Role::kReviewer, Role::kOperator, Role::kRequester));
  }
};

// Why something is done, for ledger and store.
struct Cause {
  std::string actor;
  std::string reason;
};

}  // namespace credbroker::control
