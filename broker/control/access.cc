#include "control/access.h"

#include "base/error.h"

namespace credbroker::control {

std::string_view RpcName(Rpc rpc) {
  switch (rpc) {
#define X(name, path, ...) \
  case Rpc::name:          \
    return path;
    CREDBROKER_RPCS(X)
#undef X
  }
  return "";
}

Roles AllowedRoles(Rpc rpc) {
  switch (rpc) {
#define X(name, path, ...) \
  case Rpc::name:          \
    return Roles::Of(__VA_ARGS__);
    CREDBROKER_RPCS(X)
#undef X
  }
  return Roles();
}

absl::Status CheckAccess(Rpc rpc, const Caller& caller) {
  const Roles allowed = AllowedRoles(rpc);
  if (caller.roles.Meets(allowed)) return absl::OkStatus();
  if (allowed.Has(Role::kHolder) && !caller.holder_status.ok()) return caller.holder_status;
  return base::Error(base::ErrorCode::kCallerNotAllowed, RpcName(rpc));
}

}  // namespace credbroker::control
