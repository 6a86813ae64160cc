#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/rows.h"

// Every call here is durable when it returns, and thread-safe. All fail kStoreUnavailable or kDiskFull when the
// database cannot be used; only what is particular is named below.
namespace credbroker::store {

class SecretStore {
 public:
  virtual ~SecretStore() = default;
  // Fails kStoreConflict when the name exists.
  virtual absl::Status Insert(const SecretRow& row) = 0;
  // Overwrites all columns. Fails kSecretNotFound.
  virtual absl::Status Replace(const SecretRow& row) = 0;
  // Fails kSecretNotFound.
  virtual absl::StatusOr<SecretRow> Find(std::string_view name) = 0;
  // By name.
  virtual absl::StatusOr<std::vector<SecretRow>> List() = 0;
  // Fails kSecretNotFound. The bytes are overwritten in the file (secure_delete).
  virtual absl::Status Delete(std::string_view name) = 0;
};

class EdgeStore {
 public:
  virtual ~EdgeStore() = default;
  // Fails kStoreConflict when the id or the public key exists.
  virtual absl::Status Insert(const EdgeRow& row) = 0;
  // Fails kEdgeNotFound.
  virtual absl::StatusOr<EdgeRow> Find(std::string_view id) = 0;
  virtual absl::StatusOr<std::vector<EdgeRow>> List() = 0;
  virtual absl::Status Touch(std::string_view id, absl::Time seen_at) = 0;  // kEdgeNotFound
  virtual absl::Status Delete(std::string_view id) = 0;                     // kEdgeNotFound
};

// Named bytes: small facts of an install that have no table of their own.
class MetaStore {
 public:
  virtual ~MetaStore() = default;
  virtual absl::StatusOr<std::optional<std::string>> Get(std::string_view key) = 0;
  virtual absl::Status Set(std::string_view key, std::string_view value) = 0;
  virtual absl::Status Delete(std::string_view key) = 0;  // OK when there is none
  // Keys that begin with `prefix`, in order.
  virtual absl::StatusOr<std::vector<std::string>> Keys(std::string_view prefix) = 0;
};

}  // namespace credbroker::store
