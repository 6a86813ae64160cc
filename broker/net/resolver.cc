#include "net/resolver.h"

#include <ares.h>
#include <sys/stat.h>

#include <algorithm>
#include <list>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/str.h"
#include "net/completion.h"
#include "net/socket_address.h"

namespace credbroker::net {
namespace {

constexpr int kQueryTimeoutMs = 2000;
constexpr int kTries = 3;
constexpr absl::Duration kMaxTtl = absl::Seconds(30);
constexpr std::size_t kMaxCached = 1024;
constexpr std::size_t kMaxAddresses = 64;

using Addresses = std::vector<IpAddress>;
using Answer = absl::StatusOr<Addresses>;

// When the file was changed; 0 when there is none.
int64_t ResolvConfStamp() {
  struct stat info;
  if (stat("/etc/resolv.conf", &info) != 0) return 0;
  return info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec;
}

}  // namespace

// The c-ares channel on the loop. Its callbacks only fill completions and change registrations.
class SystemResolver::Channel {
 public:
  Channel(Loop& loop, Options options)
      : loop_(loop),
        options_(std::move(options)),
        timer_(loop, [this] { Process(ARES_SOCKET_BAD, ARES_SOCKET_BAD); }) {}
  ~Channel() { Close(); }

  Loop& loop() { return loop_; }

  const Addresses* Cached(const std::string& host) {
    const auto found = cache_.find(host);
    if (found == cache_.end()) return nullptr;
    if (found->second.until > loop_.Now()) return &found->second.addresses;
    cache_.erase(found);
    return nullptr;
  }

  // Adds a waiter for `host`, and asks unless that is under way.
  void Ask(const std::string& host, Completion<Answer>::Setter setter) {
    auto& waiters = asked_[host];
    waiters.push_back(std::move(setter));
    if (waiters.size() > 1) return;
    if (!Open()) {
      Give(host, base::Error(base::ErrorCode::kUpstreamUnresolved, "the resolver does not start"));
      return;
    }
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    ares_getaddrinfo(channel_, host.c_str(), nullptr, &hints, OnAnswer, new Query{this, host});
    ArmTimer();
  }

  void Forget() { cache_.clear(); }

 private:
  struct Query {
    Channel* channel;
    std::string host;
  };
  struct Cache {
    Addresses addresses;
    absl::Duration until;
  };
  struct Socket final : EventHandler {
    Socket(Channel* of, int descriptor) : channel(of), fd(descriptor) {}
    void OnEvents(uint32_t) override { channel->Process(fd, fd); }  // may destroy this
    Channel* const channel;
    const int fd;
  };

  bool Open() {
    const int64_t stamp = ResolvConfStamp();
    if (channel_ != nullptr && (stamp == stamp_ || asked_.size() > 1)) return true;
    Close();
    stamp_ = stamp;
    ares_options settings{};
    char files_then_dns[] = "fb", dns[] = "b";
    settings.timeout = kQueryTimeoutMs;
    settings.tries = kTries;
    settings.flags = ARES_FLAG_NOSEARCH;  // a name is that name: no search domain may take it over
    settings.lookups = options_.hosts_file ? files_then_dns : dns;
    settings.sock_state_cb = OnSocketState;
    settings.sock_state_cb_data = this;
    const int mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_FLAGS | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB;
    if (ares_init_options(&channel_, &settings, mask) != ARES_SUCCESS) {
      channel_ = nullptr;
      return false;
    }
    if (options_.servers.empty()) return true;
    if (ares_set_servers_ports_csv(channel_, options_.servers.c_str()) == ARES_SUCCESS) return true;
    Close();  // never ask other servers than those that were named
    return false;
  }

  void Close() {
    if (channel_ == nullptr) return;
    ares_destroy(channel_);  // ends what is under way with an error
    channel_ = nullptr;
    for (const auto& [fd, socket] : sockets_) loop_.Unregister(fd, socket.get());
    sockets_.clear();
    timer_.Disarm();
  }

  void Process(ares_socket_t readable, ares_socket_t writable) {
    ares_process_fd(channel_, readable, writable);
    ArmTimer();
  }

  void ArmTimer() {
    timeval wait;
    if (channel_ == nullptr || ares_timeout(channel_, nullptr, &wait) == nullptr) {
      timer_.Disarm();
      return;
    }
    timer_.Arm(loop_.After(absl::DurationFromTimeval(wait)));
  }

  static void OnSocketState(void* data, ares_socket_t fd, int readable, int writable) {
    auto* const self = static_cast<Channel*>(data);
    const auto found = self->sockets_.find(fd);
    if (readable == 0 && writable == 0) {
      if (found == self->sockets_.end()) return;
      self->loop_.Unregister(fd, found->second.get());
      self->sockets_.erase(found);
      return;
    }
    const auto trigger = readable == 0   ? Loop::Trigger::kLevelWrite
                         : writable == 0 ? Loop::Trigger::kLevelRead
                                         : Loop::Trigger::kLevelBoth;
    if (found != self->sockets_.end()) {
      self->loop_.Modify(fd, found->second.get(), trigger);
      return;
    }
    auto socket = std::make_unique<Socket>(self, fd);
    self->loop_.Register(fd, socket.get(), trigger);
    self->sockets_.emplace(fd, std::move(socket));
  }

  static void OnAnswer(void* data, int status, int, ares_addrinfo* info) {
    const std::unique_ptr<Query> query(static_cast<Query*>(data));
    Channel* const self = query->channel;
    if (status != ARES_SUCCESS || info == nullptr) {
      ares_freeaddrinfo(info);
      self->Give(query->host, base::Error(base::ErrorCode::kUpstreamUnresolved, ares_strerror(status)));
      return;
    }
    Addresses addresses;
    absl::Duration ttl = kMaxTtl;
    for (const ares_addrinfo_node* node = info->nodes; node != nullptr; node = node->ai_next) {
      if (node->ai_family != AF_INET && node->ai_family != AF_INET6) continue;
      const IpAddress address = FromSockaddr(node->ai_addr).address;
      if (std::find(addresses.begin(), addresses.end(), address) == addresses.end()) addresses.push_back(address);
      ttl = std::min(ttl, absl::Seconds(std::max(node->ai_ttl, 0)));
    }
    ares_freeaddrinfo(info);
    if (addresses.empty() || addresses.size() > kMaxAddresses) {
      self->Give(query->host, base::Error(base::ErrorCode::kUpstreamUnresolved, "no usable address list"));
      return;
    }
    self->Keep(query->host, addresses, ttl);
    self->Give(query->host, std::move(addresses));
  }

  void Keep(const std::string& host, const Addresses& addresses, absl::Duration ttl) {
    if (ttl <= absl::ZeroDuration()) return;
    if (cache_.size() >= kMaxCached) {
      std::erase_if(cache_, [&](const auto& entry) { return entry.second.until <= loop_.Now(); });
      if (cache_.size() >= kMaxCached) cache_.erase(cache_.begin());
    }
    cache_[host] = {addresses, loop_.Now() + ttl};
  }

  void Give(const std::string& host, const Answer& answer) {
    const auto found = asked_.find(host);
    if (found == asked_.end()) return;
    const auto waiters = std::move(found->second);
    asked_.erase(found);
    for (const auto& waiter : waiters) waiter.Set(answer);
  }

  Loop& loop_;
  const Options options_;
  ares_channel channel_ = nullptr;
  int64_t stamp_ = 0;
  Timer timer_;
  std::map<int, std::unique_ptr<Socket>> sockets_;
  std::map<std::string, std::vector<Completion<Answer>::Setter>, std::less<>> asked_;
  std::map<std::string, Cache, std::less<>> cache_;
};

SystemResolver::SystemResolver(Loop& loop, Options options)
    : channel_(std::make_unique<Channel>(loop, std::move(options))) {}

SystemResolver::~SystemResolver() = default;

base::Task<Answer> SystemResolver::Resolve(std::string host, Deadline deadline) {
  const auto literal = IpAddress::Parse(host);
  if (literal.ok()) co_return Addresses{*literal};
  // c-ares takes C strings; a name with a NUL would become another one.
  if (host.empty() || host.size() > 253 || host.find('\0') != std::string::npos) {
    co_return base::Error(base::ErrorCode::kUpstreamUnresolved, "not a host name");
  }
  if (const Addresses* cached = channel_->Cached(host); cached != nullptr) co_return *cached;
  Completion<Answer> done(channel_->loop());
  channel_->Ask(host, done.setter());
  std::optional<Answer> answer = co_await done.Wait(deadline);
  if (!answer) co_return base::Error(base::ErrorCode::kUpstreamTimeout, "the name server does not answer");
  co_return *std::move(answer);
}

void SystemResolver::Forget() { channel_->Forget(); }

}  // namespace credbroker::net
