#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gate/state_board.h"
#include "model/grant.h"

namespace credbroker::gate {

// Who a verified token speaks for. Immutable and shared by the connections that showed it.
struct Caller {
  model::Grant grant;
  absl::Time issued_at;
};

// Verified tokens of one loop, so that the signature is checked once and not once a request. What can change is checked
// each time: expiry, revocation. Keyed by the SHA-256 of the text; no token text is kept. Loop thread only.
class Callers {
 public:
  explicit Callers(std::size_t max_entries) : max_entries_(max_entries) {}

  // The caller behind `text`, authentic under `state`'s keys and alive at `now`. Fails kBadToken, kWrongAudience,
  // kTokenExpired, kTokenNotYetValid, kTokenRevoked.
  absl::StatusOr<std::shared_ptr<const Caller>> Find(std::string_view text, const EdgeState& state, absl::Time now);

  // Is a caller, once found, still alive? Cheap: for every request of an open connection.
  static absl::Status Alive(const Caller& caller, const EdgeState& state, absl::Time now);
  static bool Revoked(const Caller& caller, const EdgeState& state) {
    return state.revocations->Hits(caller.grant, caller.issued_at);
  }

 private:
  struct Entry {
    std::shared_ptr<const Caller> caller;
    const token::Verifier* verifier;  // the keys it was verified under: new keys, new check
  };
  std::size_t max_entries_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace credbroker::gate
