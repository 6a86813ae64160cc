#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "absl/time/time.h"

namespace credbroker::gate {

// Token buckets by name, bounded in number: a full table forgets the buckets that are full again. Loop thread only.
class RateLimiter {
 public:
  explicit RateLimiter(std::size_t max_buckets) : max_buckets_(max_buckets) {}

  // Takes one from the bucket of `name`, which holds `burst` and refills at `per_minute`. False when it is empty.
  bool Take(std::string_view name, double per_minute, double burst, absl::Duration now);

 private:
  struct Bucket {
    double level;
    absl::Duration at;
    double per_minute, burst;
  };
  static double Level(const Bucket& bucket, absl::Duration now);
  void DropFull(absl::Duration now);

  std::size_t max_buckets_;
  std::map<std::string, Bucket, std::less<>> buckets_;
};

}  // namespace credbroker::gate
