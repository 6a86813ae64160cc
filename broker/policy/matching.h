#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "policy/rules.h"

namespace credbroker::policy {

// Small questions that the decision asks of rules.

inline bool Holds(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

inline bool IsWriting(std::string_view method) { return method != "GET" && method != "HEAD" && method != "OPTIONS"; }

inline const EndpointRow* FindRow(const std::vector<EndpointRow>& rows, std::string_view method, std::string_view path) {
  for (const EndpointRow& row : rows) {
    if (Holds(row.methods, method) && row.path.Matches(path)) return &row;
  }
  return nullptr;
}

inline bool EgressTakes(const EgressRule& rule, std::string_view method, std::string_view path) {
  return Holds(rule.methods, method) &&
         (rule.paths.empty() ||
          std::any_of(rule.paths.begin(), rule.paths.end(), [&](const PathPattern& p) { return p.Matches(path); }));
}

}  // namespace credbroker::policy
