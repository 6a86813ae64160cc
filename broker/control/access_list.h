#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/secret.h"
#include "control/caller.h"
#include "store/store.h"

namespace credbroker::control {

// One access: who may call over TCP with a bearer token.
struct Access {
  std::string name;  // `admin`; in the ledger `access:admin`
  Roles roles;
  std::string requester;  // for role requester: the one it acts for
};

// The accesses, kept in the store by the hash of their bearer token only. Thread-safe.
class AccessList {
 public:
  explicit AccessList(store::Store& store) : store_(store) {}

  // Makes or replaces an access; gives its bearer token, once.
  absl::StatusOr<base::Secret> Create(const Access& access);
  bool Exists(std::string_view name) const;
  // The access of a bearer token; every entry is compared, in constant time. Fails kCallerNotAllowed.
  absl::StatusOr<Access> Find(std::string_view bearer) const;

 private:
  store::Store& store_;
};

}  // namespace credbroker::control
