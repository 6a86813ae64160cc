#include "edge/unsent_uses.h"

#include <algorithm>

namespace credbroker::edge {
namespace {

using Map = std::unordered_map<std::string, gate::Gate::Use>;

void Merge(const Map& from, Map* to) {
  for (const auto& [name, use] : from) {
    if (to->size() >= UnsentUses::kMaxKept && !to->contains(name)) continue;
    gate::Gate::Use& sum = (*to)[name];
    sum.last = std::max(sum.last, use.last);
    sum.count += use.count;
  }
}

Map Head(const Map& all) {
  Map head;
  for (const auto& [name, use] : all) {
    if (head.size() == UnsentUses::kMaxReported) break;
    head.emplace(name, gate::Gate::Use{use.last, std::min(use.count, UnsentUses::kMaxCount)});
  }
  return head;
}

}  // namespace

void UnsentUses::Add(const gate::Gate::Uses& uses) {
  Merge(uses.sessions, &uses_.sessions);
  Merge(uses.exceptions, &uses_.exceptions);
}

gate::Gate::Uses UnsentUses::Batch() const { return {Head(uses_.sessions), Head(uses_.exceptions)}; }

void UnsentUses::Forget(const gate::Gate::Uses& arrived) {
  for (const auto& [session, use] : arrived.sessions) uses_.sessions.erase(session);
  for (const auto& [id, use] : arrived.exceptions) {
    const auto found = uses_.exceptions.find(id);
    if (found == uses_.exceptions.end()) continue;
    found->second.count -= use.count;
    if (found->second.count <= 0) uses_.exceptions.erase(found);
  }
}

}  // namespace credbroker::edge
