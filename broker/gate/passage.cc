#include "gate/passage.h"

#include "gate/gate.h"

namespace credbroker::gate {

Passage::Passage(Gate* gate, model::Allow allow, audit::IntentReceipt receipt, std::unique_ptr<model::Record> record, absl::Duration opened)
    : gate_(gate), allow_(std::move(allow)), receipt_(std::move(receipt)), record_(std::move(record)), opened_(opened) {}

Passage::Passage(Passage&& other) noexcept
    : gate_(std::exchange(other.gate_, nullptr)),
      allow_(std::move(other.allow_)),
      receipt_(std::move(other.receipt_)),
      lease_(std::move(other.lease_)),
      record_(std::move(other.record_)),
      opened_(other.opened_) {}

Passage::~Passage() {
  if (gate_ != nullptr) gate_->Close(*this, Outcome{});
}

}  // namespace credbroker::gate
