#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/json.h"

namespace credbroker::client {

// What was found about one ledger.
struct LedgerCheck {
  std::string ledger, folder;
  bool whole = false;
  std::string verdict;  // whole, torn_tail, edited, truncated, forked, bad_signature, unreadable
  std::string words;    // one sentence
  uint64_t entries = 0;
  uint64_t beyond_checkpoint = 0;
  bool key_pinned = false, checkpoint_pinned = false;
  std::string checked_by = "here";  // or the broker
};

// Keys and checkpoints that a reviewer kept, for one ledger or several.
struct Pins {
  std::vector<std::string> keys, notes;
  // Reads the files; an empty path pins nothing. Fails kFileUnreadable, kTooLarge, kBadArgument (an empty file).
  static absl::StatusOr<Pins> Read(const std::string& key_path, const std::string& checkpoint_path);
  bool empty() const { return keys.empty() && notes.empty(); }
};

// A ledger to check. Empty texts: the name is the folder's origin, nothing is pinned by the broker's word.
struct LedgerPlace {
  std::string name, folder, key, note;
};

// Verifies folders, reading only. Each ledger takes the pins of its own origin; where the reviewer pinned nothing,
// those of its place. A ledger without a pin stands unpinned beside pinned ones, but only while every pin finds its
// ledger: otherwise it may be a pinned one under another name, and is not whole.
std::vector<LedgerCheck> CheckLedgers(const std::vector<LedgerPlace>& places, const Pins& pins);

// The ledger folders at or up to three levels below `folder`, sorted.
std::vector<std::string> FindLedgers(const std::string& folder);

Json CheckJson(const LedgerCheck& check);
// The catalogue's error for a ledger that is not whole.
absl::Status VerdictError(const LedgerCheck& check);

}  // namespace credbroker::client
