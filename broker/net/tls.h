#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/secret.h"

struct ssl_ctx_st;

namespace credbroker::net {

// A private key that many certificates may share. Immutable, thread-safe.
class TlsKey {
 public:
  // PEM, unencrypted. Fails kConfigInvalid.
  static absl::StatusOr<std::shared_ptr<const TlsKey>> Load(const base::Secret& key_pem);
  ~TlsKey();
  TlsKey(const TlsKey&) = delete;
  TlsKey& operator=(const TlsKey&) = delete;

  void* native() const { return key_; }  // EVP_PKEY*, for this room

 private:
  explicit TlsKey(void* key) : key_(key) {}
  void* key_;
};

// How we answer a TLS client: TLS 1.2 or 1.3, ALPN http/1.1 only, one session ticket. Immutable, thread-safe. One
// context is one certificate; streams keep what they need alive.
class TlsServerContext {
 public:
  // `chain_pem`: the leaf first, then intermediates. Fails kConfigInvalid, also when key and leaf do not match.
  static absl::StatusOr<std::shared_ptr<const TlsServerContext>> Create(std::string_view chain_pem, const TlsKey& key);
  static absl::StatusOr<std::shared_ptr<const TlsServerContext>> Create(std::string_view chain_pem,
                                                                        const base::Secret& key_pem);
  ~TlsServerContext();
  TlsServerContext(const TlsServerContext&) = delete;
  TlsServerContext& operator=(const TlsServerContext&) = delete;

  ssl_ctx_st* native() const { return ctx_; }

 private:
  explicit TlsServerContext(ssl_ctx_st* ctx) : ctx_(ctx) {}
  ssl_ctx_st* ctx_;
};

// How we speak TLS to an upstream. The certificate must chain to a root and name the host in its SAN (no common name,
// no partial wildcards; an IP literal needs an iPAddress entry). There is no switch that turns this off. Keeps the
// newest session of each host for resumption (256 hosts). Thread-safe.
class TlsClientContext {
 public:
  struct Options {
    bool system_roots = true;
    std::string extra_roots_pem;               // the service's `upstream_ca`; may hold several
    std::string client_chain_pem;              // with client_key: a client certificate
    const base::Secret* client_key = nullptr;  // PEM; read only during Create
  };
  // Fails kConfigInvalid.
  static absl::StatusOr<std::shared_ptr<const TlsClientContext>> Create(const Options& options);
  ~TlsClientContext();
  TlsClientContext(const TlsClientContext&) = delete;
  TlsClientContext& operator=(const TlsClientContext&) = delete;

  // Unique in the process; part of a pool's key, so that connections of different trust never mix.
  uint64_t id() const { return id_; }
  ssl_ctx_st* native() const { return ctx_; }

  class Sessions;
  Sessions& sessions() const { return *sessions_; }

 private:
  TlsClientContext(ssl_ctx_st* ctx, std::unique_ptr<Sessions> sessions);
  ssl_ctx_st* ctx_;
  std::unique_ptr<Sessions> sessions_;
  uint64_t id_;
};

// Server contexts by host name, least recently used out first. One per loop; not thread-safe.
class LeafCache {
 public:
  explicit LeafCache(std::size_t max_entries) : max_entries_(max_entries) {}
  // Null when absent or expired at `now`. `host` is in canonical form.
  std::shared_ptr<const TlsServerContext> Find(std::string_view host, absl::Time now);
  // `expires`: some time before the certificate's end.
  void Insert(std::string_view host, std::shared_ptr<const TlsServerContext> context, absl::Time expires);
  void Clear();
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::string host;
    std::shared_ptr<const TlsServerContext> context;
    absl::Time expires;
  };
  std::size_t max_entries_;
  std::list<Entry> order_;  // most recently used first
  std::map<std::string, std::list<Entry>::iterator, std::less<>> entries_;
};

}  // namespace credbroker::net
