#include "edge/connections.h"

#include "gate/gate.h"

namespace credbroker::edge {

bool OpenConnection::StillAllowed(gate::Gate& gate) const {
  if (connect_caller_ != nullptr && !gate.StillAllowed(*connect_caller_, facts_)) return false;
  if (running_.caller != nullptr && !gate.StillLent(*running_.caller, *running_.facts, *running_.allow)) return false;
  return request_caller_ == nullptr || !gate::Callers::Revoked(*request_caller_, gate.state());
}

std::size_t Connections::Sweep(gate::Gate& gate) {
  std::size_t aborted = 0;
  for (net::ListNode* node = open_.next(); node != &open_; node = node->next()) {
    auto* connection = static_cast<OpenConnection*>(node);
    if (connection->stream_.aborted() || connection->StillAllowed(gate)) continue;
    connection->stream_.Abort();
    ++aborted;
  }
  return aborted;
}

bool Connections::AbortOldestStranger() {
  for (net::ListNode* node = open_.next(); node != &open_; node = node->next()) {
    auto* connection = static_cast<OpenConnection*>(node);
    if (connection->known() || connection->stream_.aborted()) continue;
    connection->stream_.Abort();
    return true;
  }
  return false;
}

void Connections::AbortAll() {
  for (net::ListNode* node = open_.next(); node != &open_; node = node->next()) {
    static_cast<OpenConnection*>(node)->stream_.Abort();
  }
}

}  // namespace credbroker::edge
