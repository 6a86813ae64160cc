#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/rows.h"

// Every call here is durable when it returns, and thread-safe. All fail kStoreUnavailable or kDiskFull when the
// database cannot be used; only what is particular is named below.
namespace credbroker::store {

struct SessionFilter {
  std::string requester;   // empty: all
  bool live_only = false;  // not closed
  int64_t limit = 1000;
};

class SessionStore {
 public:
  virtual ~SessionStore() = default;
  // Fails kStoreConflict when the id exists.
  virtual absl::Status Insert(const Session& session) = 0;
  // Fails kSessionNotFound.
  virtual absl::StatusOr<Session> Find(std::string_view id) = 0;
  // The newest first.
  virtual absl::StatusOr<std::vector<Session>> List(const SessionFilter& filter) = 0;
  // Reads the row, lets `change` edit it, writes it, in one transaction; gives the row as written. A failure of
  // `change` writes nothing and is returned. The id cannot change. `change` must not call the store. Fails
  // kSessionNotFound.
  virtual absl::StatusOr<Session> Update(std::string_view id, const std::function<absl::Status(Session&)>& change) = 0;
  // Moves last_used_at forward; an older time changes nothing. Fails kSessionNotFound.
  virtual absl::Status Touch(std::string_view id, absl::Time used_at) = 0;
  // Forgets sessions closed before `before`, with their tokens. Gives the number of sessions.
  virtual absl::StatusOr<int64_t> Prune(absl::Time before) = 0;
};

class TokenStore {
 public:
  virtual ~TokenStore() = default;
  // Fails kStoreConflict when the id exists or the session does not.
  virtual absl::Status Insert(const TokenRow& token) = 0;
  // Fails kTokenNotFound.
  virtual absl::StatusOr<TokenRow> Find(std::string_view id) = 0;
  // The newest first.
  virtual absl::StatusOr<std::vector<TokenRow>> ListOfSession(std::string_view session) = 0;
  // Marks the token and all that were derived from it, at any depth; those already revoked keep their time. Gives the
  // ids that were marked now. Fails kTokenNotFound.
  virtual absl::StatusOr<std::vector<std::string>> Revoke(std::string_view id, absl::Time at) = 0;
  // The same for all tokens of a session.
  virtual absl::StatusOr<std::vector<std::string>> RevokeSession(std::string_view session, absl::Time at) = 0;
};

class RevocationStore {
 public:
  virtual ~RevocationStore() = default;
  // Gives the new serial; `revocation.serial` is not read.
  virtual absl::StatusOr<int64_t> Add(const Revocation& revocation) = 0;
  // In the order of serials, those after `serial`; 0 gives all that are kept.
  virtual absl::StatusOr<std::vector<Revocation>> Since(int64_t serial) = 0;
  // The highest serial ever given, 0 at first.
  virtual absl::StatusOr<int64_t> LatestSerial() = 0;
  // Forgets those whose `until` lies before `now`. Gives their number.
  virtual absl::StatusOr<int64_t> Prune(absl::Time now) = 0;
};

}  // namespace credbroker::store
