#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/secret.h"

namespace credbroker::crypto {

// X.509 minting (RFC 5280). All keys are P-256 with SHA-256; all serials are 127 random bits. What is made here passes
// `openssl verify -x509_strict` and the strict default of Python 3.13.

struct KeyPair {
  base::Secret private_key_pem;  // PKCS#8
  std::string public_key_der;    // SubjectPublicKeyInfo
};

// A new P-256 key. Thread-safe.
absl::StatusOr<KeyPair> GenerateP256Key();

struct CaFiles {
  std::string certificate_pem;
  base::Secret key_pem;
};

inline constexpr absl::Duration kCaLife = absl::Hours(24 * 365 * 5);
inline constexpr absl::Duration kLeafLife = absl::Hours(24 * 7);
// notBefore lies this far back, for clients whose clock is behind; never before the CA's own.
inline constexpr absl::Duration kBackdate = absl::Hours(1);

// A self-signed CA with its key: CA:true, pathlen 0, keyCertSign and cRLSign, all critical. `common_name` is 1 to 64
// printable ASCII characters, otherwise kBadName; make it differ between installs, or clients that trust two of them
// build wrong chains. Thread-safe.
absl::StatusOr<CaFiles> GenerateCa(std::string_view common_name, absl::Time now);

// A CA that signs. Immutable; thread-safe.
class CertificateAuthority {
 public:
  // Fails kBadArgument when a PEM does not parse, the certificate is no CA, or the key is not its key.
  static absl::StatusOr<std::unique_ptr<CertificateAuthority>> Load(std::string_view certificate_pem,
                                                                    const base::Secret& key_pem);
  virtual ~CertificateAuthority() = default;

  virtual const std::string& certificate_pem() const = 0;
  virtual absl::Time not_after() const = 0;

  // A server certificate for one intercepted host, as PEM: SAN dNSName, or iPAddress for a literal (brackets around
  // IPv6 are allowed), EKU serverAuth. Life: kBackdate before `now` to kLeafLife after, within the CA's own.
  // Fails kBadHost on what is neither a lower-case host name nor an address, kBadArgument when the key is not P-256,
  // kConfigInvalid when the CA has expired.
  virtual absl::StatusOr<std::string> SignLeaf(std::string_view host, std::string_view public_key_der,
                                               absl::Time now) const = 0;

  // A server certificate for one of our own listeners under several names or addresses. As SignLeaf; at least one name.
  virtual absl::StatusOr<std::string> SignServer(const std::vector<std::string>& names, std::string_view public_key_der,
                                                 absl::Time now, absl::Duration life) const = 0;

  // A client certificate (EKU clientAuth) that names an edge: CN and dNSName `name`. Use a CA of its own for these:
  // whoever trusts the interception CA must not accept its certificates as logins.
  virtual absl::StatusOr<std::string> SignClient(std::string_view name, std::string_view public_key_der, absl::Time now,
                                                 absl::Duration life) const = 0;
};

// What a certificate says, for records, `doctor` and tests. Fails kBadArgument when the PEM does not parse.
struct CertificateFacts {
  std::string subject_common_name;
  std::string serial_hex;
  std::string fingerprint_hex;  // SHA-256 over the DER
  std::string public_key_der;
  absl::Time not_before;
  absl::Time not_after;
};
absl::StatusOr<CertificateFacts> ReadCertificate(std::string_view pem);

}  // namespace credbroker::crypto
