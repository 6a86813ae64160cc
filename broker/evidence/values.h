#pragma once

#include <string>
#include <string_view>

#include "evidence/situation.h"

namespace credbroker::evidence {

// What each answer says, from the situation: one function per value, used by questions.def. All are pure and total. Several
// facts stand on several lines.
inline constexpr std::string_view kUnknown = "unknown (not declared)";

// A field that the operator declares: its text with who and when, or kUnknown.
std::string DeclaredText(const Situation& situation, std::string_view field);

#define CREDBROKER_EVIDENCE_VALUES(X)                                                                                       \
  X(Groups) X(WrittenAnswers) X(Isolation) X(EffectiveConfig) X(FreshEnvironment) X(Lifetimes) X(DefaultEgress) X(HostList)  \
  X(Coverage) X(Labels) X(Widening) X(RealCredentials) X(Exceptions) X(Variables) X(GitRights) X(PushRefs) X(MergeRights)    \
  X(ReviewRights) X(Workflows) X(Retention) X(Transcripts) X(Viewers) X(RecordContent) X(EvidenceOffered) X(Attestations)    \
  X(Scoring) X(GapControls) X(LoggingOff) X(Pilot) X(Review) X(EgressRow) X(SecretsRow) X(GitRow) X(NarrowScopes)            \
  X(PilotBlockedHost) X(PilotPush) X(PilotVariables) X(PilotWhoami) X(PilotRecord) X(StaticExport) X(MaterialChanges)        \
  X(Incident) X(Subprocessors) X(Audiences) X(Mapping) X(NotEnough) X(Unknowns) X(Exposed) X(Steps) X(NetworkDesigns)        \
  X(InnerAddresses) X(LiveCredentials) X(Writable) X(OwnerOfIsolation) X(SetupNetwork) X(Requesters) X(RecordLink)           \
  X(Closing) X(StepControls) X(FourProperties) X(WithoutToken) X(WaysOut) X(Costs) X(Excess) X(Injection) X(EffectClasses)   \
  X(Limits)

namespace values {
#define X(name) std::string name(const Situation& situation);
CREDBROKER_EVIDENCE_VALUES(X)
#undef X
}  // namespace values

}  // namespace credbroker::evidence
