#include "crypto/certificate.h"

#include <arpa/inet.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/x509v3.h>

#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "crypto/hash.h"
#include "crypto/x509_build.h"
#include "reveal/secret_reveal.h"

namespace credbroker::crypto {
namespace {

using base::Error;
using base::ErrorCode;

constexpr std::size_t kMaxCommonName = 64;  // ub-common-name, RFC 5280 appendix A

bool IsAddress(std::string_view host) {
  const std::string text(host);
  unsigned char address[16];
  return inet_pton(AF_INET, text.c_str(), address) == 1 || inet_pton(AF_INET6, text.c_str(), address) == 1;
}

bool IsLabel(std::string_view label) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_'; };
  return !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-' &&
         std::all_of(label.begin(), label.end(), allowed);
}

// Stricter than DNS: the text goes into OpenSSL's extension syntax, where a comma or a colon would mean something.
bool IsHostName(std::string_view host) {
  if (host.empty() || host.size() > 253) return false;
  while (true) {
    const std::size_t dot = host.find('.');
    if (!IsLabel(host.substr(0, dot))) return false;
    if (dot == std::string_view::npos) return true;
    host.remove_prefix(dot + 1);
  }
}

absl::StatusOr<std::string> AlternativeName(std::string_view host) {
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string_view bare = bracketed ? host.substr(1, host.size() - 2) : host;
  // An address as a dNSName fails every client's name check.
  if (IsAddress(bare) && bare.find('\0') == std::string_view::npos) return base::StrCat("IP:", bare);
  if (!bracketed && IsHostName(host)) return base::StrCat("DNS:", host);
  return Error(ErrorCode::kBadHost, base::EscapeText(host, 80));
}

class Authority final : public CertificateAuthority {
 public:
  Authority(x509::Certificate certificate, x509::Key key, std::string pem)
      : certificate_(std::move(certificate)), key_(std::move(key)), pem_(std::move(pem)) {}

  const std::string& certificate_pem() const override { return pem_; }
  absl::Time not_after() const override { return x509::Time(X509_get0_notAfter(certificate_.get())); }

  absl::StatusOr<std::string> SignLeaf(std::string_view host, std::string_view public_key_der,
                                       absl::Time now) const override {
    return Sign({std::string(host)}, x509::Usage::kServer, public_key_der, now, kLeafLife);
  }

  absl::StatusOr<std::string> SignServer(const std::vector<std::string>& names, std::string_view public_key_der,
                                         absl::Time now, absl::Duration life) const override {
    return Sign(names, x509::Usage::kServer, public_key_der, now, life);
  }

  absl::StatusOr<std::string> SignClient(std::string_view name, std::string_view public_key_der, absl::Time now,
                                         absl::Duration life) const override {
    return Sign({std::string(name)}, x509::Usage::kClient, public_key_der, now, life);
  }

 private:
  absl::StatusOr<std::string> Sign(const std::vector<std::string>& names, x509::Usage usage,
                                   std::string_view public_key_der, absl::Time now, absl::Duration life) const {
    if (names.empty()) return Error(ErrorCode::kBadArgument, "a certificate needs a name");
    const x509::Key key = x509::ParsePublicKey(public_key_der);
    if (key == nullptr || !x509::IsP256(key.get())) return Error(ErrorCode::kBadArgument, "the key is not P-256");
    if (now >= not_after()) return Error(ErrorCode::kConfigInvalid, "the CA has expired");
    x509::Request request;
    for (const std::string& name : names) {
      ASSIGN_OR_RETURN(std::string alternative, AlternativeName(name));
      request.names.push_back(std::move(alternative));
    }
    // Without the kind in front and without brackets.
    const std::string first = request.names.front().substr(request.names.front().find(':') + 1);
    if (first.size() <= kMaxCommonName) request.common_name = first;
    request.usage = usage;
    request.not_before = std::max(now - kBackdate, x509::Time(X509_get0_notBefore(certificate_.get())));
    request.not_after = std::min(now + life, not_after());
    ASSIGN_OR_RETURN(const x509::Certificate leaf, x509::BuildLeaf(request, key.get(), certificate_.get(), key_.get()));
    return x509::CertificatePem(leaf.get());
  }

  x509::Certificate certificate_;
  x509::Key key_;
  std::string pem_;
};

std::string CommonName(X509* certificate) {
  char text[256] = {};
  const int size = X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, text, sizeof text);
  return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string();
}

std::string SerialHex(X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(
      ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr), &BN_free);
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number.get())), '\0');
  BN_bn2bin(number.get(), reinterpret_cast<unsigned char*>(bytes.data()));
  return base::HexEncode(bytes);
}

}  // namespace

absl::StatusOr<KeyPair> GenerateP256Key() {
  const x509::Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return x509::Fault("generating a key");
  KeyPair pair;
  pair.private_key_pem = base::Secret::Take(x509::PrivateKeyPem(key.get()));
  pair.public_key_der = x509::PublicKeyDer(key.get());
  if (pair.private_key_pem.empty() || pair.public_key_der.empty()) return x509::Fault("writing a key");
  return pair;
}

absl::StatusOr<CaFiles> GenerateCa(std::string_view common_name, absl::Time now) {
  const auto printable = [](char c) { return c >= 0x20 && c < 0x7f; };
  if (common_name.empty() || common_name.size() > kMaxCommonName ||
      !std::all_of(common_name.begin(), common_name.end(), printable)) {
    return Error(ErrorCode::kBadName, "a CA's common name is 1 to 64 printable ASCII characters");
  }
  ASSIGN_OR_RETURN(KeyPair pair, GenerateP256Key());
  const x509::Key key = x509::ParsePrivateKey(pair.private_key_pem.Reveal(base::SecretReveal{}));
  if (key == nullptr) return x509::Fault("reading the new key");
  x509::Request request;
  request.common_name = common_name;
  request.not_before = now - kBackdate;
  request.not_after = now + kCaLife;
  ASSIGN_OR_RETURN(const x509::Certificate certificate, x509::BuildCa(request, key.get()));
  return CaFiles{x509::CertificatePem(certificate.get()), std::move(pair.private_key_pem)};
}

absl::StatusOr<std::unique_ptr<CertificateAuthority>> CertificateAuthority::Load(std::string_view certificate_pem,
                                                                                 const base::Secret& key_pem) {
  x509::Certificate certificate = x509::ParseCertificate(certificate_pem);
  if (certificate == nullptr) return Error(ErrorCode::kBadArgument, "the CA's certificate is not PEM");
  x509::Key key = x509::ParsePrivateKey(key_pem.Reveal(base::SecretReveal{}));
  if (key == nullptr) return Error(ErrorCode::kBadArgument, "the CA's key is not PEM");
  if (X509_check_ca(certificate.get()) != 1) return Error(ErrorCode::kBadArgument, "the certificate is not a CA's");
  if (X509_check_private_key(certificate.get(), key.get()) != 1) {
    x509::Fault("comparing the key with the certificate").IgnoreError();  // empties the error queue
    return Error(ErrorCode::kBadArgument, "the key does not belong to the CA's certificate");
  }
  std::string pem = x509::CertificatePem(certificate.get());
  return std::make_unique<Authority>(std::move(certificate), std::move(key), std::move(pem));
}

absl::StatusOr<CertificateFacts> ReadCertificate(std::string_view pem) {
  const x509::Certificate certificate = x509::ParseCertificate(pem);
  if (certificate == nullptr) return Error(ErrorCode::kBadArgument, "the certificate is not PEM");
  unsigned char* der = nullptr;
  const int size = i2d_X509(certificate.get(), &der);
  if (size <= 0) return x509::Fault("writing a certificate");
  CertificateFacts facts;
  facts.fingerprint_hex = Sha256Hex({reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)});
  OPENSSL_free(der);
  facts.subject_common_name = CommonName(certificate.get());
  facts.serial_hex = SerialHex(certificate.get());
  facts.public_key_der = x509::PublicKeyDer(X509_get0_pubkey(certificate.get()));
  facts.not_before = x509::Time(X509_get0_notBefore(certificate.get()));
  facts.not_after = x509::Time(X509_get0_notAfter(certificate.get()));
  return facts;
}

}  // namespace credbroker::crypto
