#pragma once

#include "base/task.h"
#include "edge/describe.h"
#include "edge/worker.h"
#include "net/listener.h"

namespace credbroker::edge {

// Serves one accepted connection to its end. `worker` outlives the task; `gauge` counts connections that have not shown
// a good token.
base::Task<void> ServeConnection(Worker& worker, net::Accepted accepted, Door::Kind kind, std::size_t& unauthenticated);

}  // namespace credbroker::edge
