#include "model/decision.h"

namespace credbroker::model {

std::string_view HandlingName(Handling handling) {
  switch (handling) {
    case Handling::kIntercept: return "intercept";
    case Handling::kTunnel: return "tunnel";
    case Handling::kForward: return "forward";
  }
  return "forward";
}

}  // namespace credbroker::model
