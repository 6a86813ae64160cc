#include "edge/upstream.h"

#include "base/macros.h"
#include "base/str.h"
#include "net/dial.h"

namespace credbroker::edge {

using base::ErrorCode;

Upstreams::Upstreams(net::Loop& loop, net::Resolver& resolver, const net::OwnListeners& own, const EdgeOptions& options)
    : loop_(loop), resolver_(resolver), own_(own), options_(options), pool_(loop) {}

absl::StatusOr<Upstreams::Rules*> Upstreams::RulesOf(const model::Allow& allow) {
  if (allow->policy_version != version_) {
    // Pooled connections were judged under the old version's addresses and roots.
    pool_.Clear();
    rules_.clear();
    version_ = allow->policy_version;
  }
  const auto found = rules_.find(allow->upstream);
  if (found != rules_.end()) return &found->second;
  Rules rules;
  rules.version = allow->version;
  for (const std::string& text : allow->upstream->addresses) {
    ASSIGN_OR_RETURN(net::Cidr cidr, net::Cidr::Parse(text));
    rules.addresses.push_back(std::move(cidr));
  }
  return &rules_.emplace(allow->upstream, std::move(rules)).first->second;
}

absl::StatusOr<std::shared_ptr<const net::TlsClientContext>> Upstreams::TlsOf(Rules& rules, const model::Upstream& upstream) {
  if (rules.tls != nullptr) return rules.tls;
  auto& context = contexts_[upstream.extra_ca_pem];
  if (context == nullptr) {
    net::TlsClientContext::Options options;
    options.extra_roots_pem = upstream.extra_ca_pem;
    ASSIGN_OR_RETURN(context, net::TlsClientContext::Create(options));
  }
  rules.tls = context;
  return context;
}

base::Task<absl::StatusOr<Upstreams::Connection>> Upstreams::Connect(const model::Allow& allow, const model::Facts& target, Reuse reuse) {
  ASSIGN_OR_CO_RETURN(Rules * rules, RulesOf(allow));
  std::shared_ptr<const net::TlsClientContext> tls;
  if (target.scheme == model::Scheme::kHttps) {
    ASSIGN_OR_CO_RETURN(tls, TlsOf(*rules, *allow->upstream));
  }
  Connection connection;
  connection.trust = tls == nullptr ? 0 : tls->id();
  if (reuse == Reuse::kPooled) {
    connection.stream = pool_.Acquire({target.authority.host, target.authority.port, connection.trust});
    connection.reused = connection.stream != nullptr;
    if (connection.reused) co_return std::move(connection);
  }
  const net::Deadline deadline = loop_.After(options_.connect_wait);
  // A copy: a new policy version may drop `rules` while we wait.
  const std::vector<net::Cidr> addresses = rules->addresses;
  auto dialled = co_await net::Dial(loop_, resolver_, {target.authority.host, target.authority.port}, {addresses, &own_}, deadline);
  if (!dialled.ok()) co_return dialled.status();
  connection.stream = *std::move(dialled);
  if (tls == nullptr) co_return std::move(connection);
  const net::Io io = co_await connection.stream->StartTlsClient(tls, target.authority.host, target.authority.port, deadline);
  if (io == net::Io::kOk) co_return std::move(connection);
  if (io == net::Io::kTimeout) co_return base::Error(ErrorCode::kUpstreamTimeout, "TLS handshake");
  co_return base::Error(ErrorCode::kUpstreamTls, connection.stream->tls_error());
}

base::Task<absl::StatusOr<std::unique_ptr<net::Stream>>> Upstreams::ConnectRaw(const model::Allow& allow, const model::Authority& target) {
  ASSIGN_OR_CO_RETURN(Rules * rules, RulesOf(allow));
  const std::vector<net::Cidr> addresses = rules->addresses;
  co_return co_await net::Dial(loop_, resolver_, {target.host, target.port}, {addresses, &own_}, loop_.After(options_.connect_wait));
}

void Upstreams::Release(const model::Authority& target, Connection connection) {
  pool_.Release({target.host, target.port, connection.trust}, std::move(connection.stream));
}

}  // namespace credbroker::edge
