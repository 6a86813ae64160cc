#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "model/facts.h"

namespace credbroker::model {

// The two halves of an origin-form request target. The query is without `?`; absent and empty differ.
struct Target {
  std::string_view path;
  std::optional<std::string_view> query;
};
Target SplitTarget(std::string_view target);

// Accepts only paths that every reader reads alike (field.md 7-9, 13, 15; B27), so that the path a rule saw is the path
// on the wire. Fails with kBadPath: not starting with `/`; empty segments (a final slash is fine); `.` and `..` segments,
// encoded ones too; backslash; `;` parameters; control and non-ASCII bytes; percent signs that do not start two hex
// digits; encoded slash, backslash, NUL, control characters, `;`, `?`, `#`, `%`; encoded characters that need no encoding
// (RFC 3986 unreserved: `%61`). Limit: 8 KiB.
//
// With kGitlab, paths under /api/v4/projects/ may hold encoded slashes, which are how that API names projects, files and
// branches; what stands between them is held to the same rules. Only a decision for such a host may pass it (policy/decide.cc).
enum class EncodedSlash { kRefused, kGitlab };
absl::Status CheckPath(std::string_view path, EncodedSlash slashes = EncodedSlash::kRefused);

// What a request asks of git's smart HTTP protocol, from its method, checked path and query alone; nullopt when it is
// not git. The one reading of a git path: the edge and `policy explain` share it. Changes are filled in by the caller.
std::optional<GitFacts> DescribeGit(std::string_view method, std::string_view path, std::optional<std::string_view> query);

// A repository name as rules compare it: ASCII lower case, without one final `.git`.
std::string CanonicalRepository(std::string_view name);

}  // namespace credbroker::model
