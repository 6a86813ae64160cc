#pragma once

#include <grpcpp/grpcpp.h>

#include <exception>
#include <string>

#include "absl/status/status.h"
#include "control/access.h"
#include "control/caller.h"
#include "control/core.h"

// Private to this room: what every call has in common.
namespace credbroker::control {

// Who calls: what the door proves, a bearer access (`authorization`, on doors that take one), a token
// (`credbroker-token`).
Caller CallerOf(Core& core, const Door& door, const grpc::ServerContext& context);

// The answer to the caller: catalogue text, for privileged callers with detail; the number in trailing metadata.
grpc::Status Finish(Core& core, grpc::ServerContext* context, Rpc rpc, const Caller& caller,
                    const absl::Status& status);

// One call: caller, access table, body, answer. `body(const Caller&)` gives an absl::Status.
template <typename Body>
grpc::Status Serve(Core& core, const Door& door, grpc::ServerContext* context, Rpc rpc, Body body) {
  const Caller caller = CallerOf(core, door, *context);
  absl::Status status = CheckAccess(rpc, caller);
  if (status.ok()) {
    try {
      status = body(caller);
    } catch (const std::exception& e) {
      status = base::Error(base::ErrorCode::kInternal, e.what());
    }
  }
  return Finish(core, context, rpc, caller, status);
}

}  // namespace credbroker::control
