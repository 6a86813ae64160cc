#pragma once

#include <memory>
#include <vector>

#include "control/caller.h"
#include "control/core.h"

namespace grpc {
class Service;
}

// Private to this room: the gRPC services, thin. One set for each door; core and door outlive it.
namespace credbroker::control {

std::unique_ptr<grpc::Service> MakeSessionService(Core& core, const Door& door);
std::unique_ptr<grpc::Service> MakeTokenService(Core& core, const Door& door);
std::unique_ptr<grpc::Service> MakePolicyService(Core& core, const Door& door);
std::unique_ptr<grpc::Service> MakeSecretService(Core& core, const Door& door);
std::unique_ptr<grpc::Service> MakeAuditService(Core& core, const Door& door);
std::unique_ptr<grpc::Service> MakeEvidenceService(Core& core, const Door& door);
std::unique_ptr<grpc::Service> MakeStatusService(Core& core, const Door& door);
// For the door of one edge: `door.edge` is its name.
std::unique_ptr<grpc::Service> MakeEdgeService(Core& core, const Door& door);

// All but the EdgeService.
std::vector<std::unique_ptr<grpc::Service>> MakeApiServices(Core& core, const Door& door);

}  // namespace credbroker::control
