#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pemerr.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "net/stream.h"
#include "net/tls_native.h"
#include "reveal/secret_reveal.h"

namespace credbroker::net {
namespace {

// AES-128-GCM first: measured 21 % more handshakes than OpenSSL's order, since SHA-NI serves SHA-256 only.
constexpr char kTls13Suites[] = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
constexpr char kTls12Suites[] = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL:!kRSA";
constexpr char kGroups[] = "X25519:P-256:P-384";
constexpr unsigned char kAlpn[] = {8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
constexpr long kSessionSeconds = 3600;

absl::Status ConfigError(std::string_view what) {
  return base::Error(base::ErrorCode::kConfigInvalid, base::StrCat(what, ": ", TakeOpensslErrors()));
}

struct BioDeleter {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct X509Deleter {
  void operator()(X509* certificate) const { X509_free(certificate); }
};
struct CtxDeleter {
  void operator()(SSL_CTX* ctx) const { SSL_CTX_free(ctx); }
};
using BioPtr = std::unique_ptr<BIO, BioDeleter>;
using X509Ptr = std::unique_ptr<X509, X509Deleter>;
using CtxPtr = std::unique_ptr<SSL_CTX, CtxDeleter>;

BioPtr MemoryBio(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(std::min<std::size_t>(text.size(), 1 << 24))));
}

X509Ptr ReadCertificate(BIO* bio) { return X509Ptr(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr)); }

// Common to both sides.
CtxPtr NewContext(const SSL_METHOD* method) {
  CtxPtr ctx(SSL_CTX_new(method));
  if (!ctx) return nullptr;
  const bool set = SSL_CTX_set_min_proto_version(ctx.get(), TLS1_2_VERSION) == 1 &&
                   SSL_CTX_set_ciphersuites(ctx.get(), kTls13Suites) == 1 &&
                   SSL_CTX_set_cipher_list(ctx.get(), kTls12Suites) == 1 &&
                   SSL_CTX_set1_groups_list(ctx.get(), kGroups) == 1;
  if (!set) return nullptr;
  SSL_CTX_set_security_level(ctx.get(), 2);
  SSL_CTX_set_options(ctx.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(ctx.get(), SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return ctx;
}

absl::Status UseChain(SSL_CTX* ctx, std::string_view chain_pem, const TlsKey& key) {
  ERR_clear_error();
  const BioPtr bio = MemoryBio(chain_pem);
  const X509Ptr leaf = ReadCertificate(bio.get());
  if (!leaf || SSL_CTX_use_certificate(ctx, leaf.get()) != 1) return ConfigError("certificate");
  while (X509Ptr next = ReadCertificate(bio.get())) {
    if (SSL_CTX_add0_chain_cert(ctx, next.get()) != 1) return ConfigError("certificate chain");
    static_cast<void>(next.release());
  }
  ERR_clear_error();  // the end of the text is an error to the PEM reader
  if (SSL_CTX_use_PrivateKey(ctx, static_cast<EVP_PKEY*>(key.native())) != 1) return ConfigError("private key");
  if (SSL_CTX_check_private_key(ctx) != 1) return ConfigError("certificate and key do not match");
  return absl::OkStatus();
}

// A client that offers only other protocols is refused (RFC 7301 section 3.2) rather than spoken to in a wrong one.
int SelectAlpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in, unsigned in_size,
               void*) {
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, kAlpn, sizeof kAlpn, in, in_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

absl::Status AddRoots(X509_STORE* store, const std::string& pem) {
  ERR_clear_error();
  const BioPtr bio = MemoryBio(pem);
  int count = 0;
  while (const X509Ptr root = ReadCertificate(bio.get())) {
    if (X509_STORE_add_cert(store, root.get()) != 1) return ConfigError("upstream CA");
    ++count;
  }
  if (count == 0) return ConfigError("upstream CA: no certificate in the text");
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) return ConfigError("upstream CA");
  ERR_clear_error();
  return absl::OkStatus();
}

}  // namespace

std::string TakeOpensslErrors() {
  std::string text;
  while (const unsigned long error = ERR_get_error()) {
    const char* reason = ERR_reason_error_string(error);
    base::StrAppend(&text, text.empty() ? "" : "; ", std::string_view(reason != nullptr ? reason : "unknown"));
  }
  return text.empty() ? "no detail" : text;
}

absl::StatusOr<std::shared_ptr<const TlsKey>> TlsKey::Load(const base::Secret& key_pem) {
  ERR_clear_error();
  const BioPtr bio = MemoryBio(key_pem.Reveal(base::SecretReveal{}));
  // An empty pass phrase, so that an encrypted key fails instead of asking a terminal.
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, const_cast<char*>(""));
  if (key == nullptr) return ConfigError("private key");
  return std::shared_ptr<const TlsKey>(new TlsKey(key));
}

TlsKey::~TlsKey() { EVP_PKEY_free(static_cast<EVP_PKEY*>(key_)); }

absl::StatusOr<std::shared_ptr<const TlsServerContext>> TlsServerContext::Create(std::string_view chain_pem,
                                                                                 const TlsKey& key) {
  CtxPtr ctx = NewContext(TLS_server_method());
  if (!ctx) return ConfigError("TLS context");
  RETURN_IF_ERROR(UseChain(ctx.get(), chain_pem, key));
  SSL_CTX_set_options(ctx.get(), SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(ctx.get(), 1);
  SSL_CTX_set_session_cache_mode(ctx.get(), SSL_SESS_CACHE_OFF);  // tickets carry the state
  SSL_CTX_set_alpn_select_cb(ctx.get(), SelectAlpn, nullptr);
  return std::shared_ptr<const TlsServerContext>(new TlsServerContext(ctx.release()));
}

absl::StatusOr<std::shared_ptr<const TlsServerContext>> TlsServerContext::Create(std::string_view chain_pem,
                                                                                 const base::Secret& key_pem) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const TlsKey> key, TlsKey::Load(key_pem));
  return Create(chain_pem, *key);
}

TlsServerContext::~TlsServerContext() { SSL_CTX_free(ctx_); }

absl::StatusOr<std::shared_ptr<const TlsClientContext>> TlsClientContext::Create(const Options& options) {
  CtxPtr ctx = NewContext(TLS_client_method());
  if (!ctx) return ConfigError("TLS context");
  if (options.system_roots && SSL_CTX_set_default_verify_paths(ctx.get()) != 1) return ConfigError("system roots");
  if (!options.extra_roots_pem.empty()) {
    RETURN_IF_ERROR(AddRoots(SSL_CTX_get_cert_store(ctx.get()), options.extra_roots_pem));
  }
  if (options.client_key != nullptr) {
    ASSIGN_OR_RETURN(const std::shared_ptr<const TlsKey> key, TlsKey::Load(*options.client_key));
    RETURN_IF_ERROR(UseChain(ctx.get(), options.client_chain_pem, *key));
  }
  SSL_CTX_set_verify(ctx.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(ctx.get(), kAlpn, sizeof kAlpn);
  SSL_CTX_set_session_cache_mode(ctx.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  Stream::KeepSessions(ctx.get());
  return std::shared_ptr<const TlsClientContext>(
      new TlsClientContext(ctx.release(), std::make_unique<TlsClientContext::Sessions>()));
}

TlsClientContext::TlsClientContext(ssl_ctx_st* ctx, std::unique_ptr<Sessions> sessions)
    : ctx_(ctx), sessions_(std::move(sessions)) {
  static std::atomic<uint64_t> last_id{0};
  id_ = ++last_id;
}

TlsClientContext::~TlsClientContext() { SSL_CTX_free(ctx_); }

TlsClientContext::Sessions::~Sessions() {
  for (const Entry& entry : order_) SSL_SESSION_free(entry.session);
}

void TlsClientContext::Sessions::Put(std::string_view key, SSL_SESSION* session) {
  const std::lock_guard lock(mu_);
  if (const auto found = entries_.find(key); found != entries_.end()) {
    SSL_SESSION_free(std::exchange(found->second->session, session));
    order_.splice(order_.begin(), order_, found->second);
    return;
  }
  order_.push_front({std::string(key), session});
  entries_.emplace(key, order_.begin());
  if (order_.size() <= kMaxHosts) return;
  SSL_SESSION_free(order_.back().session);
  entries_.erase(order_.back().key);
  order_.pop_back();
}

SSL_SESSION* TlsClientContext::Sessions::Get(std::string_view key) {
  const std::lock_guard lock(mu_);
  const auto found = entries_.find(key);
  if (found == entries_.end()) return nullptr;
  SSL_SESSION* session = found->second->session;
  // A resumed session shows no certificate again, so its trust ends within the hour.
  if (SSL_SESSION_get_time(session) + kSessionSeconds < std::time(nullptr)) return nullptr;
  if (SSL_SESSION_is_resumable(session) != 1) return nullptr;
  SSL_SESSION_up_ref(session);
  return session;
}

std::shared_ptr<const TlsServerContext> LeafCache::Find(std::string_view host, absl::Time now) {
  const auto found = entries_.find(host);
  if (found == entries_.end()) return nullptr;
  if (found->second->expires <= now) {
    order_.erase(found->second);
    entries_.erase(found);
    return nullptr;
  }
  order_.splice(order_.begin(), order_, found->second);
  return found->second->context;
}

void LeafCache::Insert(std::string_view host, std::shared_ptr<const TlsServerContext> context, absl::Time expires) {
  if (const auto found = entries_.find(host); found != entries_.end()) {
    order_.erase(found->second);
    entries_.erase(found);
  }
  order_.push_front({std::string(host), std::move(context), expires});
  entries_.emplace(host, order_.begin());
  if (order_.size() <= max_entries_) return;
  entries_.erase(order_.back().host);
  order_.pop_back();
}

void LeafCache::Clear() {
  entries_.clear();
  order_.clear();
}

}  // namespace credbroker::net
