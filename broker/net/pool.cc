#include "net/pool.h"

#include <algorithm>
#include <utility>

namespace credbroker::net {

Pool::~Pool() { Clear(); }

std::unique_ptr<Stream> Pool::Acquire(const PoolKey& key) {
  const auto found = buckets_.find(key);
  if (found == buckets_.end()) return nullptr;
  Bucket& bucket = found->second;
  std::unique_ptr<Stream> lent;
  while (!bucket.empty() && lent == nullptr) {
    lent = std::move(bucket.back());
    bucket.pop_back();
    --idle_count_;
    if (!lent->StopIdle()) lent = nullptr;
  }
  if (bucket.empty() && lent == nullptr) buckets_.erase(found);
  return lent;
}

void Pool::Release(const PoolKey& key, std::unique_ptr<Stream> stream) {
  const bool clean = stream != nullptr && stream->buffered().empty() && stream->pending() == 0 && !stream->hung_up() &&
                     stream->StopIdle();
  if (!clean || idle_count_ >= options_.max_idle) return;
  auto found = buckets_.find(key);
  if (found == buckets_.end()) {
    found = buckets_.emplace(OwnedKey{std::string(key.host), key.port, key.trust}, Bucket()).first;
  }
  if (found->second.size() >= options_.max_idle_per_key) return;
  stream->StartIdle(this, loop_.After(options_.idle_timeout));
  found->second.push_back(std::move(stream));
  ++idle_count_;
}

void Pool::Clear() {
  buckets_.clear();
  idle_count_ = 0;
}

void Pool::OnIdleEnd(Stream* stream) {
  for (auto bucket = buckets_.begin(); bucket != buckets_.end(); ++bucket) {
    Bucket& streams = bucket->second;
    const auto found = std::find_if(streams.begin(), streams.end(), [&](const auto& s) { return s.get() == stream; });
    if (found == streams.end()) continue;
    streams.erase(found);  // destroys the stream, our caller
    --idle_count_;
    if (streams.empty()) buckets_.erase(bucket);
    return;
  }
}

}  // namespace credbroker::net
