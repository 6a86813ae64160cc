#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/secret.h"
#include "crypto/seal.h"
#include "model/authority.h"
#include "model/facts.h"
#include "wire/lfs.h"

namespace credbroker::edge {

// What an LFS host said of one object, for one session: where it lies and which fields open it.
struct LfsGrant {
  wire::LfsAction::Kind kind = wire::LfsAction::Kind::kDownload;
  wire::LfsObject object;
  std::string ref;  // uploads
  model::Scheme scheme = model::Scheme::kHttps;
  model::Authority storage;
  std::string path;
  base::Secret query;  // with its `?`: a signature may stand in it
  std::vector<std::pair<std::string, base::Secret>> fields;
};

// The host's addresses and fields as links of ours: sealed under a key that this process made and nobody else has, bound to
// the session, the repository and the object, and good for a time. Nothing is kept, so nothing can be filled up. Const use is
// thread-safe.
class LfsLinks {
 public:
  static constexpr std::string_view kParameter = "?credbroker-lfs=";
  static constexpr absl::Duration kMaxLife = absl::Hours(1);

  LfsLinks() : key_(crypto::SealKey::Generate()) {}

  // The query of a link. Fails kUpstreamMalformed when the address or a field cannot be used, kUriTooLong.
  absl::StatusOr<std::string> Make(const wire::LfsObject& object, const wire::LfsAction& action, std::string_view ref, std::string_view binding,
                                   absl::Time expires) const;
  // Reads one back. Fails kLfsNotAllowed: another session's, another object's, expired, or none of ours.
  absl::StatusOr<LfsGrant> Open(std::string_view query, std::string_view oid, std::string_view binding, absl::Time now) const;

 private:
  crypto::SealKey key_;
};

}  // namespace credbroker::edge
