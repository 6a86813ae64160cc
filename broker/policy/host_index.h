#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/authority.h"

namespace credbroker::policy {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <typename T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

// Values by host pattern. A lookup hashes the host once, and once more for every dot when there are wildcards; it
// allocates nothing. Exact hosts come first, then the wildcard with the longest suffix.
template <typename T>
class HostIndex {
 public:
  void Add(const model::HostPattern& pattern, T value) {
    auto& map = pattern.wildcard() ? wildcards_ : exact_;
    map[pattern.authority().host].push_back({pattern, std::move(value)});
  }

  // Calls `visit(value)` for every entry that matches, best first, until it returns true; says whether one did.
  template <typename Visit>
  bool Any(const model::Authority& authority, Visit visit) const {
    if (AnyIn(exact_, authority.host, authority, visit)) return true;
    if (wildcards_.empty() || authority.is_ip) return false;
    std::string_view rest = authority.host;
    for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      rest.remove_prefix(dot + 1);
      if (AnyIn(wildcards_, rest, authority, visit)) return true;
    }
    return false;
  }

 private:
  using Map = TextMap<std::vector<std::pair<model::HostPattern, T>>>;

  template <typename Visit>
  static bool AnyIn(const Map& map, std::string_view host, const model::Authority& authority, Visit& visit) {
    const auto found = map.find(host);
    if (found == map.end()) return false;
    for (const auto& [pattern, value] : found->second) {
      if (pattern.Matches(authority) && visit(value)) return true;
    }
    return false;
  }

  Map exact_;
  Map wildcards_;
};

}  // namespace credbroker::policy
