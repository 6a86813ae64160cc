#pragma once

#include "edge/connections.h"
#include "edge/leaf_source.h"
#include "edge/lfs_links.h"
#include "edge/node_ids.h"
#include "edge/options.h"
#include "edge/upstream.h"
#include "gate/gate.h"
#include "net/loop.h"

namespace credbroker::edge {

// What the connections of one loop share. Plain references, made in one place (edge/server.cc); all outlive the loop's tasks.
struct Worker {
  net::Loop& loop;
  gate::Gate& gate;
  Upstreams& upstreams;
  LeafSource& leaves;
  Connections& connections;
  NodeIds& nodes;
  const EdgeOptions& options;
  const LfsLinks& lfs_links;
};

}  // namespace credbroker::edge
