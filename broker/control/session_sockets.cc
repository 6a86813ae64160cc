#include "control/session_sockets.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/macros.h"
#include "base/str.h"
#include "control/event_log.h"
#include "control/sessions.h"

namespace credbroker::control {
namespace {

// Of the socket tokens' life, so that a broker that is away for a while does not leave a session without.
constexpr int kRenewAtPart = 2;

constexpr int kMaxSessions = 1'000'000;

}  // namespace

bool SessionSockets::Due(const store::Session& session, absl::Time now) const {
  const auto found = offered_.find(session.id);
  return found == offered_.end() || found->second.phase != session.phase || now >= found->second.renew_at;
}

absl::Status SessionSockets::OfferNow(const store::Session& session) {
  const absl::Time now = clock_.Now();
  ASSIGN_OR_RETURN(IssuedToken token, tokens_.MintForSocket(session), "a session's socket");
  offered_[session.id] = {session.phase, now + (token.expires_at - now) / kRenewAtPart};
  hub_.OfferSocket(session.id, std::make_shared<const base::Secret>(std::move(token.text)));
  return absl::OkStatus();
}

absl::Status SessionSockets::Offer(const store::Session& session, absl::Duration wait) {
  if (!hub_.wants_sockets()) return absl::OkStatus();
  uint64_t serial = 0;
  {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(OfferNow(session));
    serial = hub_.serial();
  }
  hub_.WaitConfirmed(serial, wait);
  return absl::OkStatus();
}

void SessionSockets::Sweep() {
  if (!hub_.wants_sockets()) return;
  const auto live = store_.sessions().List({.live_only = true, .limit = kMaxSessions});
  if (!live.ok()) return LogEvent(Level::kError, "sweep_failed", {{"error", std::string(live.status().message())}});
  const absl::Time now = clock_.Now();
  const std::lock_guard lock(mutex_);
  std::map<std::string, Offered> still;
  for (const store::Session& session : *live) {
    if (Due(session, now) && CheckLive(session, now).ok() && !OfferNow(session).ok()) {
      LogEvent(Level::kWarning, "session_socket_waits", {{"session", session.id}});
    }
    if (const auto found = offered_.find(session.id); found != offered_.end()) still.insert(*found);
  }
  for (const auto& [session, offered] : offered_) {
    if (!still.contains(session)) hub_.DropSocket(session);
  }
  offered_ = std::move(still);
}

std::string SessionSockets::PathOf(const store::Session& session) const {
  if (session.closed_at) return {};
  for (const EdgeView& edge : hub_.List()) {
    if (edge.connected && !edge.hello.sockets_folder.empty()) return base::StrCat(edge.hello.sockets_folder, "/", session.id, "/edge.sock");
  }
  return {};
}

}  // namespace credbroker::control
