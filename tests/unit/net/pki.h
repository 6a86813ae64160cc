#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/secret.h"

struct x509_st;
struct evp_pkey_st;

namespace credbroker::net {

// Certificates for tests, minted with OpenSSL directly so that they do not depend on the product's own minting.
class TestCertificate {
 public:
  struct Options {
    std::string common_name = "test";
    std::vector<std::string> dns;  // may hold NUL bytes
    std::vector<std::string> ip;
    long starts_in = -3600;  // seconds from now
    long ends_in = 3600;
    bool ca = false;
    const TestCertificate* issuer = nullptr;  // null: self-signed
  };
  explicit TestCertificate(const Options& options);
  ~TestCertificate();
  TestCertificate(const TestCertificate&) = delete;
  TestCertificate& operator=(const TestCertificate&) = delete;

  std::string Pem() const;
  base::Secret KeyPem() const;

 private:
  x509_st* certificate_;
  evp_pkey_st* key_;
};

}  // namespace credbroker::net
