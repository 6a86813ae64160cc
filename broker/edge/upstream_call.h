#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/task.h"
#include "edge/worker.h"
#include "gate/passage.h"

namespace credbroker::edge {

// A request of the edge's own under a passage, with the passage's credential: its answer is read here and goes nowhere.
struct UpstreamAsk {
  std::string method = "GET";
  std::string path, query;   // the query with its `?`
  std::string content_type;  // of `body`
  std::string accept;        // the answer must be of this type
  std::string body;
  uint64_t max_bytes = 0;    // of the answer: more is kBodyTooLarge
};

// Gives the body of a 200 answer piece by piece to `take`, whose error ends it. Fails as Upstreams::Connect,
// kUpstreamMalformed (another status or type included), kUpstreamClosed, kUpstreamTimeout. `target` names the host. What the
// arguments refer to outlives the await. Adds the bytes that came to `bytes_down`.
base::Task<absl::Status> CallUpstream(Worker& worker, const gate::Passage& passage, const model::Facts& target, const UpstreamAsk& ask,
                                      const std::function<absl::Status(std::string_view)>& take, int64_t* bytes_down);

}  // namespace credbroker::edge
