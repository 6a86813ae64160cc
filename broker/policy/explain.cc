#include "policy/explain.h"

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "model/target.h"
#include "policy/decide.h"
#include "policy/pattern.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using model::Facts;
using model::RefChange;

struct Url {
  model::Scheme scheme = model::Scheme::kHttps;
  model::Authority authority;
  std::string_view target;  // from the path on; may be empty
};

absl::StatusOr<Url> ReadUrl(std::string_view text) {
  Url out;
  const std::size_t colon = text.find("://");
  const std::string scheme = base::AsciiLower(text.substr(0, colon == std::string_view::npos ? 0 : colon));
  if (scheme != "https" && scheme != "http") return base::Error(ErrorCode::kBadHost, "write https://host/path");
  if (scheme == "http") out.scheme = model::Scheme::kHttp;
  text.remove_prefix(colon + 3);
  const std::size_t end = text.find_first_of("/?#");
  const std::string_view authority = text.substr(0, end);
  if (authority.find('@') != std::string_view::npos) return base::Error(ErrorCode::kBadHost, "user-info in the URL");
  ASSIGN_OR_RETURN(out.authority, model::ParseAuthority(authority, static_cast<uint16_t>(scheme == "http" ? 80 : 443)));
  out.target = end == std::string_view::npos ? std::string_view() : text.substr(end);
  // A client keeps the fragment to itself.
  out.target = out.target.substr(0, out.target.find('#'));
  return out;
}

bool IsMethod(std::string_view method) {
  if (method.empty() || method.size() > 32) return false;
  for (const char c : method) {
    if ((c < 'A' || c > 'Z') && c != '-' && c != '_') return false;
  }
  return method != "TRACE";
}

absl::StatusOr<Facts> GitFactsOf(const Question& question) {
  const bool push = question.git == "push";
  if (!push && question.git != "fetch") return base::Error(ErrorCode::kBadArgument, "git is fetch or push");
  ASSIGN_OR_RETURN(const Url url, ReadUrl(question.repo));
  std::string path(url.target);
  while (path.ends_with('/')) path.pop_back();
  path += push ? "/git-receive-pack" : "/git-upload-pack";
  RETURN_IF_ERROR(model::CheckPath(path));
  Facts facts{.scheme = url.scheme,
              .authority = url.authority,
              .method = "POST",
              .path = path,
              .git = model::DescribeGit("POST", path, std::nullopt)};
  if (!facts.git) return base::Error(ErrorCode::kBadPath, "the URL names no repository");
  if (!push) return facts;
  if (question.ref.empty()) return base::Error(ErrorCode::kBadArgument, "a push needs a ref");
  if (int{question.create} + int{question.remove} + int{question.force} > 1) {
    return base::Error(ErrorCode::kBadArgument, "create, delete and force exclude each other");
  }
  RefChange change;
  change.ref = question.ref;
  change.ancestry = RefChange::Ancestry::kNotApplicable;
  if (question.create) change.kind = RefChange::Kind::kCreate;
  if (question.remove) change.kind = RefChange::Kind::kDelete;
  if (change.kind == RefChange::Kind::kUpdate) {
    change.ancestry = question.force ? RefChange::Ancestry::kUnproven : RefChange::Ancestry::kFastForward;
  }
  facts.git->changes.push_back(std::move(change));
  return facts;
}

Explanation Refused(ErrorCode code, int64_t version) {
  const base::ErrorEntry& entry = base::Lookup(code);
  return {.decision = "deny",
          .rule = "default-deny",
          .effect_class = {},
          .credential = {},
          .exception = {},
          .reason_code = std::string(entry.name),
          .next_step = std::string(entry.next_step),
          .policy_version = version,
          .conditions = {}};
}

std::vector<std::string> ConditionsOf(const model::Allow& allow) {
  std::vector<std::string> out;
  if (!allow->reads_content) return out;
  out.push_back("the edge reads the pack: every object in it must be reached by the pushed refs, and its sizes must keep to the rule's limits");
  if (allow->protected_paths.empty()) return out;
  std::string text = "no commit may change ";
  for (const std::string& path : allow->protected_paths) base::StrAppend(&text, path == allow->protected_paths.front() ? "" : ", ", path);
  out.push_back(std::move(text));
  out.push_back("each commit is compared with its parents; those that are not in the pack must be reached by the host's branches or tags, and the edge reads their trees there");
  return out;
}

Explanation Told(const model::Decision& decision) {
  if (const model::Deny* deny = decision.deny()) {
    Explanation out = Refused(deny->code, deny->policy_version);
    out.rule = deny->rule;
    out.effect_class = deny->effect_class;
    out.exception = deny->exception;
    return out;
  }
  const model::Allow& allow = *decision.allow();
  return {.decision = "allow",
          .rule = allow->rule,
          .effect_class = allow->effect_class,
          .credential = allow->credential == nullptr ? std::string() : allow->credential->name,
          .exception = std::string(allow->exception),
          .reason_code = {},
          .next_step = {},
          .policy_version = allow->policy_version,
          .conditions = ConditionsOf(allow)};
}

// The content that a question states: small, and touching the one path, as far as the rules ask.
void StateContent(const std::string& path, const model::Grant& grant, const std::shared_ptr<const RuleSet>& rules, Facts* facts) {
  const PushNeeds needs = NeedsOfPush(*facts, grant, rules);
  if (!needs.content) return;
  model::PushContent& content = facts->git->content;
  content.state = model::PushContent::State::kRead;
  content.asked = needs.protected_paths;
  if (path.empty()) return;
  for (const std::string& text : needs.protected_paths) {
    const auto pattern = ProtectedPath::Parse(text);
    if (!pattern.ok() || !pattern->Covers(FoldedPath(path), ProtectedPath::Leaf::kFile)) continue;
    content.touched.push_back({facts->git->changes.front().ref, text, path});
  }
}

}  // namespace

absl::StatusOr<Facts> FactsOf(const Question& question) {
  if (!question.git.empty()) return GitFactsOf(question);
  if (question.url.empty()) return base::Error(ErrorCode::kBadArgument, "a question needs a url, or git and repo");
  if (question.method == "CONNECT") {
    ASSIGN_OR_RETURN(const model::Authority authority, model::ParseAuthority(question.url, std::nullopt));
    return Facts{
        .kind = Facts::Kind::kConnect, .authority = authority, .method = "CONNECT", .path = "/", .git = std::nullopt};
  }
  if (!IsMethod(question.method))
    return base::Error(ErrorCode::kMethodNotSupported, base::EscapeText(question.method, 32));
  ASSIGN_OR_RETURN(const Url url, ReadUrl(question.url));
  const model::Target target = model::SplitTarget(url.target);
  const std::string_view path = target.path.empty() ? std::string_view("/") : target.path;
  RETURN_IF_ERROR(model::CheckPath(path, model::EncodedSlash::kGitlab));
  return Facts{.scheme = url.scheme,
               .authority = url.authority,
               .method = question.method,
               .path = std::string(path),
               .git = model::DescribeGit(question.method, path, target.query),
               .body = question.body};
}

Explanation Explain(const Question& question, const model::Grant& grant, const std::shared_ptr<const RuleSet>& rules,
                    absl::Time now) {
  absl::StatusOr<Facts> facts = FactsOf(question);
  if (!facts.ok()) return Refused(base::CodeOf(facts.status()), rules->version());
  if (question.git.empty() && BodyRuleOf(*facts, *rules) != BodyRule::kNone) {
    if (question.body_error != ErrorCode::kNone) return Refused(question.body_error, rules->version());
    // A parameter in the query could say another thing than the body.
    if (question.url.find('?') != std::string::npos) return Refused(ErrorCode::kBodyUndecided, rules->version());
  }
  if (facts->kind == Facts::Kind::kRequest && facts->scheme == model::Scheme::kHttps) {
    Facts connect{.kind = Facts::Kind::kConnect,
                  .authority = facts->authority,
                  .method = "CONNECT",
                  .path = "/",
                  .git = std::nullopt};
    const model::Decision opened = Decide(connect, grant, rules, now);
    if (opened.allow() != nullptr && (*opened.allow())->handling == model::Handling::kTunnel) return Told(opened);
  }
  if (facts->git) StateContent(question.path, grant, rules, &*facts);
  return Told(Decide(*facts, grant, rules, now));
}

model::Grant SampleGrant(const std::string& scope, model::Phase phase, model::Label label) {
  model::Grant grant;
  grant.session = "SESSION";
  grant.phase = phase;
  grant.label = label;
  grant.scopes = {scope};
  grant.expires_at = absl::InfiniteFuture();
  return grant;
}

}  // namespace credbroker::policy
