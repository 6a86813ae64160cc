#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

// Private to this room: OpenSSL's X.509 builder in owned types. Include only from crypto/*.cc.
namespace credbroker::crypto::x509 {

struct Free {
  void operator()(X509* x) const { X509_free(x); }
  void operator()(EVP_PKEY* x) const { EVP_PKEY_free(x); }
  void operator()(BIO* x) const { BIO_free(x); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Bio = std::unique_ptr<BIO, Free>;

enum class Usage { kServer, kClient };

// All that differs between two certificates. Without an issuer the certificate signs itself and is a CA.
struct Request {
  std::string common_name;         // empty: no subject, then the SAN is critical (RFC 5280 4.2.1.6)
  std::vector<std::string> names;  // "DNS:..." or "IP:...", checked by the caller
  Usage usage = Usage::kServer;
  absl::Time not_before;
  absl::Time not_after;
};

// Fails kInternal when OpenSSL refuses a step. `public_key` and `signer` stay the caller's.
absl::StatusOr<Certificate> BuildCa(const Request& request, EVP_PKEY* signer);
absl::StatusOr<Certificate> BuildLeaf(const Request& request, EVP_PKEY* public_key, X509* issuer, EVP_PKEY* signer);

// Parsing and writing; null or empty on failure.
Certificate ParseCertificate(std::string_view pem);
Key ParsePrivateKey(std::string_view pem);
Key ParsePublicKey(std::string_view der);
std::string CertificatePem(X509* certificate);
std::string PrivateKeyPem(EVP_PKEY* key);  // the caller wipes it
std::string PublicKeyDer(EVP_PKEY* key);
bool IsP256(const EVP_PKEY* key);
absl::Time Time(const ASN1_TIME* time);

// A kInternal status with OpenSSL's oldest error; empties its queue.
absl::Status Fault(std::string_view step);

}  // namespace credbroker::crypto::x509
