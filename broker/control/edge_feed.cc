#include "control/edge_feed.h"

namespace credbroker::control {
namespace {

constexpr std::size_t kMaxSockets = 4096;  // in a message: 4 KiB each at most, and gRPC takes 16 MiB

}  // namespace

std::optional<EdgeMessage> EdgeFeed::Next(const EdgeState& state) {
  if (!keys_sent_) {
    keys_sent_ = true;
    ticket_sent_ = state.ticket;
    return EdgeMessage{complete_, state.keys};
  }
  const bool policy_waits = policy_sent_ < state.policy_serial;
  const bool revocations_wait =
      !whole_sent_ || (!state.revocations.empty() && state.revocations.back().first > revocations_sent_);
  const bool sockets_wait = sockets_sent_ < state.sockets_serial;
  if (revocations_wait && (whole_sent_ || !policy_waits)) return NextRevocations(state, !policy_waits && !sockets_wait);
  if (policy_waits) {
    policy_sent_ = state.policy_serial;
    if (!revocations_wait && !sockets_wait) complete_ = state.serial;
    return EdgeMessage{complete_, state.policy};
  }
  if (sockets_wait) return NextSockets(state);
  if (ticket_sent_ < state.ticket) {
    ticket_sent_ = state.ticket;
    return EdgeMessage{complete_, ShipNow{state.ticket}};
  }
  return std::nullopt;
}

// The last of a moment: the edge knows by then whose tokens they are and what has fallen.
EdgeMessage EdgeFeed::NextSockets(const EdgeState& state) {
  std::map<uint64_t, SessionSocket> due;
  for (const auto& [session, socket] : state.sockets) {
    if (socket.first > sockets_sent_) due.emplace(socket.first, SessionSocket{session, socket.second});
  }
  SocketBatch batch;
  for (auto& [serial, socket] : due) {
    if (batch.sockets.size() == kMaxSockets) return EdgeMessage{complete_, std::move(batch)};
    sockets_sent_ = serial;
    batch.sockets.push_back(std::move(socket));
  }
  sockets_sent_ = state.sockets_serial;
  complete_ = state.serial;
  return EdgeMessage{complete_, std::move(batch)};
}

EdgeMessage EdgeFeed::NextRevocations(const EdgeState& state, bool last) {
  RevocationBatch batch{.whole = !whole_sent_};
  for (const auto& [serial, revocation] : state.revocations) {
    if (batch.whole || serial > revocations_sent_) batch.revocations.push_back(revocation);
  }
  whole_sent_ = true;
  revocations_sent_ = state.serial;
  if (last) complete_ = state.serial;
  return EdgeMessage{complete_, std::move(batch)};
}

}  // namespace credbroker::control
