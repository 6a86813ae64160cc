#pragma once

#include <functional>

#include "absl/status/status.h"
#include "store/custody_rows.h"
#include "store/policy_rows.h"
#include "store/session_rows.h"

namespace credbroker::store {

// The broker's durable rows, one narrow interface a noun. The interfaces live as long as the store. Thread-safe.
class Store {
 public:
  virtual ~Store() = default;
  virtual SessionStore& sessions() = 0;
  virtual TokenStore& tokens() = 0;
  virtual RevocationStore& revocations() = 0;
  virtual PolicyStore& policies() = 0;
  virtual ExceptionUseStore& exception_uses() = 0;
  virtual SecretStore& secrets() = 0;
  virtual EdgeStore& edges() = 0;
  virtual MetaStore& meta() = 0;

  // Runs `body`, whose calls to this store then hold together: all durable when it returns OK, none otherwise.
  // Takes the write lock at its start, so it waits for another writer instead of failing half-way. `body` must be
  // quick and stay on this thread; calls nest. Fails as `body`, kStoreUnavailable, kDiskFull.
  virtual absl::Status InTransaction(const std::function<absl::Status()>& body) = 0;

  // OK when a write would be possible now, for health. Fails kStoreUnavailable, kDiskFull.
  virtual absl::Status CheckWritable() = 0;
};

}  // namespace credbroker::store
