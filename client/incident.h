#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "client/json.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {

// Everything issued and used in a window, gathered record by record (S47): what an incident's report needs. Memory: one
// entry for each different session, token, credential, repository, ref, host and reason, at most kMaxEach of a sort; what
// is beyond is counted.
class IncidentReport {
 public:
  void Take(const Json& record);

  // `{window, records, sessions, tokens, credentials, repositories, hosts, pushes, refusals, misuse, exceptions,
  // revocations, changes, not_listed}`.
  Json Report(const std::string& since, const std::string& until) const;

  static constexpr std::size_t kMaxEach = 10'000;

 private:
  struct Session {
    std::string requester, opened, closed;
    std::set<std::string> tokens;
    uint64_t allowed = 0, refused = 0;
  };
  struct Count {
    uint64_t count = 0;
    std::string first, last;
  };
  using Counts = std::map<std::string, Count>;

  bool HasRoom(std::size_t size);
  void Note(Counts* counts, const std::string& name, const std::string& time);
  void TakeUse(const Json& record, const std::string& time);
  void TakePush(const Json& record);
  void TakeIssue(const Json& record);
  void TakeSession(const Json& record, const std::string& time);

  uint64_t records_ = 0, not_listed_ = 0;
  std::map<std::string, Session> sessions_;
  Counts credentials_, repositories_, hosts_, refusals_, exceptions_;
  Json tokens_ = Json::array(), pushes_ = Json::array(), revocations_ = Json::array(), changes_ = Json::array(),
       misuse_ = Json::array();
};

// The report as Markdown; texts of strangers are escaped for it.
std::string IncidentMarkdown(const Json& report);

}  // namespace credbroker::client
