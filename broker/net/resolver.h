#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/task.h"
#include "net/deadline.h"
#include "net/ip.h"
#include "net/loop.h"

namespace credbroker::net {

// Names to addresses. The answer is all addresses, in the order in which to try them; the caller judges it as a whole
// and connects to what it judged.
class Resolver {
 public:
  virtual ~Resolver() = default;
  // `host`: a name or an IP literal without brackets, in canonical form. Fails kUpstreamUnresolved, kUpstreamTimeout;
  // never gives an empty list.
  virtual base::Task<absl::StatusOr<std::vector<IpAddress>>> Resolve(std::string host, Deadline deadline) = 0;
};

// The machine's resolver (c-ares: /etc/hosts, then DNS), driven by the loop; one per loop. Answers are kept for their
// TTL but no longer than 30 s, at most 1024 of them; questions for one name that wait at the same time are asked once.
// Follows changes of /etc/resolv.conf.
class SystemResolver final : public Resolver {
 public:
  struct Options {
    std::string servers;     // "127.0.0.1:5353,..." instead of the machine's
    bool hosts_file = true;  // look into /etc/hosts first
  };
  SystemResolver(Loop& loop, Options options);
  explicit SystemResolver(Loop& loop) : SystemResolver(loop, Options()) {}
  ~SystemResolver() override;

  base::Task<absl::StatusOr<std::vector<IpAddress>>> Resolve(std::string host, Deadline deadline) override;
  // Drops the kept answers.
  void Forget();

 private:
  class Channel;
  std::unique_ptr<Channel> channel_;
};

}  // namespace credbroker::net
