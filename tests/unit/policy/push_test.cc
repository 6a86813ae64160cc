#include "policy/push.h"

#include <gtest/gtest.h>

#include "fixture.h"
#include "kit/status_matchers.h"
#include "policy/decide.h"

namespace credbroker::policy {
namespace {

using model::Decision;
using model::Facts;

struct Row {
  const char* flags;  // of the rule for refs/heads/a/*
  const char* changes;
  const char* code;
};

std::string Judge(std::string_view flags, std::string_view changes) {
  const std::string text =
      "apiVersion: credbroker/v1\nservices: {g: {hosts: [g.test]}}\nscopes: {s: {requesters: [r], repositories: "
      "[{service: g, name: o/r, "
      "git: {push: {refs: ['refs/heads/a/*', 'refs/tags/*']" +
      std::string(flags) + "}}}]}}";
  const auto rules = LoadText(text);
  EXPECT_TRUE(rules.ok()) << rules.status();
  return CodeOf(Decide(Push("https://g.test/o/r", changes), GrantOf({"s"}), *rules, TestNow()));
}

// S16: which flag permits which change.
TEST(PushTest, FlagsPermitTheirOwnKindOfChangeOnly) {
  const Row rows[] = {
      {"", "update:refs/heads/a/x", "allow"},
      {"", "create:refs/heads/a/x", "create_not_allowed"},
      {"", "delete:refs/heads/a/x", "delete_not_allowed"},
      {"", "unproven:refs/heads/a/x", "force_not_allowed"},
      {", create: allow", "create:refs/heads/a/x", "allow"},
      {", create: allow", "delete:refs/heads/a/x", "delete_not_allowed"},
      {", create: allow", "forced:refs/heads/a/x", "force_not_allowed"},
      {", delete: allow", "delete:refs/heads/a/x", "allow"},
      {", delete: allow", "create:refs/heads/a/x", "create_not_allowed"},
      {", force: allow", "forced:refs/heads/a/x", "allow"},
      {", force: allow", "update:refs/heads/a/x", "allow"},
      {", force: allow", "delete:refs/heads/a/x", "delete_not_allowed"},
      {"", "update:refs/tags/v1", "force_not_allowed"},  // a tag that moves is forced
      {", force: allow", "update:refs/tags/v1", "allow"},
      {", create: allow", "create:refs/heads/a/x create:refs/heads/b/x", "ref_not_allowed"},
      {", create: allow", "create:refs/heads/b/x create:refs/heads/a/x", "ref_not_allowed"},
      {", create: allow", "create:refs/heads/a/x delete:refs/heads/a/y", "delete_not_allowed"},
      {", create: allow, deny_refs: ['refs/heads/a/no*']", "create:refs/heads/a/nope", "ref_not_allowed"},
      {", create: allow, deny_refs: ['refs/heads/a/no*']", "create:refs/heads/a/yes", "allow"},
      {", create: allow, delete: allow, force: allow, deny_paths: [CODEOWNERS]", "create:refs/heads/a/x",
       "content_rule_undecided"},
      {", create: allow, delete: allow, force: allow, deny_paths: [CODEOWNERS]", "delete:refs/heads/a/x", "allow"},
      {", create: allow, max_push_bytes: 5", "create:refs/heads/a/x", "content_rule_undecided"},
      {", deny_paths: [CODEOWNERS]", "create:refs/heads/a/x", "create_not_allowed"},  // whatever it carries
      {", deny_paths: [CODEOWNERS]", "update:refs/heads/b/x", "ref_not_allowed"},
      {"", "update:refs/heads/a/../b", "odd_ref"},
      {"", "update:refs/heads/\u0430/x", "ref_not_allowed"},  // a Cyrillic letter that looks like `a`
      {"", "update:refs/heads/a/x\u202Ey", "odd_ref"},        // turns the direction of what a reviewer reads
  };
  for (const Row& row : rows) EXPECT_EQ(Judge(row.flags, row.changes), row.code) << row.flags << " | " << row.changes;
}

// Two credentials cannot ride on one push, so refs of rules with different ones cannot share it.
TEST(PushTest, OnePushIsAllowedUnderOneCredential) {
  ASSERT_OK_AND_ASSIGN(
      const auto rules,
      LoadText(
          "apiVersion: credbroker/v1\nservices: {g: {hosts: [g.test]}}\n"
          "credentials: {a: {service: g, provider: static, secret: a}, b: {service: g, provider: static, secret: b}}\n"
          "scopes:\n"
          "  sa: {requesters: [r], repositories: [{service: g, name: o/r, credential: a, git: {push: {refs: "
          "[refs/heads/a], create: allow}}}]}\n"
          "  sb: {requesters: [r], repositories: [{service: g, name: o/r, credential: b, git: {push: {refs: "
          "[refs/heads/b], create: allow}}}]}\n"
          "  sc: {requesters: [r], repositories: [{service: g, name: o/r, credential: b, git: {push: {refs: "
          "[refs/heads/c], create: allow, deny_refs: [refs/heads/a]}}}]}\n"));
  const auto ask = [&](std::vector<std::string> scopes, std::string_view changes) {
    return Decide(Push("https://g.test/o/r", changes), GrantOf(std::move(scopes)), rules, TestNow());
  };
  EXPECT_EQ(CodeOf(ask({"sa", "sb"}, "create:refs/heads/a create:refs/heads/b")), "ref_not_allowed");
  const auto b = ask({"sa", "sb"}, "create:refs/heads/b");
  ASSERT_NE(b.allow(), nullptr);
  EXPECT_EQ((*b.allow())->credential->name, "b");
  EXPECT_EQ((*b.allow())->scope, "sb");
  EXPECT_EQ(CodeOf(ask({"sb", "sc"}, "create:refs/heads/b create:refs/heads/c")), "allow");
  // What a rule denies counts whatever its credential.
  EXPECT_EQ(CodeOf(ask({"sa", "sc"}, "create:refs/heads/a")), "ref_not_allowed");
}

TEST(PushTest, TheWorstChangeNamesTheEffect) {
  const auto effect = [](std::string_view changes) {
    const auto decision =
        Decide(Push("https://github.com/acme/web", changes), GrantOf({"release"}), Fixture(), TestNow());
    return decision.allow() == nullptr ? CodeOf(decision) : (*decision.allow())->effect_class;
  };
  EXPECT_EQ(effect("update:refs/heads/release/1"), "push");
  EXPECT_EQ(effect("create:refs/heads/release/1 update:refs/heads/release/2"), "push.create");
  EXPECT_EQ(effect("create:refs/heads/release/1 delete:refs/heads/release/2"), "push.delete");
  EXPECT_EQ(effect("delete:refs/heads/release/1 forced:refs/heads/release/2"), "push.force");
}

// ---- what a push carries

model::PushContent Content(std::vector<std::string> asked, std::vector<model::PushContent::Touch> touched = {}) {
  model::PushContent out;
  out.state = model::PushContent::State::kRead;
  out.pack_bytes = 1000;
  out.objects = 10;
  out.largest_blob = 500;
  out.asked = std::move(asked);
  out.touched = std::move(touched);
  return out;
}

std::shared_ptr<const RuleSet> RulesWith(std::string_view flags) {
  const auto rules = LoadText(
      "apiVersion: credbroker/v1\nservices: {g: {hosts: [g.test]}}\nscopes: {s: {requesters: [r], repositories: [{service: g, name: o/r, "
      "git: {push: {refs: ['refs/heads/a/*', 'refs/heads/b'], create: allow" +
      std::string(flags) + "}}}]}}");
  EXPECT_TRUE(rules.ok()) << rules.status();
  return *rules;
}

Decision JudgeContent(std::string_view flags, std::string_view changes, model::PushContent content) {
  Facts facts = Push("https://g.test/o/r", changes);
  facts.git->content = std::move(content);
  return Decide(facts, GrantOf({"s"}), RulesWith(flags), TestNow());
}

TEST(PushContentTest, AProtectedPathRefusesItsOwnRefOnly) {
  constexpr std::string_view kFlags = ", deny_paths: [CODEOWNERS, '.github/workflows/**']";
  const std::vector<std::string> asked = {"CODEOWNERS", ".github/workflows/**"};
  EXPECT_EQ(CodeOf(JudgeContent(kFlags, "create:refs/heads/a/x", Content(asked))), "allow");
  const Decision refused = JudgeContent(kFlags, "create:refs/heads/b create:refs/heads/a/x",
                                        Content(asked, {{"refs/heads/a/x", ".github/workflows/**", ".github/workflows/ci.yml"}}));
  ASSERT_NE(refused.deny(), nullptr);
  EXPECT_EQ(CodeOf(refused), "path_protected");
  EXPECT_EQ(refused.deny()->ref, "refs/heads/a/x");
  EXPECT_EQ(refused.deny()->path, ".github/workflows/ci.yml");
  EXPECT_EQ(refused.deny()->pattern, ".github/workflows/**");
  EXPECT_EQ(refused.deny()->rule, "s/repositories/o/r/git.push.deny_paths");
  EXPECT_EQ(CodeOf(JudgeContent(kFlags, "create:refs/heads/b", Content(asked, {{"refs/heads/a/x", "CODEOWNERS", "CODEOWNERS"}}))), "allow");
}

TEST(PushContentTest, OnlyWhatWasFoundOutCounts) {
  constexpr std::string_view kFlags = ", deny_paths: [CODEOWNERS]";
  EXPECT_EQ(CodeOf(JudgeContent(kFlags, "create:refs/heads/b", {})), "content_rule_undecided");
  EXPECT_EQ(CodeOf(JudgeContent(kFlags, "create:refs/heads/b", Content({"other"}))), "content_rule_undecided") << "the policy changed in between";
  auto content = Content({"CODEOWNERS"});
  content.paths_fault = base::ErrorCode::kContentRuleUndecided;
  EXPECT_EQ(CodeOf(JudgeContent(kFlags, "create:refs/heads/b", content)), "content_rule_undecided");
  content.touched = {{"refs/heads/b", "CODEOWNERS", "CODEOWNERS"}};
  EXPECT_EQ(CodeOf(JudgeContent(kFlags, "create:refs/heads/b", content)), "path_protected") << "what is known says more";
  content = Content({"CODEOWNERS"});
  content.fault = base::ErrorCode::kStrayObject;
  EXPECT_EQ(CodeOf(JudgeContent(kFlags, "create:refs/heads/b", content)), "stray_object");
  EXPECT_EQ(CodeOf(JudgeContent(", max_objects: 100", "create:refs/heads/b", content)), "stray_object");
  EXPECT_EQ(CodeOf(JudgeContent("", "create:refs/heads/b", content)), "allow") << "no rule asks";
}

TEST(PushContentTest, LimitsHoldToTheByte) {
  const auto rule = [](const Decision& decision) { return decision.deny() == nullptr ? std::string("allow") : decision.deny()->rule.substr(28); };
  for (const auto& [flags, part] : std::vector<std::pair<std::string, std::string>>{{", max_push_bytes: 1000", "allow"},
                                                                                     {", max_push_bytes: 999", "max_push_bytes"},
                                                                                     {", max_objects: 10", "allow"},
                                                                                     {", max_objects: 9", "max_objects"},
                                                                                     {", max_blob_bytes: 500", "allow"},
                                                                                     {", max_blob_bytes: 499", "max_blob_bytes"}}) {
    const Decision decision = JudgeContent(flags, "create:refs/heads/b", Content({}));
    EXPECT_EQ(rule(decision), part) << flags;
    EXPECT_EQ(CodeOf(decision), part == "allow" ? "allow" : "push_too_large") << flags;
  }
}

TEST(PushContentTest, NeedsAreThoseOfTheRulesThatHold) {
  const auto needs = [](std::string_view flags, std::string_view changes) {
    return NeedsOfPush(Push("https://g.test/o/r", changes), GrantOf({"s"}), RulesWith(flags));
  };
  EXPECT_FALSE(needs("", "create:refs/heads/b").any());
  EXPECT_FALSE(needs(", deny_paths: [x]", "create:refs/heads/other").any()) << "refused anyway";
  EXPECT_FALSE(needs(", delete: allow, deny_paths: [x]", "delete:refs/heads/b").any()) << "carries nothing";
  EXPECT_TRUE(needs(", max_objects: 1", "create:refs/heads/b").content);
  const PushNeeds both = needs(", deny_paths: [x, y]", "unproven:refs/heads/b");
  EXPECT_TRUE(both.ancestry && both.content);
  EXPECT_EQ(both.protected_paths, (std::vector<std::string>{"x", "y"}));
}

// The edge reads the host's trees only for a push that would be allowed if they said nothing against it.
TEST(PushContentTest, TheBaseIsReadForSuchAPushOnly) {
  const auto read = [](std::string_view flags, std::string_view changes) {
    Facts facts = Push("https://g.test/o/r", changes);
    facts.git->operation = model::GitFacts::Operation::kReadBase;
    return Decide(facts, GrantOf({"s"}), RulesWith(flags), TestNow());
  };
  const Decision allowed = read(", deny_paths: [x]", "unproven:refs/heads/b");
  ASSERT_NE(allowed.allow(), nullptr);
  EXPECT_EQ((*allowed.allow())->effect_class, "read");
  EXPECT_EQ((*allowed.allow())->rule, "s/repositories/o/r/git.push.deny_paths");
  EXPECT_EQ(CodeOf(read(", max_objects: 1", "create:refs/heads/b")), "git_not_supported");
  EXPECT_EQ(CodeOf(read("", "create:refs/heads/b")), "git_not_supported");
  EXPECT_EQ(CodeOf(read(", deny_paths: [x]", "create:refs/heads/other")), "ref_not_allowed");
}

}  // namespace
}  // namespace credbroker::policy
