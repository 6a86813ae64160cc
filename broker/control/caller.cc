#include "control/caller.h"

#include <array>
#include <utility>

#include "base/error.h"

namespace credbroker::control {
namespace {

constexpr std::array<std::pair<Role, std::string_view>, 7> kNames = {{{Role::kAnyone, "anyone"},
                                                                      {Role::kHolder, "holder"},
                                                                      {Role::kRequester, "requester"},
                                                                      {Role::kReviewer, "reviewer"},
                                                                      {Role::kOperator, "operator"},
                                                                      {Role::kAdmin, "admin"},
                                                                      {Role::kEdge, "edge"}}};

}  // namespace

std::string_view RoleName(Role role) { return kNames[static_cast<std::size_t>(role)].second; }

std::optional<Role> ParseRole(std::string_view text) {
  for (const auto& [role, name] : kNames) {
    if (name == text) return role;
  }
  return std::nullopt;
}

absl::Status Caller::MayActFor(std::string_view name) const {
  if (roles.Has(Role::kAdmin) || requester.empty() || requester == name) return absl::OkStatus();
  return base::Error(base::ErrorCode::kRequesterNotAllowed, "the access belongs to another requester");
}

}  // namespace credbroker::control
