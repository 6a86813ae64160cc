#include "crypto/object_hash.h"

#include <openssl/evp.h>

#include <array>
#include <cstdlib>

namespace credbroker::crypto {

ObjectHash::ObjectHash(ObjectFormat format) : context_(EVP_MD_CTX_new()) {
  const EVP_MD* algorithm = format == ObjectFormat::kSha1 ? EVP_sha1() : EVP_sha256();
  if (context_ == nullptr || EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_), algorithm, nullptr) != 1) std::abort();
}

ObjectHash::~ObjectHash() { EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context_)); }

void ObjectHash::Add(std::string_view bytes) { EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_), bytes.data(), bytes.size()); }

std::string ObjectHash::Take() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out;
  unsigned size = 0;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_), out.data(), &size);
  return std::string(reinterpret_cast<const char*>(out.data()), size);
}

}  // namespace credbroker::crypto
