#pragma once

#include <memory>

#include "base/task.h"
#include "edge/worker.h"
#include "gate/passage.h"
#include "model/facts.h"
#include "net/stream.h"

namespace credbroker::edge {

// A connection that passes unread under an exception: the server name in the TLS greeting must be the CONNECT host, nothing
// is injected, and both ends are closed when the exception ends (B65). `passage` holds the intent; the caller closes it
// with the outcome returned here. The CONNECT was not answered yet; a failure before that leaves `answered` false.
struct TunnelResult {
  gate::Outcome outcome;
  bool answered = false;
};
base::Task<TunnelResult> RunTunnel(Worker& worker, net::Stream& client, const model::Facts& facts, const gate::Passage& passage);

}  // namespace credbroker::edge
