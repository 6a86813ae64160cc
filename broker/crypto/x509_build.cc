#include "crypto/x509_build.h"

#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <ctime>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"

namespace credbroker::crypto::x509 {
namespace {

// 127 bits: never negative, never longer than RFC 5280's 20 bytes, never repeated.
bool SetRandomSerial(X509* certificate) {
  const std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_new(), &BN_free);
  return number != nullptr && BN_rand(number.get(), 127, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetCommonName(X509* certificate, const std::string& common_name) {
  if (common_name.empty()) return true;
  return X509_NAME_add_entry_by_NID(X509_get_subject_name(certificate), NID_commonName, MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1;
}

bool SetTimes(X509* certificate, const Request& request) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), absl::ToTimeT(request.not_before)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), absl::ToTimeT(request.not_after)) != nullptr;
}

absl::Status AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()), &X509_EXTENSION_free);
  if (extension == nullptr || X509_add_ext(certificate, extension.get(), -1) != 1) return Fault(OBJ_nid2sn(nid));
  return absl::OkStatus();
}

absl::StatusOr<Certificate> Start(const Request& request, EVP_PKEY* public_key) {
  Certificate certificate(X509_new());
  const bool done = certificate != nullptr && X509_set_version(certificate.get(), X509_VERSION_3) == 1 &&
                    SetRandomSerial(certificate.get()) && SetCommonName(certificate.get(), request.common_name) &&
                    SetTimes(certificate.get(), request) && X509_set_pubkey(certificate.get(), public_key) == 1;
  if (!done) return Fault("building a certificate");
  return certificate;
}

absl::StatusOr<Certificate> Sign(Certificate certificate, const X509* issuer, EVP_PKEY* signer) {
  if (X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer)) != 1) return Fault("issuer");
  if (X509_sign(certificate.get(), signer, EVP_sha256()) == 0) return Fault("signing a certificate");
  return certificate;
}

std::string AlternativeNames(const Request& request) {
  std::string list = request.common_name.empty() ? "critical" : "";
  for (const std::string& name : request.names) base::StrAppend(&list, list.empty() ? "" : ",", name);
  return list;
}

std::string Drain(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

Bio Source(std::string_view text) { return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

}  // namespace

absl::StatusOr<Certificate> BuildCa(const Request& request, EVP_PKEY* signer) {
  ASSIGN_OR_RETURN(Certificate certificate, Start(request, signer));
  X509* const self = certificate.get();
  RETURN_IF_ERROR(AddExtension(self, self, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  RETURN_IF_ERROR(AddExtension(self, self, NID_key_usage, "critical,keyCertSign,cRLSign"));
  RETURN_IF_ERROR(AddExtension(self, self, NID_subject_key_identifier, "hash"));
  return Sign(std::move(certificate), self, signer);
}

absl::StatusOr<Certificate> BuildLeaf(const Request& request, EVP_PKEY* public_key, X509* issuer, EVP_PKEY* signer) {
  ASSIGN_OR_RETURN(Certificate certificate, Start(request, public_key));
  X509* const leaf = certificate.get();
  const char* purpose = request.usage == Usage::kServer ? "serverAuth" : "clientAuth";
  RETURN_IF_ERROR(AddExtension(leaf, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  RETURN_IF_ERROR(AddExtension(leaf, issuer, NID_key_usage, "critical,digitalSignature"));
  RETURN_IF_ERROR(AddExtension(leaf, issuer, NID_ext_key_usage, purpose));
  RETURN_IF_ERROR(AddExtension(leaf, issuer, NID_subject_key_identifier, "hash"));
  RETURN_IF_ERROR(AddExtension(leaf, issuer, NID_authority_key_identifier, "keyid:always"));
  RETURN_IF_ERROR(AddExtension(leaf, issuer, NID_subject_alt_name, AlternativeNames(request)));
  return Sign(std::move(certificate), issuer, signer);
}

Certificate ParseCertificate(std::string_view pem) {
  const Bio bio = Source(pem);
  Certificate certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  return certificate;
}

Key ParsePrivateKey(std::string_view pem) {
  const Bio bio = Source(pem);
  // A callback that gives no passphrase: the default one would ask on the terminal.
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  Key key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  return key;
}

Key ParsePublicKey(std::string_view der) {
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const auto* const end = at + der.size();
  Key key(d2i_PUBKEY(nullptr, &at, static_cast<long>(der.size())));
  ERR_clear_error();
  return at == end ? std::move(key) : nullptr;
}

std::string CertificatePem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  return PEM_write_bio_X509(bio.get(), certificate) == 1 ? Drain(bio.get()) : std::string();
}

std::string PrivateKeyPem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_secmem()));
  const int done = PEM_write_bio_PKCS8PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return done == 1 ? Drain(bio.get()) : std::string();
}

std::string PublicKeyDer(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int size = i2d_PUBKEY(key, &der);
  if (size <= 0) return {};
  std::string out(reinterpret_cast<char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return out;
}

bool IsP256(const EVP_PKEY* key) {
  char group[32] = {};
  return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, group, sizeof group, nullptr) == 1 &&
         std::string_view(group) == SN_X9_62_prime256v1;
}

absl::Time Time(const ASN1_TIME* time) {
  std::tm parts = {};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTM(parts, absl::UTCTimeZone());
}

absl::Status Fault(std::string_view step) {
  char text[160] = "no reason given";
  if (const unsigned long error = ERR_get_error(); error != 0) ERR_error_string_n(error, text, sizeof text);
  ERR_clear_error();
  return base::Error(base::ErrorCode::kInternal, base::StrCat("OpenSSL, ", step, ": ", text));
}

}  // namespace credbroker::crypto::x509
