#pragma once

#include <span>
#include <string_view>

#include "policy/push.h"

namespace credbroker::policy {

// Judges an LFS request by the rules of its repository: what reads needs `fetch`, what writes needs a push rule for the ref that
// it names, and an object's storage must be a host of the service or of its `lfs_hosts`. An upload also keeps to
// `max_blob_bytes` and `max_push_bytes`; no rule on paths can hold for it, since nothing in it says where the file will stand.
// `rules` are those of the repository.
PushVerdict JudgeLfs(std::span<const ScopedRule> rules, const Service& service, const model::GitFacts& git, std::string_view session);

// Whether a host may hold the service's LFS objects, and whether it is one of the service itself.
enum class LfsStorage { kRefused, kListed, kOwn };
LfsStorage StorageOf(const Service& service, const model::Authority& storage);

}  // namespace credbroker::policy
