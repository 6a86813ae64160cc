#pragma once

#include <map>
#include <mutex>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "control/edges.h"
#include "control/tokens.h"
#include "store/store.h"

namespace credbroker::control {

// Sessions' own sockets (design.md 4, way 3): for each live session a token that never leaves broker and edges, so that
// edges can serve a Unix socket for that session alone. Made for edges that offer it only. Thread-safe.
class SessionSockets {
 public:
  SessionSockets(store::Store& store, Tokens& tokens, EdgeHub& hub, const base::Clock& clock)
      : store_(store), tokens_(tokens), hub_(hub), clock_(clock) {}

  // Gives the edges a token for the session as it is now, and waits until they serve it, at most `wait` of real time. Does
  // nothing when no edge makes sockets. Fails as Tokens::MintForSocket.
  absl::Status Offer(const store::Session& session, absl::Duration wait);

  // Renews what is half over, takes in sessions that it does not know (opened before a restart, resumed), forgets those that
  // ended. What fails is tried again at the next call.
  void Sweep();

  // The path of the session's socket, or empty.
  std::string PathOf(const store::Session& session) const;

 private:
  struct Offered {
    model::Phase phase;
    absl::Time renew_at;
  };
  bool Due(const store::Session& session, absl::Time now) const;
  absl::Status OfferNow(const store::Session& session);

  store::Store& store_;
  Tokens& tokens_;
  EdgeHub& hub_;
  const base::Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Offered> offered_;
};

}  // namespace credbroker::control
