#include "policy/push.h"

#include <gtest/gtest.h>

#include "fixture.h"
#include "kit/status_matchers.h"
#include "policy/decide.h"

namespace credbroker::policy {
namespace {

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
      {", create: allow, delete: allow, force: allow, deny_paths: [CODEOWNERS]", "delete:refs/heads/a/x",
       "content_rule_undecided"},
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

}  // namespace
}  // namespace credbroker::policy
