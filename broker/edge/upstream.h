#pragma once

#include <map>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/task.h"
#include "edge/options.h"
#include "model/decision.h"
#include "model/facts.h"
#include "net/address_guard.h"
#include "net/pool.h"
#include "net/resolver.h"
#include "net/tls.h"

namespace credbroker::edge {

// Connections of one loop to upstreams: pooled, or resolved, judged, dialled and verified. The target is the one that was
// decided on, under the address and trust rules of that decision. Loop thread only.
class Upstreams {
 public:
  Upstreams(net::Loop& loop, net::Resolver& resolver, const net::OwnListeners& own, const EdgeOptions& options);

  struct Connection {
    std::unique_ptr<net::Stream> stream;
    bool reused = false;   // from the pool: it may have died meanwhile
    uint64_t trust = 0;    // for Release
  };
  enum class Reuse { kPooled, kFresh };
  // Fails kUpstreamUnresolved, kUpstreamAddressRefused, kLoop, kUpstreamUnreachable, kUpstreamTls, kUpstreamTimeout. A plain http
  // target gets a plain connection. `allow` and `target` must outlive the await.
  base::Task<absl::StatusOr<Connection>> Connect(const model::Allow& allow, const model::Facts& target, Reuse reuse);
  // A TCP connection for a tunnel, without TLS of ours.
  base::Task<absl::StatusOr<std::unique_ptr<net::Stream>>> ConnectRaw(const model::Allow& allow, const model::Authority& target);

  // Takes back a connection whose exchange ended cleanly.
  void Release(const model::Authority& target, Connection connection);
  std::size_t idle_count() const { return pool_.idle_count(); }

 private:
  // What a policy version says of one upstream, made once.
  struct Rules {
    std::shared_ptr<const void> version;  // keeps the key alive
    std::vector<net::Cidr> addresses;
    std::shared_ptr<const net::TlsClientContext> tls;  // null until a TLS target asks
  };
  absl::StatusOr<Rules*> RulesOf(const model::Allow& allow);
  absl::StatusOr<std::shared_ptr<const net::TlsClientContext>> TlsOf(Rules& rules, const model::Upstream& upstream);

  net::Loop& loop_;
  net::Resolver& resolver_;
  const net::OwnListeners& own_;
  const EdgeOptions& options_;
  net::Pool pool_;
  int64_t version_ = -1;
  std::map<const model::Upstream*, Rules> rules_;
  std::map<std::string, std::shared_ptr<const net::TlsClientContext>> contexts_;  // by extra roots, over versions
};

}  // namespace credbroker::edge
