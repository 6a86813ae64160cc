#pragma once

#include <string>
#include <string_view>

#include "control/core.h"

namespace credbroker::app {

struct Page {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
};

// What the health listener answers: /healthz (200 `ok`, 503 with a reason a line), /readyz (also 503 until an edge is
// current, when one is wanted), /metrics (Prometheus text format). Holds no names of sessions, repositories or people.
class HealthPages {
 public:
  enum class WantsEdge { kNo, kYes };
  HealthPages(control::Core& core, WantsEdge wants_edge) : core_(core), wants_edge_(wants_edge) {}

  // 404 for other paths. Thread-safe.
  Page Get(std::string_view path) const;

 private:
  Page Health() const;
  Page Ready() const;
  Page Metrics() const;

  control::Core& core_;
  const WantsEdge wants_edge_;
};

}  // namespace credbroker::app
