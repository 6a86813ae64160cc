#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "control/caller.h"
#include "control/core.h"
#include "evidence/answers.h"

// The reviewer's evidence, from what the broker is and keeps. All functions are thread-safe; `core` is read in one moment.
namespace credbroker::control {

// Everything that answers are made from.
absl::StatusOr<evidence::Situation> TakeSituation(Core& core);

// The answers in `format`: json, markdown, html. Fails kBadArgument, and as evidence::MakePack.
absl::StatusOr<std::string> AnswersDocument(Core& core, std::string_view format, std::string_view group, std::string_view audience);

struct Bundle {
  std::string tar;
  std::string key;  // verifier key of its manifest
};
// Records that a bundle was made, with the digest of its answers, then makes it. Fails kLedgerUnavailable.
absl::StatusOr<Bundle> MakeBundle(Core& core, const Cause& cause);

// One test of the pilot, as the sandbox tells it.
struct Finding {
  std::string id, group, name;
  bool passed = false;
  std::string detail;
  std::string request_id;
  bool confirmed = false;  // ours: the ledgers hold this refusal of this session
};
struct PilotOutcome {
  bool passed = false;
  std::vector<Finding> findings;
  std::string note;  // signed
  std::string key;
};
// What a sandbox found. Whoever runs in it may lie, so refusals count only when the ledgers hold them for the holder's
// session; the note names session and requester. Recorded before it is signed. Fails kBadArgument, kTooLarge,
// kLedgerUnavailable, and as the caller's holder status.
absl::StatusOr<PilotOutcome> SubmitPilot(Core& core, const Caller& caller, std::vector<Finding> findings);

}  // namespace credbroker::control
