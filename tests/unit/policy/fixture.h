#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "model/decision.h"
#include "model/facts.h"
#include "model/grant.h"
#include "policy/rule_set.h"

namespace credbroker::policy {

// 2026-12-01T00:00:00Z: between the expiries of the fixture's exceptions.
absl::Time TestNow();

std::string TestFile(std::string_view name);  // a file of this folder
std::string ReadTestFile(std::string_view name);

absl::StatusOr<std::shared_ptr<const RuleSet>> LoadText(std::string_view yaml, std::string_view name = "policy.yaml");
// The fixture policy as version 7; aborts when it does not load.
std::shared_ptr<const RuleSet> Fixture();

// Session `s1` in phase agent, label agent.
model::Grant GrantOf(std::vector<std::string> scopes, model::Phase phase = model::Phase::kAgent,
                     model::Label label = model::Label::kAgent);

// Facts from short texts; they abort on texts that do not parse.
model::Facts Request(std::string_view method, std::string_view url);
model::Facts Connect(std::string_view host_port);
// `changes` are words: `create:REF`, `delete:REF`, `update:REF` (fast-forward proven), `unproven:REF`, `forced:REF`.
model::Facts Push(std::string_view repo_url, std::string_view changes);

// `allow RULE EFFECT CREDENTIAL` or `deny CODE RULE EFFECT REF`, one line; empty fields are `-`.
std::string Told(const model::Decision& decision);

// Compares with the golden file `name`, whose content is `golden`. With CREDBROKER_UPDATE_GOLDEN=1 it is rewritten
// instead.
void ExpectGolden(std::string_view name, const std::string& golden, const std::string& now);

// The catalogue's word of a refusal, `allow` for none.
std::string CodeOf(const model::Decision& decision);

}  // namespace credbroker::policy
