#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/str.h"
#include "fixture.h"
#include "policy/catalogue.h"
#include "policy/graphql_rules.h"
#include "policy/decide.h"
#include "policy/explain.h"

namespace credbroker::policy {
namespace {

using model::Label;
using model::Phase;

std::map<std::string, model::Grant> Grants() {
  std::map<std::string, model::Grant> out = {
      {"web", GrantOf({"web-agent"})},
      {"web-setup", GrantOf({"web-agent"}, Phase::kSetup, Label::kSetup)},
      {"star", GrantOf({"agent-star"})},
      {"reader", GrantOf({"reader"})},
      {"release", GrantOf({"web-agent", "release"})},
      {"frozen", GrantOf({"web-agent", "release", "frozen"})},
      {"guarded", GrantOf({"guarded"})},
      {"notes", GrantOf({"notes"})},
      {"svc", GrantOf({"svc-read"})},
      {"svc-all", GrantOf({"svc-wide", "svc-read"})},
      {"forge", GrantOf({"forge-endpoints", "web-agent"})},
      {"setup", GrantOf({"setup-only"}, Phase::kSetup, Label::kSetup)},
      {"setup-agent", GrantOf({"setup-only"})},
      {"setup-tool", GrantOf({"setup-only"}, Phase::kSetup, Label::kTool)},
      {"gone", GrantOf({"removed-scope"})},
      {"nobody", GrantOf({})},
  };
  const auto narrow = [&](const std::string& name, model::Narrowing narrowing) {
    out[name] = GrantOf({"web-agent", "reader"});
    out[name].narrowing = std::move(narrowing);
  };
  narrow("only-get", {.methods = {"GET"}});
  narrow("only-llm", {.hosts = {"API.llm.example"}});
  narrow("only-web", {.repositories = {"Acme/Web.git"}});
  narrow("only-ref", {.refs = {"refs/heads/agent/{session}/one"}});
  narrow("only-bad", {.hosts = {"not a host"}});
  return out;
}

// `connect HOST:PORT` · `METHOD URL` · `fetch URL` · `push URL CHANGE...` · `probe URL`
std::string Answer(const model::Grant& grant, const std::string& question,
                   const std::shared_ptr<const RuleSet>& rules) {
  std::istringstream words(question);
  std::string verb, url, rest;
  words >> verb >> url;
  std::getline(words, rest);
  Question asked;
  asked.method = verb == "connect" ? "CONNECT" : verb;
  asked.url = url;
  if (verb == "fetch") asked.url = url + "/git-upload-pack";
  if (verb == "push" || verb == "probe") asked.url = url + "/git-receive-pack";
  if (verb == "fetch" || verb == "push" || verb == "probe") asked.method = "POST";
  auto facts = FactsOf(asked);
  if (!facts.ok()) return base::StrCat("refused ", base::Lookup(base::CodeOf(facts.status())).name);
  if (verb == "push") *facts = Push(url, rest);
  return Told(Decide(*facts, grant, rules, TestNow()));
}

// The left half of each line, up to ` => `, is the question; the right half is the answer. A line without an answer
// gets one with CREDBROKER_UPDATE_GOLDEN=1.
TEST(GoldenTest, DecisionsAreThoseInTheMatrix) {
  const auto rules = Fixture();
  const auto grants = Grants();
  const std::string golden = ReadTestFile("decisions.golden");
  std::string now;
  int rows = 0;
  std::istringstream lines(golden);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.front() == '#') {
      base::StrAppend(&now, line, "\n");
      continue;
    }
    const std::string question = line.substr(0, line.find(" => "));
    const std::size_t space = question.find(' ');
    const auto grant = grants.find(question.substr(0, space));
    ASSERT_NE(grant, grants.end()) << line;
    base::StrAppend(&now, question, " => ", Answer(grant->second, question.substr(space + 1), rules), "\n");
    ++rows;
  }
  EXPECT_GE(rows, 100);
  ExpectGolden("decisions.golden", golden, now);
}

// S76: the class of every operation that the catalogue knows.
TEST(GoldenTest, CatalogueIsTheOneInTheTable) {
  std::string now;
  for (const CatalogueRow& row : Catalogue()) {
    base::StrAppend(&now, PresetName(row.preset), " ", row.effect_class, " ", row.method, " ", row.path, "\n");
  }
  ExpectGolden("catalogue.golden", ReadTestFile("catalogue.golden"), now);
}

// How many operations of each class there are.
TEST(GoldenTest, ClassesAreCounted) {
  std::map<std::string, int> counts;
  for (const CatalogueRow& row : Catalogue()) ++counts[base::StrCat(PresetName(row.preset), " ", row.effect_class)];
  std::string now;
  for (const auto& [name, count] : counts) base::StrAppend(&now, name, " ", count, "\n");
  ExpectGolden("classes.golden", ReadTestFile("classes.golden"), now);
}

// What a contributor's scope (`api: [read, read-host, write]`) may do, of all that the catalogues know: the diff is the review.
TEST(GoldenTest, AContributorMayDoThis) {
  const std::string_view granted[] = {"read", "read-host", "write"};
  std::string now;
  for (const CatalogueRow& row : Catalogue()) {
    const bool allowed = std::any_of(std::begin(granted), std::end(granted), [&](auto g) { return Covers(g, row.effect_class); });
    base::StrAppend(&now, allowed ? "allow " : "deny ", PresetName(row.preset), " ", row.method, " ", row.path, row.body == BodyRule::kNone ? "" : " (by its body)", "\n");
  }
  for (const std::string& line : MutationReport()) {
    const std::string effect = line.substr(line.find(' ') + 1);
    const bool allowed = std::any_of(std::begin(granted), std::end(granted), [&](auto g) { return Covers(g, effect); });
    base::StrAppend(&now, allowed ? "allow" : "deny", " graphql ", line, "\n");
  }
  ExpectGolden("contributor.golden", ReadTestFile("contributor.golden"), now);
}

}  // namespace
}  // namespace credbroker::policy
