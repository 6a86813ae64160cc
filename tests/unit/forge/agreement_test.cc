#include <gtest/gtest.h>

#include <optional>

#include "base/str.h"
#include "policy/decide.h"
#include "policy/explain.h"
#include "policy/source.h"
#include "forge/api_body.h"

// The same effect on the same repository gets the same answer, whether it comes by git, REST or GraphQL.
namespace credbroker::forge {
namespace {

using policy::Explanation;
using policy::Question;

std::string PolicyOf(bool fetch, bool push, bool create, const std::string& api, const std::string& dangerous) {
  return base::StrCat(R"(apiVersion: credbroker/v1
services: {github: {preset: github}}
credentials: {bot: {service: github, provider: static, secret: secret:bot}}
scopes:
  s:
    requesters: [t]
    repositories:
      - service: github
        name: acme/web
        credential: bot
        git: {fetch: )", fetch ? "allow" : "deny", push ? base::StrCat(", push: {refs: [\"refs/heads/agent/**\"], create: ", create ? "allow" : "deny", "}") : "", "}\n        api: [", api, "]\n",
      dangerous.empty() ? "" : base::StrCat("        dangerous: [{classes: [", dangerous, "], owner: jo, reason: test, expires: 2099-01-01}]\n"));
}

class Asker {
 public:
  explicit Asker(const std::string& text) {
    policy::PolicySource source;
    source.documents.push_back({"policy.yaml", text});
    auto rules = policy::RuleSet::Load(source, 1, "d");
    EXPECT_TRUE(rules.ok()) << rules.status() << text;
    if (rules.ok()) rules_ = *rules;
  }

  Explanation Push(const std::string& ref, bool create) const {
    Question question;
    question.git = "push", question.repo = "https://github.com/acme/web.git", question.ref = ref, question.create = create;
    return Ask(question);
  }
  Explanation Send(const char* method, const std::string& path, const std::string& body) const {
    Question question;
    question.method = method, question.url = "https://api.github.com" + path;
    FillBody(body, &question);
    if (question.body != nullptr && question.body->graphql) {  // as if the session had seen them
      auto known = std::make_shared<model::BodyFacts>(*question.body);
      known->operation.nodes = {{"R_1", "acme/web"}, {"P_1", "acme/web"}};
      question.body = known;
    }
    return Ask(question);
  }
  Explanation Graphql(const std::string& query) const { return Send("POST", "/graphql", base::StrCat(R"({"query":")", query, "\"}")); }

 private:
  Explanation Ask(const Question& question) const {
    return policy::Explain(question, policy::SampleGrant("s", model::Phase::kAgent, model::Label::kAgent), rules_, absl::FromUnixSeconds(1790000000));
  }
  std::shared_ptr<const policy::RuleSet> rules_;
};

// Some of a hundred policies; each asked for the same effects on all roads.
TEST(AgreementTest, RestAndGraphqlAgreeOnEachEffect) {
  int allowed = 0;
  for (int bits = 0; bits < 64; ++bits) {
    const auto has = [&](int bit) { return (bits >> bit & 1) != 0; };
    std::string api = has(0) ? "read" : "";
    if (has(1)) base::StrAppend(&api, api.empty() ? "" : ", ", has(2) ? "write" : "write.issue");
    const Asker ask(PolicyOf(has(0), has(3), has(4), api, has(5) ? "merge, review, ref-write" : ""));
    const std::pair<Explanation, Explanation> pairs[] = {
        {ask.Send("GET", "/repos/acme/web/issues/1", ""), ask.Graphql(R"(query{repository(owner:\"acme\",name:\"WEB\"){issue(number:1){title}}})")},
        {ask.Send("POST", "/repos/acme/web/issues", R"({"title":"t"})"), ask.Graphql(R"(mutation{createIssue(input:{repositoryId:\"R_1\",title:\"t\"}){issue{id}}})")},
        {ask.Send("POST", "/repos/acme/web/pulls", R"({"head":"agent/x","base":"main"})"), ask.Graphql(R"(mutation{createPullRequest(input:{repositoryId:\"R_1\",headRefName:\"agent/x\",baseRefName:\"main\"}){pullRequest{id}}})")},
        {ask.Send("POST", "/repos/acme/web/pulls", R"({"head":"o:x","base":"main"})"), ask.Graphql(R"(mutation{createPullRequest(input:{repositoryId:\"R_1\",headRefName:\"o:x\",baseRefName:\"main\"}){pullRequest{id}}})")},
        {ask.Send("PUT", "/repos/acme/web/pulls/1/merge", "{}"), ask.Graphql(R"(mutation{mergePullRequest(input:{pullRequestId:\"P_1\"}){clientMutationId}})")},
        {ask.Send("POST", "/repos/acme/web/pulls/1/reviews", R"({"event":"APPROVE"})"), ask.Graphql(R"(mutation{addPullRequestReview(input:{pullRequestId:\"P_1\",event:APPROVE}){clientMutationId}})")},
        {ask.Send("POST", "/repos/acme/web/pulls/1/reviews", R"({"event":"COMMENT"})"), ask.Graphql(R"(mutation{addPullRequestReview(input:{pullRequestId:\"P_1\",event:COMMENT}){clientMutationId}})")},
        {ask.Send("PUT", "/repos/acme/web/contents/a", R"({"branch":"agent/x"})"), ask.Graphql(R"(mutation{createCommitOnBranch(input:{branch:{repositoryNameWithOwner:\"acme/web\",branchName:\"agent/x\"}}){clientMutationId}})")},
        {ask.Send("PUT", "/repos/acme/web/contents/a", R"({"branch":"main"})"), ask.Graphql(R"(mutation{createCommitOnBranch(input:{branch:{repositoryNameWithOwner:\"acme/web\",branchName:\"main\"}}){clientMutationId}})")},
    };
    for (const auto& [rest, graphql] : pairs) {
      const std::size_t row = static_cast<std::size_t>(&rest - &pairs[0].first);
      EXPECT_EQ(rest.decision, graphql.decision) << "policy " << bits << ", row at " << row << " " << rest.reason_code << " " << graphql.reason_code;
      EXPECT_EQ(rest.effect_class, graphql.effect_class);
      EXPECT_EQ(rest.reason_code, graphql.reason_code);
      EXPECT_EQ(rest.credential, graphql.credential);
      allowed += rest.decision == "allow";
    }
  }
  EXPECT_GT(allowed, 50);
}

// Whatever the `dangerous:` entries say, the API moves no ref that a push of the same change may not.
TEST(AgreementTest, TheApiOpensNoRefThatGitDoesNot) {
  for (int bits = 0; bits < 8; ++bits) {
    const bool push = (bits & 1) != 0, create = (bits & 2) != 0, dangerous = (bits & 4) != 0;
    const Asker ask(PolicyOf(true, push, create, "read, write", dangerous ? "ref-write, delete, force-ref" : ""));
    for (const char* branch : {"agent/x", "main"}) {
      const std::string ref = base::StrCat("refs/heads/", branch);
      const bool may_update = ask.Push(ref, false).decision == "allow", may_create = ask.Push(ref, true).decision == "allow";
      EXPECT_EQ(ask.Send("PUT", "/repos/acme/web/contents/a", base::StrCat(R"({"branch":")", branch, "\"}")).decision == "allow", dangerous && may_update);
      EXPECT_EQ(ask.Send("PATCH", base::StrCat("/repos/acme/web/git/", ref), "{}").decision == "allow", dangerous && may_update);
      EXPECT_EQ(ask.Send("POST", "/repos/acme/web/git/refs", base::StrCat(R"({"ref":")", ref, "\"}")).decision == "allow", dangerous && may_create);
      EXPECT_EQ(ask.Send("PATCH", base::StrCat("/repos/acme/web/git/", ref), R"({"force":true})").decision, "deny");
      EXPECT_EQ(ask.Send("DELETE", base::StrCat("/repos/acme/web/git/", ref), "{}").decision, "deny");
    }
  }
}

}  // namespace
}  // namespace credbroker::forge
