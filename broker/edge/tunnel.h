#pragma once

#include <memory>

#include "base/task.h"
#include "edge/worker.h"
#include "gate/passage.h"
#include "model/facts.h"
#include "net/stream.h"

namespace credbroker::edge {

// A connection that passes unread under an exception: the server name in the TLS greeting must be the CONNECT host, nothing
// is injected, and both ends are closed when the exception ends (B65). Answers the CONNECT. `passage` holds the intent; the
// caller closes it with the outcome. Everything outlives the task.
base::Task<gate::Outcome> RunTunnel(Worker& worker, net::Stream& client, const model::Facts& facts, const gate::Passage& passage);

}  // namespace credbroker::edge
