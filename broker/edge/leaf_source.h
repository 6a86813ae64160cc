#pragma once

#include <memory>
#include <string>

#include "edge/broker_port.h"
#include "edge/flights.h"
#include "net/tls.h"

namespace credbroker::edge {

// Server certificates for intercepted hosts. The key is this process's own and never leaves it; the broker signs, so that
// no CA key is here. One certificate per host, kept until shortly before its end. Loop thread only.
class LeafSource {
 public:
  // `key` and `public_key_der` are one P-256 pair, shared by the loops of a process.
  LeafSource(net::Loop& loop, BrokerPort& broker, const base::Clock& clock, std::shared_ptr<const net::TlsKey> key, std::string public_key_der);

  using Context = std::shared_ptr<const net::TlsServerContext>;
  // `host` in canonical form. Fails kHostNotAllowed, kProviderDown. At once when the certificate is there.
  base::Task<absl::StatusOr<Context>> Get(std::string host, net::Deadline deadline);
  // After a change of the CA.
  void Clear() { cache_.Clear(); }

 private:
  BrokerPort& broker_;
  const base::Clock& clock_;
  std::shared_ptr<const net::TlsKey> key_;
  const std::string public_key_der_;
  net::LeafCache cache_;
  Flights<Context> flights_;
};

}  // namespace credbroker::edge
