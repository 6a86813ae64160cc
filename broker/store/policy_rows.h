#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/rows.h"

// Every call here is durable when it returns, and thread-safe. All fail kStoreUnavailable or kDiskFull when the
// database cannot be used; only what is particular is named below.
namespace credbroker::store {

class PolicyStore {
 public:
  virtual ~PolicyStore() = default;
  // Gives the new version number; `policy.version` is not read. The newest version is the one in force.
  virtual absl::StatusOr<int64_t> Append(const PolicyVersion& policy) = 0;
  // The version in force; nothing before the first.
  virtual absl::StatusOr<std::optional<PolicyVersion>> Current() = 0;
  virtual absl::StatusOr<PolicyVersion> Find(int64_t version) = 0;  // kPolicyNotFound
  // The newest first, without their texts.
  virtual absl::StatusOr<std::vector<PolicyVersion>> List(int64_t limit) = 0;
};

class ExceptionUseStore {
 public:
  virtual ~ExceptionUseStore() = default;
  // Adds `count` uses, the last at `used_at`.
  virtual absl::Status Add(std::string_view exception, int64_t count, absl::Time used_at) = 0;
  // By exception; those never used are not listed.
  virtual absl::StatusOr<std::vector<ExceptionUse>> List() = 0;
};

}  // namespace credbroker::store
