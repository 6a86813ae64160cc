#include "fixture.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "policy/explain.h"

namespace credbroker::policy {
namespace {

using model::RefChange;

RefChange Change(std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view kind = word.substr(0, colon);
  RefChange change;
  change.ref = word.substr(colon + 1);
  change.ancestry = RefChange::Ancestry::kNotApplicable;
  if (kind == "create") change.kind = RefChange::Kind::kCreate;
  if (kind == "delete") change.kind = RefChange::Kind::kDelete;
  if (kind == "update") change.ancestry = RefChange::Ancestry::kFastForward;
  if (kind == "unproven" || kind == "forced") change.ancestry = RefChange::Ancestry::kUnproven;
  return change;
}

std::string Or(std::string_view text) { return text.empty() ? "-" : std::string(text); }

}  // namespace

absl::Time TestNow() { return absl::FromUnixSeconds(1'796'083'200); }

std::string TestFile(std::string_view name) { return base::StrCat(CREDBROKER_SOURCE_DIR "/tests/unit/policy/", name); }

std::string ReadTestFile(std::string_view name) {
  auto text = base::ReadFile(TestFile(name), 1 << 20);
  EXPECT_TRUE(text.ok()) << name;
  return text.ok() ? *text : std::string();
}

absl::StatusOr<std::shared_ptr<const RuleSet>> LoadText(std::string_view yaml, std::string_view name) {
  PolicySource source;
  source.documents.push_back({std::string(name), std::string(yaml)});
  return RuleSet::Load(source, 7, "digest");
}

std::shared_ptr<const RuleSet> Fixture() {
  auto rules = LoadText(ReadTestFile("fixture.yaml"), "fixture.yaml");
  if (!rules.ok()) {
    ADD_FAILURE() << rules.status().ToString();
    std::abort();
  }
  return *rules;
}

model::Grant GrantOf(std::vector<std::string> scopes, model::Phase phase, model::Label label) {
  model::Grant grant;
  grant.session = "s1";
  grant.phase = phase;
  grant.label = label;
  grant.scopes = std::move(scopes);
  grant.expires_at = absl::InfiniteFuture();
  return grant;
}

model::Facts Request(std::string_view method, std::string_view url) {
  Question question;
  question.method = method;
  question.url = url;
  auto facts = FactsOf(question);
  if (!facts.ok()) {
    ADD_FAILURE() << method << " " << url << ": " << facts.status().ToString();
    std::abort();
  }
  return *std::move(facts);
}

model::Facts Connect(std::string_view host_port) { return Request("CONNECT", host_port); }

model::Facts Push(std::string_view repo_url, std::string_view changes) {
  model::Facts facts = Request("POST", base::StrCat(repo_url, "/git-receive-pack"));
  std::istringstream words{std::string(changes)};
  for (std::string word; words >> word;) facts.git->changes.push_back(Change(word));
  return facts;
}

void ExpectGolden(std::string_view name, const std::string& golden, const std::string& now) {
  const char* update = std::getenv("CREDBROKER_UPDATE_GOLDEN");
  if (update != nullptr && std::string_view(update) == "1") {
    EXPECT_TRUE(base::WriteFileAtomic(TestFile(name), now, 0644).ok());
    return;
  }
  EXPECT_EQ(golden, now) << "CREDBROKER_UPDATE_GOLDEN=1 rewrites " << name << "; the diff is the review";
}

std::string CodeOf(const model::Decision& decision) {
  return decision.allow() != nullptr ? "allow" : std::string(base::Lookup(decision.deny()->code).name);
}

std::string Told(const model::Decision& decision) {
  if (const model::Deny* deny = decision.deny()) {
    return base::StrCat("deny ", base::Lookup(deny->code).name, " ", deny->rule, " ", Or(deny->effect_class), " ",
                        Or(deny->ref));
  }
  const model::Allow& allow = *decision.allow();
  return base::StrCat(allow->handling == model::Handling::kForward ? "allow" : model::HandlingName(allow->handling),
                      " ", allow->rule, " ", Or(allow->effect_class), " ",
                      allow->credential == nullptr ? "-" : allow->credential->name, allow->managed ? " managed" : "",
                      allow->proves_ancestry ? " proves-ancestry" : "");
}

}  // namespace credbroker::policy
