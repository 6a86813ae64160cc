#include "policy/explain.h"

#include <gtest/gtest.h>

#include "fixture.h"
#include "policy/decide.h"

namespace credbroker::policy {
namespace {

Explanation Ask(const Question& question, const std::string& scope = "web-agent") {
  return Explain(question, SampleGrant(scope, model::Phase::kAgent, model::Label::kAgent), Fixture(), TestNow());
}

TEST(ExplainTest, AnAllowNamesRuleClassAndCredential) {
  const Explanation out = Ask({.method = "POST", .url = "https://api.github.com/repos/acme/web/issues?x=1#f"});
  EXPECT_EQ(out.decision, "allow");
  EXPECT_EQ(out.rule, "web-agent/repositories/acme/web/api.write.issue");
  EXPECT_EQ(out.effect_class, "write.issue");
  EXPECT_EQ(out.credential, "acme");
  EXPECT_EQ(out.reason_code, "");
  EXPECT_EQ(out.next_step, "");
  EXPECT_EQ(out.policy_version, 7);
}

TEST(ExplainTest, ADenyNamesReasonAndNextStep) {
  const Explanation out = Ask({.method = "PUT", .url = "https://api.github.com/repos/acme/web/pulls/1/merge"});
  EXPECT_EQ(out.decision, "deny");
  EXPECT_EQ(out.effect_class, "merge");
  EXPECT_EQ(out.reason_code, "class_not_allowed");
  EXPECT_NE(out.next_step, "");
}

struct Row {
  Question question;
  const char* reason;  // empty: allow
};

TEST(ExplainTest, GitQuestionsAreJudgedAsTheRealPush) {
  const std::string repo = "https://github.com/Acme/Web.git/";
  const std::string ref = "refs/heads/agent/SESSION/x";
  const Row rows[] = {
      {{.git = "fetch", .repo = repo}, ""},
      {{.git = "fetch", .repo = "https://github.com/acme/other"}, "repository_not_allowed"},
      {{.git = "push", .repo = repo, .ref = ref}, ""},
      {{.git = "push", .repo = repo, .ref = ref, .create = true}, ""},
      {{.git = "push", .repo = repo, .ref = ref, .remove = true}, "delete_not_allowed"},
      {{.git = "push", .repo = repo, .ref = ref, .force = true}, "force_not_allowed"},
      {{.git = "push", .repo = repo, .ref = "refs/heads/main"}, "ref_not_allowed"},
      {{.git = "push", .repo = repo, .ref = "HEAD"}, "odd_ref"},
      {{.git = "push", .repo = repo}, "bad_argument"},
      {{.git = "push", .repo = repo, .ref = ref, .create = true, .force = true}, "bad_argument"},
      {{.git = "clone", .repo = repo}, "bad_argument"},
      {{.git = "fetch", .repo = "acme/web"}, "bad_host"},
      {{.git = "fetch", .repo = "https://github.com"}, "bad_path"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(Ask(row.question).reason_code, row.reason)
        << row.question.git << " " << row.question.repo << " " << row.question.ref;
}

TEST(ExplainTest, WhatCannotBeReadIsADenyWithItsReason) {
  const Row rows[] = {
      {{.url = ""}, "bad_argument"},
      {{.url = "github.com/acme"}, "bad_host"},
      {{.url = "ftp://github.com/"}, "bad_host"},
      {{.url = "https://user:pw@github.com/"}, "bad_host"},
      {{.url = "https://0x7f.1/"}, "bad_host"},
      {{.url = "https://svc.test/a/../b"}, "bad_path"},
      {{.method = "TRACE", .url = "https://svc.test/"}, "method_not_supported"},
      {{.method = "get", .url = "https://svc.test/"}, "method_not_supported"},
      {{.method = "CONNECT", .url = "github.com"}, "bad_host"},
  };
  for (const Row& row : rows) {
    const Explanation out = Ask(row.question);
    EXPECT_EQ(out.decision, "deny") << row.question.url;
    EXPECT_EQ(out.reason_code, row.reason) << row.question.url;
  }
}

TEST(ExplainTest, ATunnelledHostIsExplainedByItsException) {
  const Explanation open = Ask({.url = "https://pinned.vendor.example/anything"});
  EXPECT_EQ(open.decision, "allow");
  EXPECT_EQ(open.exception, "EX-7");
  EXPECT_EQ(open.effect_class, "tunnel");
  EXPECT_EQ(Ask({.url = "https://old.vendor.example/"}).reason_code, "exception_expired");
  EXPECT_EQ(Ask({.url = "http://pinned.vendor.example/"}).reason_code, "host_not_allowed");
  EXPECT_EQ(Ask({.method = "CONNECT", .url = "github.com:443"}).decision, "allow");
}

}  // namespace
}  // namespace credbroker::policy
