#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "store/store.h"

namespace credbroker::store {

// Opens or makes a SQLite database: WAL, synchronous=FULL, foreign keys, secure_delete, 5 s of patience with other
// processes. `path` ":memory:" gives one that ends with the store. The file is 0600 under any umask; its folder must
// exist. Brings an older schema up to date in one transaction. `clock` dates the migrations and must outlive the store.
//
// Fails kUnsafeFile when the folder may be written, or the file read, by others; kStoreTooNew for a schema of a later
// version; kStoreUnavailable when the file is no database or is damaged.
absl::StatusOr<std::unique_ptr<Store>> OpenSqlite(const std::string& path,
                                                  const base::Clock& clock = base::SystemClock());

}  // namespace credbroker::store
