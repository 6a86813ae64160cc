#include "gate/passage.h"

#include "gate/gate.h"

namespace credbroker::gate {

Passage::~Passage() {
  if (state_ != nullptr && state_->gate != nullptr) state_->gate->Close(*this, Outcome{});
}

}  // namespace credbroker::gate
