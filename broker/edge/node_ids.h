#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/body.h"

namespace credbroker::edge {

// GraphQL names things by opaque ids that do not show their repository. These are the ids that answers to a session's own
// queries gave for one repository, in places where only ids of that repository's things can stand (policy::NodeIdPaths): the only
// ones that a mutation may use. Bounded: the oldest are forgotten, which only refuses. All loops share one; thread-safe.
class NodeIds {
 public:
  static constexpr std::size_t kMaxSessions = 4096;
  static constexpr std::size_t kMaxIds = 2000;  // of one session
  static constexpr std::size_t kMaxIdBytes = 256;

  // Takes the ids that stand at `paths` of a GraphQL answer's text. What cannot be read gives none.
  void Learn(std::string_view session, std::string_view service, std::string_view repository, const std::vector<std::string>& paths,
             std::string_view answer);
  // Writes into the operation which of its arguments are known, and of which repository.
  void Resolve(std::string_view session, std::string_view service, model::GraphqlFacts* operation) const;

 private:
  struct Known {
    std::unordered_map<std::string, std::string> repository_of;  // `service id` -> `acme/web`
    std::deque<std::string> order;
  };
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Known> sessions_;
  std::deque<std::string> order_;
};

}  // namespace credbroker::edge
