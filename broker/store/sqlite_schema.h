#pragma once

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "store/sqlite_database.h"

// Private to this room. Include only from store/sqlite_*.cc.
namespace credbroker::store::sqlite {

// Brings the schema to the newest version, in one transaction. Fails kStoreTooNew when it is beyond.
absl::Status Migrate(Database& database, absl::Time now);

}  // namespace credbroker::store::sqlite
