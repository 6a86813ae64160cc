#include "control/edge_feed.h"

namespace credbroker::control {

std::optional<EdgeMessage> EdgeFeed::Next(const EdgeState& state) {
  if (!keys_sent_) {
    keys_sent_ = true;
    ticket_sent_ = state.ticket;
    return EdgeMessage{complete_, state.keys};
  }
  const bool policy_waits = policy_sent_ < state.policy_serial;
  const bool revocations_wait =
      !whole_sent_ || (!state.revocations.empty() && state.revocations.back().first > revocations_sent_);
  if (revocations_wait && (whole_sent_ || !policy_waits)) return NextRevocations(state, !policy_waits);
  if (policy_waits) {
    policy_sent_ = state.policy_serial;
    if (!revocations_wait) complete_ = state.serial;
    return EdgeMessage{complete_, state.policy};
  }
  if (ticket_sent_ < state.ticket) {
    ticket_sent_ = state.ticket;
    return EdgeMessage{complete_, ShipNow{state.ticket}};
  }
  return std::nullopt;
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
