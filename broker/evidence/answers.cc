#include "evidence/answers.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "crypto/hash.h"
#include "evidence/lint.h"
#include "evidence/values.h"

namespace credbroker::evidence {
namespace {

using base::ErrorCode;

struct Question {
  std::string_view id;
  Group group;
  Kind kind;
  std::string_view audience, question;
  std::string (*value)(const Situation&);
  std::string_view docs, test, controls;
};

constexpr Question kQuestions[] = {
#define QUESTION(id, group, kind, audience, question, value, docs, test, controls) \
  {#id, Group::group, Kind::kind, audience, question, values::value, docs, test, controls},
#include "evidence/questions.def"
#undef QUESTION
};

constexpr std::array<std::string_view, 6> kGroups = {"isolation", "network", "secrets", "git", "data", "evidence"};
constexpr std::array<std::string_view, 4> kAudiences = {"security", "platform", "legal", "engineering"};

std::string Second(absl::Time time) { return std::string(base::View(absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()))); }

Answer AnswerTo(const Question& question, const Situation& situation) {
  Answer answer;
  answer.id = question.id;
  answer.group = question.group;
  answer.kind = question.kind;
  answer.question = question.question;
  answer.value = question.value(situation);
  answer.docs = question.docs;
  answer.test = question.test;
  answer.audience = question.audience;
  answer.controls = question.controls;
  answer.unknown = answer.value.find(kUnknown) != std::string::npos;
  return answer;
}

bool IsStale(const Situation& situation) {
  const std::string* const reviewed = situation.declared.Find("reviewed_at");
  absl::Time at;
  return reviewed == nullptr || !absl::ParseTime("%Y-%m-%d", *reviewed, &at, nullptr) || situation.now - at > kReviewLife;
}

std::string PilotText(const Situation& situation, const std::string& digest) {
  if (!situation.pilot) return "none";
  const PilotResult& pilot = *situation.pilot;
  const std::string text = base::StrCat(pilot.passed ? "passed" : "FAILED", " on ", Second(pilot.at));
  return pilot.version == situation.version && pilot.config_digest == digest ? text : base::StrCat("stale: ", text);
}

}  // namespace

std::string_view KindText(Kind kind) {
  constexpr std::string_view kTexts[] = {"enforced", "answered", "declared by operator", "partly"};
  return kTexts[static_cast<int>(kind)];
}

std::string_view GroupName(Group group) { return kGroups[static_cast<std::size_t>(group)]; }

std::string Situation::ConfigDigest() const {
  Json json = {{"policy", rules->digest()}, {"listeners", listeners}, {"session_sockets", session_sockets}, {"durability", durability},
               {"master_key", master_key},  {"ca", ca_fingerprint},   {"retention", retention},             {"declared_by", declared.by},
               {"declared_on", declared.on}, {"declared", declared.fields}, {"subprocessors", declared.subprocessors}};
  for (const Attestation& one : declared.attestations) json["attestations"].push_back({one.title, one.scope, one.period, one.where});
  return crypto::Sha256Hex(json.dump());
}

absl::StatusOr<Pack> MakePack(const Situation& situation) {
  Pack pack;
  pack.version = situation.version;
  pack.config_digest = situation.ConfigDigest();
  pack.policy_digest = situation.rules->digest();
  pack.policy_version = situation.rules->version();
  pack.installation = situation.installation;
  pack.generated_at = situation.now;
  if (const std::string* by = situation.declared.Find("reviewed_by")) pack.reviewed_by = *by;
  if (const std::string* at = situation.declared.Find("reviewed_at")) pack.reviewed_at = *at;
  pack.stale = IsStale(situation);
  pack.pilot = PilotText(situation, pack.config_digest);
  for (const Question& question : kQuestions) {
    Answer answer = AnswerTo(question, situation);
    RETURN_IF_ERROR(Lint(answer));
    pack.answers.push_back(std::move(answer));
  }
  return pack;
}

absl::StatusOr<Pack> Selected(Pack pack, std::string_view group, std::string_view audience) {
  const auto known = [](const auto& words, std::string_view word) { return word.empty() || std::find(words.begin(), words.end(), word) != words.end(); };
  if (!known(kGroups, group)) return base::Error(ErrorCode::kBadArgument, "groups: isolation, network, secrets, git, data, evidence");
  if (!known(kAudiences, audience)) return base::Error(ErrorCode::kBadArgument, "audiences: security, platform, legal, engineering");
  std::erase_if(pack.answers, [&](const Answer& answer) {
    return (!group.empty() && GroupName(answer.group) != group) || (!audience.empty() && answer.audience != audience);
  });
  return pack;
}

Json ToJson(const Pack& pack) {
  Json json = {{"schema", "credbroker/evidence/v1"},
               {"version", pack.version},
               {"installation", pack.installation},
               {"config_digest", pack.config_digest},
               {"policy_version", pack.policy_version},
               {"policy_digest", pack.policy_digest},
               {"generated_at", Second(pack.generated_at)},
               {"reviewed_by", pack.reviewed_by},
               {"reviewed_at", pack.reviewed_at},
               {"stale", pack.stale},
               {"pilot", pack.pilot},
               {"answers", Json::array()}};
  for (const Answer& answer : pack.answers) {
    json["answers"].push_back({{"id", answer.id},
                               {"group", GroupName(answer.group)},
                               {"kind", KindText(answer.kind)},
                               {"question", answer.question},
                               {"value", answer.value},
                               {"unknown", answer.unknown},
                               {"docs", answer.docs},
                               {"test", answer.test},
                               {"audience", answer.audience},
                               {"controls", answer.controls}});
  }
  return json;
}

}  // namespace credbroker::evidence
