#pragma once

#include <atomic>
#include <deque>
#include <mutex>

#include "absl/status/status.h"
#include "audit/ledger.h"
#include "base/clock.h"
#include "model/record.h"

namespace credbroker::control {

// Writes the broker's own records. Thread-safe.
class Recorder {
 public:
  // Both outlive it.
  Recorder(audit::Ledger& ledger, const base::Clock& clock) : ledger_(ledger), clock_(clock) {}

  // The record is in the ledger, as durably as the ledger's mode says, when this returns OK; only then may its effect
  // happen. Fills in time and channel. Fails kLedgerUnavailable: nothing may happen.
  absl::Status Write(model::Record record);

  // For what must happen even when the ledger cannot be written (revocation): a record that does not get in is owed and
  // written as soon as it can be. Debt is bounded by kMaxOwed; beyond it only the count is kept.
  void WriteOrOwe(model::Record record);
  // Writes what is owed, if the ledger takes it.
  void PayDebt();
  std::size_t owed() const;

  static constexpr std::size_t kMaxOwed = 10'000;

 private:
  audit::Ledger& ledger_;
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  std::deque<model::Record> owed_;
  uint64_t lost_ = 0;
};

}  // namespace credbroker::control
