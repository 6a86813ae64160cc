#include "client/policy_test_file.h"

#include <yaml-cpp/yaml.h>

#include <filesystem>
#include <map>
#include <set>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "forge/api_body.h"
#include "model/grant.h"
#include "policy/explain.h"
#include "policy/rule_set.h"
#include "policy/source.h"

namespace credbroker::client {
namespace {

constexpr std::size_t kMaxTestFile = 1 << 20;

using Fields = std::map<std::string, std::string>;
using Rules = std::shared_ptr<const policy::RuleSet>;

const std::set<std::string> kKnown = {"scope",  "expect",       "phase",      "label",  "name",   "rule",
                                      "reason", "effect_class", "credential", "method", "url",    "body",
                                      "git",    "repo",         "ref",        "path",   "body",   "create", "delete", "force"};

absl::Status Bad(const YAML::Mark& mark, std::string_view why) {
  return base::Error(base::ErrorCode::kBadArgument, base::StrCat("line ", mark.line + 1, ": ", why));
}

absl::StatusOr<Fields> ReadFields(const YAML::Node& node) {
  if (!node.IsMap()) return Bad(node.Mark(), "a question is a mapping");
  Fields fields;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar())
      return Bad(entry.first.Mark(), "a question holds plain values only");
    const std::string& name = entry.first.Scalar();
    if (!kKnown.contains(name)) return Bad(entry.first.Mark(), base::StrCat("unknown key ", name));
    if (!fields.emplace(name, entry.second.Scalar()).second)
      return Bad(entry.first.Mark(), base::StrCat("doubled key ", name));
  }
  if (fields["expect"] != "allow" && fields["expect"] != "deny") return Bad(node.Mark(), "expect is allow or deny");
  if (fields["scope"].empty()) return Bad(node.Mark(), "a question needs a scope");
  for (const char* flag : {"create", "delete", "force"}) {
    const std::string& value = fields[flag];
    if (!value.empty() && value != "true" && value != "false")
      return Bad(node.Mark(), base::StrCat(flag, " is true or false"));
  }
  return fields;
}

policy::Question QuestionOf(Fields& fields) {
  policy::Question question;
  if (!fields["method"].empty()) question.method = fields["method"];
  question.url = fields["url"];
  forge::FillBody(fields["body"], &question);
  question.git = fields["git"];
  question.repo = fields["repo"];
  question.ref = fields["ref"];
  question.path = fields["path"];
  question.create = fields["create"] == "true";
  question.remove = fields["delete"] == "true";
  question.force = fields["force"] == "true";
  return question;
}

absl::StatusOr<model::Grant> GrantOf(Fields& fields, const Rules& rules) {
  if (rules->FindScope(fields["scope"]) == nullptr)
    return base::Error(base::ErrorCode::kScopeNotFound, fields["scope"]);
  ASSIGN_OR_RETURN(const model::Phase phase, model::ParsePhase(fields["phase"].empty() ? "agent" : fields["phase"]));
  ASSIGN_OR_RETURN(const model::Label label, model::ParseLabel(fields["label"].empty() ? "agent" : fields["label"]));
  return policy::SampleGrant(fields["scope"], phase, label);
}

std::string NameOf(Fields& fields) {
  if (!fields["name"].empty()) return fields["name"];
  if (fields["git"].empty())
    return base::StrCat(fields["method"].empty() ? "GET" : fields["method"], " ", fields["url"]);
  return base::StrCat(fields["git"], " ", fields["repo"], " ", fields["ref"]);
}

PolicyTestResult Compare(Fields& fields, const policy::Explanation& answer) {
  PolicyTestResult result{.name = NameOf(fields), .held = fields["expect"] == answer.decision};
  result.expected = fields["expect"];
  result.answered = base::StrCat(answer.decision, " ", answer.decision == "allow" ? answer.rule : answer.reason_code);
  const auto compare = [&](const char* name, const std::string& answered) {
    if (fields[name].empty()) return;
    base::StrAppend(&result.expected, " ", name, "=", fields[name]);
    base::StrAppend(&result.answered, " ", name, "=", answered);
    result.held = result.held && fields[name] == answered;
  };
  compare("rule", answer.rule);
  compare("reason", answer.reason_code);
  compare("effect_class", answer.effect_class);
  compare("credential", answer.credential);
  return result;
}

absl::StatusOr<Rules> LoadRules(const std::string& path) {
  ASSIGN_OR_RETURN(const policy::PolicySource source, policy::ReadPolicySource(path), base::StrCat("reading ", path));
  return policy::RuleSet::Load(source, 0, "");
}

absl::StatusOr<std::vector<PolicyTestResult>> RunDocument(const YAML::Node& document, const std::string& path,
                                                          std::string policy_path, absl::Time now) {
  if (!document.IsMap() || !document["questions"].IsDefined() || !document["questions"].IsSequence()) {
    return base::Error(base::ErrorCode::kBadArgument, "the file has no list `questions`");
  }
  if (policy_path.empty() && document["policy"].IsDefined() && document["policy"].IsScalar()) {
    policy_path = (std::filesystem::path(path).parent_path() / document["policy"].Scalar()).string();
  }
  if (policy_path.empty())
    return base::Error(base::ErrorCode::kBadArgument, "which policy? give --policy, or `policy` in the file");
  ASSIGN_OR_RETURN(const Rules rules, LoadRules(policy_path));
  std::vector<PolicyTestResult> results;
  for (const YAML::Node& node : document["questions"]) {
    ASSIGN_OR_RETURN(Fields fields, ReadFields(node));
    ASSIGN_OR_RETURN(const model::Grant grant, GrantOf(fields, rules), base::StrCat("line ", node.Mark().line + 1));
    results.push_back(Compare(fields, policy::Explain(QuestionOf(fields), grant, rules, now)));
  }
  return results;
}

}  // namespace

absl::StatusOr<std::vector<PolicyTestResult>> RunPolicyTestFile(const std::string& path, const std::string& policy_path,
                                                                absl::Time now) {
  ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path, kMaxTestFile), base::StrCat("reading ", path));
  try {
    return RunDocument(YAML::Load(text), path, policy_path, now);
  } catch (const YAML::Exception& error) {
    return base::Error(base::ErrorCode::kBadArgument,
                       base::StrCat(path, ": line ", error.mark.line + 1, ": ", error.msg));
  }
}

}  // namespace credbroker::client
