#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace credbroker::wire {

// Git LFS over HTTP (git-lfs, docs/api): what a client asks is read strictly and written anew, so that the host sees no word
// that was not understood. Requests fail kBadGitRequest. JSON: one value, no key twice, few levels.

struct LfsObject {
  std::string oid;  // 64 lower-case hex digits
  uint64_t size = 0;
};

struct LfsBatch {
  bool upload = false;
  std::string ref;  // as the client names it; may be empty
  std::vector<LfsObject> objects;
};
// Reads `objects/batch`, at most 1,000 objects. Only the basic transfer goes on.
absl::StatusOr<LfsBatch> ReadLfsBatch(std::string_view body);
std::string WriteLfsBatch(const LfsBatch& batch);

// The bodies of `locks` (create), `locks/verify` and `locks/ID/unlock`.
enum class LfsLockCall { kCreate, kVerify, kUnlock };
struct LfsLock {
  std::string path;  // kCreate
  std::string ref;   // may be empty
  bool force = false;      // kUnlock: somebody else's lock
  std::string cursor;      // kVerify
  uint64_t limit = 0;      // kVerify
};
absl::StatusOr<LfsLock> ReadLfsLock(std::string_view body, LfsLockCall call);
std::string WriteLfsLock(const LfsLock& lock, LfsLockCall call);

// What a host says is to be done for one object.
struct LfsAction {
  enum class Kind { kUpload, kDownload, kVerify };
  Kind kind = Kind::kDownload;
  std::string href;
  std::vector<std::pair<std::string, std::string>> header;
  absl::Duration life = absl::InfiniteDuration();  // as the host says
};

// Rewrites the answer to a batch: the actions lose their addresses and headers, and get what `link` gives instead: an
// address of ours and its life. Where `link` fails the object gets an error with that status's words. Fails
// kUpstreamMalformed for an answer that is not exactly one to `asked`.
struct LfsLink {
  std::string href;
  absl::Duration life;
};
absl::StatusOr<std::string> RewriteLfsReply(std::string_view body, const LfsBatch& asked, absl::Time now,
                                            const std::function<absl::StatusOr<LfsLink>(const LfsObject&, const LfsAction&)>& link);

// What a refusal says to git-lfs, which prints `message`.
std::string LfsRefusal(std::string_view message, std::string_view error_json);

}  // namespace credbroker::wire
