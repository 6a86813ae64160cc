#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "evidence/situation.h"
#include "nlohmann/json_fwd.hpp"

namespace credbroker::evidence {

using Json = nlohmann::ordered_json;

// Who answers for it (requirements.md, kinds P, A, O, H).
enum class Kind { kEnforced, kAnswered, kDeclared, kPartly };
// The six groups of the questionnaire (S1).
enum class Group { kIsolation, kNetwork, kSecrets, kGit, kData, kEvidence };

std::string_view KindText(Kind kind);     // "enforced", "answered", "declared by operator", "partly"
std::string_view GroupName(Group group);  // "isolation", ...

// One answer of the questionnaire, S1 to S77.
struct Answer {
  std::string id;
  Group group = Group::kEvidence;
  Kind kind = Kind::kAnswered;
  std::string question;
  std::string value;      // what is true now; several lines are several facts
  std::string docs;       // `README.md#a-first-policy`
  std::string test;       // `e2e/test_git.py test_...`; empty where nothing is claimed to be enforced
  std::string audience;   // security, platform, legal, engineering
  std::string controls;   // `LLM06: complete mediation`, see broker/EVIDENCE.md
  bool unknown = false;   // not declared: an answer of its own, never "no" (S54)
};

// What the answers hold beside themselves.
struct Pack {
  std::string version, config_digest, policy_digest, installation;
  int64_t policy_version = 0;
  absl::Time generated_at;
  std::string reviewed_by, reviewed_at;
  bool stale = false;         // no review, or the last one is more than kReviewLife ago
  std::string pilot;          // `passed on ...`, `stale: ...`, `none`
  std::vector<Answer> answers;
};
inline constexpr absl::Duration kReviewLife = absl::Hours(24 * 365);

// All answers, in the order of their ids. Every one has passed Lint. Fails kAnswerRefused: then the product itself is wrong.
absl::StatusOr<Pack> MakePack(const Situation& situation);

// The pack without the answers that are not asked for; empty texts ask for all. Fails kBadArgument for an unknown group or
// audience.
absl::StatusOr<Pack> Selected(Pack pack, std::string_view group, std::string_view audience);

Json ToJson(const Pack& pack);
std::string Markdown(const Pack& pack);
// One page without scripts or outside references, made to be read and printed.
std::string Html(const Pack& pack);

}  // namespace credbroker::evidence
