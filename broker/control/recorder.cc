#include "control/recorder.h"

#include <future>
#include <memory>
#include <utility>

#include "base/macros.h"
#include "base/str.h"
#include "control/event_log.h"

namespace credbroker::control {

absl::Status Recorder::Write(model::Record record) {
  if (record.time == absl::Time()) record.time = clock_.Now();
  if (record.channel.empty()) record.channel = "api";
  audit::Position position;
  RETURN_IF_ERROR(ledger_.Append(record, &position), "recording");
  if (ledger_.durability() == audit::Durability::kFlush) return absl::OkStatus();
  auto done = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> durable = done->get_future();
  ledger_.WhenDurable(position, [done](absl::Status status) { done->set_value(std::move(status)); });
  return durable.get();
}

void Recorder::WriteOrOwe(model::Record record) {
  record.time = clock_.Now();
  const absl::Status written = Write(record);
  if (written.ok()) return;
  const std::lock_guard lock(mutex_);
  if (owed_.size() < kMaxOwed) {
    owed_.push_back(std::move(record));
  } else {
    ++lost_;
  }
  LogEvent(Level::kError, "record_owed", {{"count", base::StrCat(owed_.size() + lost_)}});
}

void Recorder::PayDebt() {
  const std::lock_guard lock(mutex_);
  while (!owed_.empty()) {
    if (!Write(owed_.front()).ok()) return;
    owed_.pop_front();
  }
  if (lost_ == 0) return;
  model::Record gap{.kind = model::RecordKind::kSystem};
  gap.action = "ledger.gap";
  gap.detail = base::StrCat(lost_, " records of revocations were lost while the ledger could not be written");
  if (Write(gap).ok()) lost_ = 0;
}

std::size_t Recorder::owed() const {
  const std::lock_guard lock(mutex_);
  return owed_.size() + lost_;
}

}  // namespace credbroker::control
