#include "evidence/declared.h"

#include <algorithm>
#include <array>

#include "absl/time/time.h"
#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "evidence/lint.h"

namespace credbroker::evidence {
namespace {

using base::ErrorCode;

constexpr std::size_t kMaxText = 2000;  // of one field
constexpr std::size_t kMaxList = 200;   // subprocessors, attestations

// The words of S3 and S68, and nothing between them.
constexpr std::array<std::string_view, 7> kIsolationKinds = {"container", "microvm", "vm", "user-space-kernel", "ci-runner", "sandbox", "unknown"};
constexpr std::array<std::string_view, 3> kEnforcement = {"none", "namespace", "firewall"};

absl::Status Refuse(std::string_view field, std::string_view why) {
  return base::Error(ErrorCode::kAnswerRefused, base::StrCat("declared.", field, ": ", why));
}

absl::Status CheckWord(std::string_view field, std::string_view value, const auto& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return absl::OkStatus();
  std::string words;
  for (const std::string_view word : allowed) base::StrAppend(&words, words.empty() ? "" : ", ", word);
  return Refuse(field, base::StrCat("write one of ", words));
}

absl::Status CheckText(std::string_view field, std::string_view value) {
  if (value.size() > kMaxText) return Refuse(field, "longer than 2,000 bytes");
  if (ClaimsCertification(value)) {
    return Refuse(field, "a certification is no text: name it under `attestations` with title, scope, period and where to read it");
  }
  if (const std::string vague = VagueWord(value); !vague.empty()) return Refuse(field, base::StrCat("\"", vague, "\" says nothing that can be checked"));
  return absl::OkStatus();
}

absl::Status CheckAttestation(const Attestation& one) {
  for (const std::string& part : {one.title, one.scope, one.period, one.where}) {
    if (part.find_first_not_of(" \t") == std::string::npos) return Refuse("attestations", "give title, scope, period and where to read the report");
  }
  return absl::OkStatus();
}

}  // namespace

const std::vector<std::string_view>& DeclarableFields() {
  static const std::vector<std::string_view> fields = {
      "isolation.kind",     "isolation.patch_owner",  "isolation.notes",      "environment.fresh_per_task",
      "environment.wipe",   "egress.enforcement",     "egress.other_paths",   "transcripts.retention",
      "local_upload.policy", "host.branch_protection_owner", "host.workflow_hold", "incident.contact",
      "owner_of_isolation", "reviewed_by",            "reviewed_at",          "retention.audit"};
  return fields;
}

const std::string* Declared::Find(std::string_view name) const {
  const auto found = fields.find(name);
  return found == fields.end() || found->second.empty() ? nullptr : &found->second;
}

absl::Status CheckDeclared(const Declared& declared) {
  const bool says_something = !declared.fields.empty() || !declared.subprocessors.empty() || !declared.attestations.empty();
  if (says_something && (declared.by.empty() || declared.on.empty())) return Refuse("by", "who declares this, and `on` which date?");
  absl::Time on;
  if (!declared.on.empty() && !absl::ParseTime("%Y-%m-%d", declared.on, &on, nullptr)) return Refuse("on", "write a date like 2027-01-31");
  const auto& known = DeclarableFields();
  for (const auto& [name, value] : declared.fields) {
    if (std::find(known.begin(), known.end(), name) == known.end()) return Refuse(base::EscapeText(name, 60), "there is no such field");
    if (name == "isolation.kind") RETURN_IF_ERROR(CheckWord(name, value, kIsolationKinds));
    if (name == "egress.enforcement") RETURN_IF_ERROR(CheckWord(name, value, kEnforcement));
    if (name == "reviewed_at" && !absl::ParseTime("%Y-%m-%d", value, &on, nullptr)) return Refuse(name, "write a date like 2027-01-31");
    RETURN_IF_ERROR(CheckText(name, value));
  }
  if (declared.subprocessors.size() > kMaxList || declared.attestations.size() > kMaxList) return Refuse("lists", "more than 200 entries");
  for (const std::string& one : declared.subprocessors) RETURN_IF_ERROR(CheckText("subprocessors", one));
  for (const Attestation& one : declared.attestations) RETURN_IF_ERROR(CheckAttestation(one));
  return absl::OkStatus();
}

}  // namespace credbroker::evidence
