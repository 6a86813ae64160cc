#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "audit/archive.h"
#include "base/clock.h"
#include "control/recorder.h"
#include "store/store.h"

namespace credbroker::control {

// A ledger that the broker holds: its own, or the archive of an edge's.
struct LedgerPlace {
  std::string name;  // prefix of its records' ids: `broker`, `edge`
  std::string folder;
  std::string vkey;  // the key that was pinned for it, not what stands in the folder
  uint64_t entries = 0;  // durable ones, when it was asked
};

struct EdgeBatch {
  uint64_t first_index = 0;
  std::string_view lines;
  std::string_view checkpoint;
};

// The archives of edges' ledgers, one folder each. Thread-safe.
class Archives {
 public:
  Archives(std::string folder, store::Store& store, Recorder& recorder, const base::Clock& clock)
      : folder_(std::move(folder)), store_(store), recorder_(recorder), clock_(clock) {}

  // Opens those that are there. Fails as audit::Archive::Open.
  absl::Status Open();
  // An edge says who it is: the first key that it shows is pinned for ever. Fails kBadName, kLedgerForked for another
  // key.
  absl::Status Enroll(std::string_view edge, const std::string& ledger_vkey);
  // Verifies and keeps a batch; an empty one asks how far the archive is. Gives the next index wanted. Fails
  // kEdgeNotFound, kTooLarge above kMaxBatchBytes, and as audit::Archive::Append; forks and gaps are recorded.
  absl::StatusOr<uint64_t> Append(std::string_view edge, const EdgeBatch& batch);

  std::vector<LedgerPlace> List() const;

  static constexpr std::size_t kMaxBatchBytes = (1 << 20) + (64 << 10);  // 1 MiB, and the line that crosses it

 private:
  absl::StatusOr<audit::Archive*> OpenOne(const std::string& edge, const std::string& vkey);

  const std::string folder_;
  store::Store& store_;
  Recorder& recorder_;
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  struct Entry {
    std::string vkey;
    std::unique_ptr<audit::Archive> archive;
  };
  std::map<std::string, Entry, std::less<>> archives_;
};

}  // namespace credbroker::control
