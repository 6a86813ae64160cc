#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace credbroker::v1 {
class Question;
}

namespace credbroker::client {

// One line of `policy explain --batch`: a JSON object, either {"method", "url", "body"?} (the body as text; method GET
// when absent) or {"git": "fetch"|"push", "repo", "ref"?, "path"?, "create"?, "delete"?, "force"?}, the last
// three booleans.
inline constexpr std::size_t kMaxRowBytes = 2 << 20;

// Fails kBadArgument, naming what is wrong: no object, an unknown member, a wrong type, both forms or none, more than
// one of create, delete and force; kTooLarge. Pure, thread-safe.
absl::Status ReadQuestionRow(std::string_view line, v1::Question* question);

// The same rules for the flags of one question.
struct QuestionFlags {
  std::string method, url, body;
  std::string git, repo, ref, path;
  bool create = false, remove = false, force = false;
};
absl::Status MakeQuestion(const QuestionFlags& flags, v1::Question* question);

}  // namespace credbroker::client
