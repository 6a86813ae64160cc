#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace credbroker::audit {

// A proof that an entry is in a log, as c2sp.org/tlog-proof writes it, so that tools of third parties check it:
//   c2sp.org/tlog-proof@v1 LF "index " N LF (base64 hash LF)* LF checkpoint
// Made from the folder's hash tiles and entries. Fails kRecordNotFound when the checkpoint does not cover `index`
// (yet), kFileUnreadable, kLedgerTampered when the folder does not agree with its checkpoint.
absl::StatusOr<std::string> ProveEntry(const std::string& folder, uint64_t index);

// Checks that `line` (the entry's exact bytes, no newline) is what `proof` speaks of, under the pinned key.
// Fails kBadArgument for a malformed proof, kLedgerTampered when it does not hold.
absl::Status CheckProof(std::string_view proof, std::string_view line, std::string_view pinned_key);

}  // namespace credbroker::audit
