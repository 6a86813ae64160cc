#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "evidence/answers.h"

namespace credbroker::evidence {

// The first word of `text` that sounds like an answer and is none (S26: "vague"), or empty.
std::string VagueWord(std::string_view text);

// Does the text claim a certification or compliance (S25)? Such a claim needs a report that one can read.
bool ClaimsCertification(std::string_view text);

// Does the answer stand in the first row of the scoring table (S26)? Fails kAnswerRefused, with the id: nothing said, a
// vague word, no docs, no test for what is said to be enforced, "not applicable" without a reason, a bare certification.
absl::Status Lint(const Answer& answer);

}  // namespace credbroker::evidence
