#include "client/simulation.h"

#include <nlohmann/json.hpp>

#include "absl/time/time.h"
#include "base/str.h"
#include "client/command.h"
#include "model/grant.h"
#include "policy/explain.h"

namespace credbroker::client {
namespace {

using base::StrCat;

// Refused for what no policy decides.
constexpr const char* kNoDecision[] = {"narrowed", "label_not_allowed"};

std::string Text(const Json& record, const char* name) {
  const auto found = record.find(name);
  return found != record.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string UrlOf(const Json& record, const std::string& path) {
  const std::string scheme = Text(record, "scheme").empty() ? "https" : Text(record, "scheme");
  const auto port = record.find("port");
  std::string host = Text(record, "host");
  if (host.find(':') != std::string::npos) host = StrCat("[", host, "]");
  return StrCat(scheme, "://", host, port != record.end() && port->is_number() ? StrCat(":", port->get<int>()) : "", path);
}

// The questions that a record answers: one, or one for each ref of a push.
std::vector<policy::Question> QuestionsOf(const Json& record) {
  const std::string effect = Text(record, "effect_class"), repository = Text(record, "repository"), path = Text(record, "path");
  std::vector<policy::Question> questions;
  const bool receives = path.ends_with("/git-receive-pack");
  if (!repository.empty() && receives && record.contains("refs") && record["refs"].is_array()) {
    for (const Json& ref : record["refs"]) {
      policy::Question question;
      question.git = "push";
      question.repo = UrlOf(record, StrCat("/", repository));
      question.ref = ref.is_object() ? Text(ref, "ref") : ref.is_string() ? ref.get<std::string>() : std::string();
      const std::string change = ref.is_object() ? Text(ref, "change") : std::string();
      question.create = change == "create";
      question.remove = change == "delete";
      question.force = Text(record, "code") == "force_not_allowed";
      questions.push_back(std::move(question));
    }
    if (!questions.empty()) return questions;
  }
  policy::Question question;
  question.method = Text(record, "method");
  question.url = question.method == "CONNECT" ? UrlOf(record, "").substr(UrlOf(record, "").find("//") + 2) : UrlOf(record, path);
  return {question};
}

std::string Asked(const std::vector<policy::Question>& questions) {
  const policy::Question& first = questions.front();
  if (first.git.empty()) return StrCat(first.method, " ", first.url);
  std::string text = StrCat(first.git, " ", first.repo);
  for (const policy::Question& one : questions) base::StrAppend(&text, " ", one.ref);
  return text;
}

// Why a record cannot be replayed, or empty.
std::string Obstacle(const Json& record, const std::map<std::string, std::vector<std::string>>& scopes) {
  if (Text(record, "rule").starts_with("edge/")) return "refused before a decision";
  const std::string code = Text(record, "code");
  for (const char* one : kNoDecision) {
    if (code == one) return "decided by the token, not by the policy";
  }
  if (!scopes.contains(Text(record, "session"))) return "its session is not known";
  if (record.contains("cut")) return "parts of it were cut";
  if (Text(record, "host").empty()) return "it names no host";
  return {};
}

policy::Explanation Replay(const Json& record, const std::vector<policy::Question>& questions, const std::vector<std::string>& scopes, const std::shared_ptr<const policy::RuleSet>& rules) {
  model::Grant grant;
  grant.session = Text(record, "session");
  grant.requester = Text(record, "requester");
  grant.scopes = scopes;
  if (const auto phase = model::ParsePhase(Text(record, "phase")); phase.ok()) grant.phase = *phase;
  if (const auto label = model::ParseLabel(Text(record, "label")); label.ok()) grant.label = *label;
  absl::Time at;
  if (!absl::ParseTime(absl::RFC3339_full, Text(record, "time"), &at, nullptr)) at = absl::UnixEpoch();
  grant.expires_at = absl::InfiniteFuture();
  policy::Explanation answer;
  for (const policy::Question& question : questions) {
    answer = policy::Explain(question, grant, rules, at);
    if (answer.decision != "allow") break;  // one refused ref refuses all
  }
  return answer;
}

}  // namespace

Simulation Simulate(const std::vector<Json>& records, const std::map<std::string, std::vector<std::string>>& scopes,
                    const std::shared_ptr<const policy::RuleSet>& rules) {
  Simulation out;
  for (const Json& record : records) {
    const std::string kind = Text(record, "kind");
    if (kind != "intent" && kind != "deny") continue;
    if (const std::string obstacle = Obstacle(record, scopes); !obstacle.empty()) {
      ++out.skipped[obstacle];
      continue;
    }
    const std::vector<policy::Question> questions = QuestionsOf(record);
    const policy::Explanation answer = Replay(record, questions, scopes.at(Text(record, "session")), rules);
    const std::string was = kind == "intent" ? "allow" : "deny";
    if (answer.decision == was) {
      ++out.same;
      continue;
    }
    out.changes.push_back({Text(record, "id"), Text(record, "time"), Text(record, "session"), Asked(questions), StrCat(was, " ", was == "allow" ? Text(record, "rule") : Text(record, "code")),
                           StrCat(answer.decision, " ", answer.decision == "allow" ? answer.rule : answer.reason_code)});
  }
  return out;
}

}  // namespace credbroker::client
