#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "model/facts.h"
#include "policy/catalogue.h"

namespace credbroker::policy {

// What an operation does, once its body is known.
struct BodyVerdict {
  base::ErrorCode code = base::ErrorCode::kNone;  // kBodyUndecided, kCrossRepository
  std::string_view effect_class;                  // static text
  std::optional<model::RefChange> change;         // the ref that it moves: push rules judge it, too
};

// `repository` is `owner/name` as the path names it. Without a body the answer is the class that the catalogue names: for
// questions about a request that is not at hand (the edge never asks so: it reads the body of each operation that has a rule).
BodyVerdict JudgeBody(const Operation& operation, std::string_view repository, const model::BodyFacts* body);

// Whether a file holds a CI definition, which the host runs with its own credentials.
bool IsWorkflowFile(std::string_view path);

}  // namespace credbroker::policy
