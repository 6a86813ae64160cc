#include "control/access_list.h"

#include <nlohmann/json.hpp>

#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "crypto/hash.h"
#include "crypto/random.h"

namespace credbroker::control {
namespace {

constexpr std::string_view kPrefix = "access/";
constexpr std::string_view kBearerPrefix = "cba_";
constexpr std::size_t kBearerBytes = 32;

std::string Encode(const Access& access, std::string_view hash) {
  nlohmann::json roles = nlohmann::json::array();
  for (const Role role : {Role::kRequester, Role::kReviewer, Role::kOperator, Role::kAdmin}) {
    if (access.roles.Has(role)) roles.push_back(std::string(RoleName(role)));
  }
  return nlohmann::json{{"hash", std::string(hash)}, {"roles", roles}, {"requester", access.requester}}.dump();
}

// Rows are our own, yet a row that cannot be read gives nobody anything.
std::optional<Access> Decode(std::string name, const std::string& text, std::string* hash) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("hash") || !json["hash"].is_string() || !json.contains("roles") ||
      !json["roles"].is_array()) {
    return std::nullopt;
  }
  *hash = json["hash"].get<std::string>();
  Access access{.name = std::move(name), .roles = Roles::Of(Role::kAnyone)};
  for (const auto& entry : json["roles"]) {
    if (!entry.is_string()) return std::nullopt;
    const std::optional<Role> role = ParseRole(entry.get<std::string>());
    if (!role || *role == Role::kEdge || *role == Role::kHolder) return std::nullopt;
    access.roles.Add(*role);
  }
  if (json.contains("requester") && json["requester"].is_string()) access.requester = json["requester"];
  if (access.roles.Has(Role::kRequester) && !access.roles.Has(Role::kAdmin) && access.requester.empty()) {
    return std::nullopt;
  }
  return access;
}

}  // namespace

absl::StatusOr<base::Secret> AccessList::Create(const Access& access) {
  std::string bearer = base::StrCat(kBearerPrefix, base::Base64UrlEncode(crypto::RandomBytes(kBearerBytes)));
  const absl::Status stored =
      store_.meta().Set(base::StrCat(kPrefix, access.name), Encode(access, crypto::Sha256Hex(bearer)));
  base::Secret secret = base::Secret::Take(std::move(bearer));
  RETURN_IF_ERROR(stored, "storing an access");
  return secret;
}

bool AccessList::Exists(std::string_view name) const {
  const auto row = store_.meta().Get(base::StrCat(kPrefix, name));
  return row.ok() && row->has_value();
}

absl::StatusOr<Access> AccessList::Find(std::string_view bearer) const {
  const std::string hash = crypto::Sha256Hex(bearer);
  std::optional<Access> found;
  ASSIGN_OR_RETURN(const std::vector<std::string> keys, store_.meta().Keys(kPrefix), "reading accesses");
  for (const std::string& key : keys) {
    ASSIGN_OR_RETURN(const std::optional<std::string> row, store_.meta().Get(key), "reading an access");
    if (!row) continue;
    std::string kept;
    std::optional<Access> access = Decode(key.substr(kPrefix.size()), *row, &kept);
    if (access && crypto::EqualConstantTime(kept, hash)) found = std::move(access);
  }
  if (!found) return base::Error(base::ErrorCode::kCallerNotAllowed, "unknown bearer token");
  return *std::move(found);
}

}  // namespace credbroker::control
