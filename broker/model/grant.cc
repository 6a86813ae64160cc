#include "model/grant.h"

#include "base/error.h"
#include "base/str.h"

namespace credbroker::model {

std::string_view PhaseName(Phase phase) { return phase == Phase::kSetup ? "setup" : "agent"; }

std::string_view LabelName(Label label) {
  switch (label) {
    case Label::kAgent: return "agent";
    case Label::kTool: return "tool";
    case Label::kSetup: return "setup";
  }
  return "agent";
}

absl::StatusOr<Phase> ParsePhase(std::string_view text) {
  for (const Phase phase : {Phase::kSetup, Phase::kAgent}) {
    if (text == PhaseName(phase)) return phase;
  }
  return base::Error(base::ErrorCode::kBadArgument, "phase: write setup or agent");
}

absl::StatusOr<Label> ParseLabel(std::string_view text) {
  for (const Label label : {Label::kAgent, Label::kTool, Label::kSetup}) {
    if (text == LabelName(label)) return label;
  }
  return base::Error(base::ErrorCode::kBadArgument, "label: write agent, tool or setup");
}

}  // namespace credbroker::model
