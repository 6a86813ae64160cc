#pragma once

#include <openssl/ssl.h>

#include <list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "net/tls.h"

namespace credbroker::net {

// The newest session of each host, for resumption. Private to the room. Thread-safe.
class TlsClientContext::Sessions {
 public:
  static constexpr std::size_t kMaxHosts = 256;

  ~Sessions();
  // Takes over one reference.
  void Put(std::string_view key, SSL_SESSION* session);
  // A reference of the caller's own, or null.
  SSL_SESSION* Get(std::string_view key);

 private:
  struct Entry {
    std::string key;
    SSL_SESSION* session;
  };
  std::mutex mu_;
  std::list<Entry> order_;                                                  // newest first; guarded by mu_
  std::map<std::string, std::list<Entry>::iterator, std::less<>> entries_;  // guarded by mu_
};

// The reasons in OpenSSL's error queue, oldest first, and empties it.
std::string TakeOpensslErrors();

}  // namespace credbroker::net
