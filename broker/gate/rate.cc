#include "gate/rate.h"

#include <algorithm>

namespace credbroker::gate {

double RateLimiter::Level(const Bucket& bucket, absl::Duration now) {
  return std::min(bucket.burst, bucket.level + absl::ToDoubleMinutes(now - bucket.at) * bucket.per_minute);
}

void RateLimiter::DropFull(absl::Duration now) {
  std::erase_if(buckets_, [&](const auto& entry) { return Level(entry.second, now) >= entry.second.burst; });
}

bool RateLimiter::Take(std::string_view name, double per_minute, double burst, absl::Duration now) {
  auto found = buckets_.find(name);
  if (found == buckets_.end()) {
    if (buckets_.size() >= max_buckets_) DropFull(now);
    if (buckets_.size() >= max_buckets_) return false;  // a flood of names: refuse rather than grow
    found = buckets_.emplace(std::string(name), Bucket{burst, now, per_minute, burst}).first;
  }
  Bucket& bucket = found->second;
  bucket = {Level(bucket, now), now, per_minute, burst};
  if (bucket.level < 1) return false;
  bucket.level -= 1;
  return true;
}

}  // namespace credbroker::gate
