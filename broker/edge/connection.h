#pragma once

#include "base/task.h"
#include "edge/describe.h"
#include "edge/session_sockets.h"
#include "edge/worker.h"
#include "net/listener.h"

namespace credbroker::edge {

// Serves one accepted connection to its end. `worker` outlives the task; `unauthenticated` counts connections that have not
// shown a good token.
base::Task<void> ServeConnection(Worker& worker, net::Accepted accepted, Door::Kind kind, std::size_t& unauthenticated);

// The same for a connection to a session's own socket: proxy and gateway in one, and no token needed.
base::Task<void> ServeSession(Worker& worker, net::Accepted accepted, std::shared_ptr<SessionSocket> socket, std::size_t& unauthenticated);

}  // namespace credbroker::edge
