#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "net/loop.h"
#include "net/stream.h"

namespace credbroker::net {

// Whom a pooled connection reaches. `trust` is TlsClientContext::id(), 0 for plain; a caller whose address rules
// changed must Clear the pool, since a connection keeps the address that was judged when it was made.
struct PoolKey {
  std::string_view host;
  uint16_t port = 0;
  uint64_t trust = 0;
};

// A loop's idle upstream connections, newest used first. One that ends or speaks unasked is dropped when that happens,
// and looked at again before it is lent. Loop thread only; must not outlive the loop.
class Pool final : private Stream::IdleOwner {
 public:
  struct Options {
    std::size_t max_idle_per_key = 256;
    std::size_t max_idle = 4096;
    absl::Duration idle_timeout = absl::Seconds(60);
  };
  Pool(Loop& loop, Options options) : loop_(loop), options_(options) {}
  explicit Pool(Loop& loop) : Pool(loop, Options()) {}
  ~Pool();

  // A connection that is idle and alive, or null: dial then.
  std::unique_ptr<Stream> Acquire(const PoolKey& key);
  // Takes a connection whose last exchange ended cleanly. One that has unread or unsent bytes, has hung up or finds
  // the pool full is closed instead.
  void Release(const PoolKey& key, std::unique_ptr<Stream> stream);
  void Clear();
  std::size_t idle_count() const { return idle_count_; }

 private:
  struct Less {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return Tie(a) < Tie(b);
    }
    template <typename K>
    static std::tuple<uint16_t, uint64_t, std::string_view> Tie(const K& key) {
      return {key.port, key.trust, key.host};
    }
  };
  struct OwnedKey {
    std::string host;
    uint16_t port;
    uint64_t trust;
  };
  using Bucket = std::vector<std::unique_ptr<Stream>>;

  void OnIdleEnd(Stream* stream) override;

  Loop& loop_;
  Options options_;
  std::size_t idle_count_ = 0;
  std::map<OwnedKey, Bucket, Less> buckets_;
};

}  // namespace credbroker::net
