#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "crypto/sign.h"

namespace credbroker::edge {

// The key that signs this edge's checkpoints, made on the first start (0600). It proves who wrote the ledger, not that
// the edge is honest: what an edge has shipped is pinned by the broker's archive. Fails kUnsafeFile, kFileUnreadable,
// kFileUnwritable, kDiskFull.
absl::StatusOr<crypto::SigningKey> LoadOrMakeLedgerKey(const std::string& data_dir);

}  // namespace credbroker::edge
