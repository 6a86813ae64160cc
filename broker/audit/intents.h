#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "audit/ledger.h"

namespace credbroker::audit {

// Which intents have no outcome yet. Not thread-safe.
class IntentSet {
 public:
  void Scan(uint64_t index, std::string_view line);
  // The lowest index that is still open, or `size`.
  uint64_t Floor(uint64_t size) const;
  std::size_t count() const { return open_.size(); }

  // Reads the folder's entries from its `open-from` hint on (from 0 without one) and returns what is open, oldest first.
  absl::StatusOr<std::vector<OpenIntent>> Load(const std::string& folder, uint64_t size);

 private:
  absl::flat_hash_set<uint64_t> open_;
};

// The value of a text member of a canonical record line, or an empty view. Only for names whose values are our own
// words and ids (they hold no escapes). `name` stands at the top level of the line.
std::string_view PlainMember(std::string_view line, std::string_view name);

// The index of the intent that an outcome's line names.
std::optional<uint64_t> IntentOf(std::string_view line);

// Writes the hint. It only saves time: it may be late, never early.
absl::Status SaveOpenFrom(const std::string& folder, uint64_t index);

}  // namespace credbroker::audit
