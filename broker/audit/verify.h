#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace credbroker::audit {

enum class Verdict {
  kWhole,
  kTornTail,      // all that the checkpoint covers is there; behind it the file ends in bytes that are no record
  kEdited,        // an entry that the checkpoint covers was changed, removed or put in
  kTruncated,     // entries that a checkpoint covers are missing at the end
  kForked,        // the ledger is consistent in itself but is not the one that the pinned checkpoint saw
  kBadSignature,  // the checkpoint is not signed by the key
  kUnreadable,    // a file is missing or cannot be read as what it must be
};

std::string_view VerdictName(Verdict verdict);  // "whole", "torn_tail", ...

struct VerifyReport {
  Verdict verdict = Verdict::kUnreadable;
  std::string words;                  // one sentence for people; names the entry and what to do
  std::optional<uint64_t> entry;      // the first entry that is not as it was
  uint64_t entries = 0;               // whole entries found
  uint64_t checkpoint_size = 0;       // entries that the ledger's own checkpoint covers
  uint64_t beyond_checkpoint = 0;     // whole entries behind it: not yet covered, so not proven
  uint64_t torn_bytes = 0;
  std::string origin;
  bool key_pinned = false;            // else the folder's own log.vkey was used, which proves less
  bool checkpoint_pinned = false;
  bool whole() const { return verdict == Verdict::kWhole; }
};

// Checks a ledger folder (or an archive of one) offline, reading only. `pinned_key` is a vkey that the reviewer kept,
// `pinned_checkpoint` a signed checkpoint that the reviewer kept; either may be empty. Keys are taken from the folder
// only when none is pinned, and the report says so. Without a pinned checkpoint a ledger that was cut back together
// with its checkpoint cannot be told from one that was never longer.
// Safe beside a running ledger: entries that arrive meanwhile count as beyond the checkpoint.
// Memory: 32 bytes an entry. Thread-safe.
VerifyReport Verify(const std::string& folder, std::string_view pinned_key, std::string_view pinned_checkpoint);

}  // namespace credbroker::audit
