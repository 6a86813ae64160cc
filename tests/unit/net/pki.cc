#include "pki.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

namespace credbroker::net {
namespace {

std::string TakeText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<std::size_t>(size));
  BIO_free(bio);
  return text;
}

void AddExtension(X509* certificate, int nid, const char* value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

void AddNames(X509* certificate, const TestCertificate::Options& options) {
  if (options.dns.empty() && options.ip.empty()) return;
  GENERAL_NAMES* const names = GENERAL_NAMES_new();
  for (const std::string& dns : options.dns) {
    ASN1_IA5STRING* const text = ASN1_IA5STRING_new();
    ASN1_STRING_set(text, dns.data(), static_cast<int>(dns.size()));
    GENERAL_NAME* const name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, GEN_DNS, text);
    sk_GENERAL_NAME_push(names, name);
  }
  for (const std::string& ip : options.ip) {
    GENERAL_NAME* const name = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(name, GEN_IPADD, a2i_IPADDRESS(ip.c_str()));
    sk_GENERAL_NAME_push(names, name);
  }
  X509_add1_ext_i2d(certificate, NID_subject_alt_name, names, 0, X509V3_ADD_DEFAULT);
  GENERAL_NAMES_free(names);
}

}  // namespace

TestCertificate::TestCertificate(const Options& options) : certificate_(X509_new()), key_(EVP_EC_gen("P-256")) {
  X509_set_version(certificate_, X509_VERSION_3);
  unsigned char serial[8];
  RAND_bytes(serial, sizeof serial);
  serial[0] &= 0x7f;
  BIGNUM* const number = BN_bin2bn(serial, sizeof serial, nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate_));
  BN_free(number);
  X509_gmtime_adj(X509_getm_notBefore(certificate_), options.starts_in);
  X509_gmtime_adj(X509_getm_notAfter(certificate_), options.ends_in);
  X509_NAME* const subject = X509_get_subject_name(certificate_);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(options.common_name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate_, key_);
  AddExtension(certificate_, NID_basic_constraints, options.ca ? "critical,CA:TRUE" : "CA:FALSE");
  AddNames(certificate_, options);
  const TestCertificate& issuer = options.issuer != nullptr ? *options.issuer : *this;
  X509_set_issuer_name(certificate_, X509_get_subject_name(issuer.certificate_));
  X509_sign(certificate_, issuer.key_, EVP_sha256());
}

TestCertificate::~TestCertificate() {
  X509_free(certificate_);
  EVP_PKEY_free(key_);
}

std::string TestCertificate::Pem() const {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate_);
  return TakeText(bio);
}

base::Secret TestCertificate::KeyPem() const {
  BIO* const bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key_, nullptr, nullptr, 0, nullptr, nullptr);
  return base::Secret::Take(TakeText(bio));
}

}  // namespace credbroker::net
