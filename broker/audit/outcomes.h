#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace credbroker::audit {

// The line of an outcome holds what its intent does not say, and the intent's index. A reviewer reads them as one: the
// outcome with the fields of its intent. What is proved and shipped are the lines themselves.

// `outcome` with the fields of `intent`, as JSON in the order of names; `outcome` as it is when the intent is not of the same
// request. Pure, thread-safe.
std::string JoinOutcome(std::string_view outcome, std::string_view intent);

// Joins the lines of one ledger as they come. Not thread-safe.
class Outcomes {
 public:
  explicit Outcomes(std::string folder) : folder_(std::move(folder)) {}
  // An outcome joined; any other line as it is. The newest kRemembered intents are kept; an older one is read from the
  // folder. Without its intent (pruned, unreadable) an outcome stays as it is.
  std::string Join(uint64_t index, std::string_view line);

  static constexpr std::size_t kRemembered = 1024;

 private:
  const std::string folder_;
  std::unordered_map<uint64_t, std::string> intents_;
  std::deque<uint64_t> order_;  // oldest first
};

}  // namespace credbroker::audit
