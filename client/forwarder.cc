#include "client/forwarder.h"

#include <thread>
#include <utility>

#include "base/clock.h"
#include "base/macros.h"
#include "base/str.h"
#include "model/authority.h"
#include "net/dial.h"
#include "net/ip.h"
#include "net/listener.h"
#include "net/loop.h"
#include "net/os.h"
#include "net/stream.h"
#include "net/stream_wait.h"

namespace credbroker::client {
namespace {

using base::ErrorCode;
using net::Io;

constexpr std::size_t kBlock = 64 * 1024;      // bytes read at a time
constexpr std::size_t kHighWater = 256 * 1024;  // unsent bytes at which a side is not read any more
constexpr absl::Duration kDialWait = absl::Seconds(10);
constexpr absl::Duration kIdleWait = absl::Hours(1);  // the edge's own limits are shorter and say why

// Moves what is there. False at the end of `from`.
bool Move(net::Stream& from, net::Stream& to) {
  while (to.pending() <= kHighWater) {
    if (!from.buffered().empty()) {
      to.Write(from.buffered());
      from.Consume(from.buffered().size());
    }
    const Io io = from.Fill(kBlock).io;
    if (io == Io::kAgain) return true;
    if (io != Io::kOk) return false;
  }
  return true;
}

unsigned Interest(const net::Stream& self, const net::Stream& other, bool open) {
  unsigned interest = self.pending() > kHighWater ? net::kDrained : 0u;
  if (open && other.pending() <= kHighWater) interest |= net::kReadable;
  return interest;
}

class LoopForwarder final : public Forwarder {
 public:
  LoopForwarder() : loop_(base::SystemClock()) {}
  ~LoopForwarder() override {
    loop_.Post([this] {
      listener_.reset();
      loop_.Stop();
    });
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Open(const model::Authority& where, const std::string& socket) {
    socket_ = socket;
    ASSIGN_OR_RETURN(listener_, net::Listener::Tcp(loop_, where.host, where.port, net::Listener::Sharing::kAlone,
                                                   [this](net::Accepted accepted) { Accept(std::move(accepted)); }));
    address_ = listener_->endpoint().Text();
    thread_ = std::thread([this] { loop_.Run(); });
    return absl::OkStatus();
  }

  const std::string& address() const override { return address_; }

 private:
  void Accept(net::Accepted accepted) {
    if (loop_.task_count() < kMaxConnections) loop_.Spawn(Carry(std::move(accepted)));
  }

  base::Task<void> Carry(net::Accepted accepted) {
    net::Stream near(loop_, std::move(accepted.fd), std::move(accepted.peer));
    auto dialled = co_await net::DialUnix(loop_, socket_, loop_.After(kDialWait));
    if (!dialled.ok()) co_return;
    net::Stream& far = **dialled;
    bool up = true, down = true;
    while (up || down) {
      if (up && !Move(near, far)) {
        up = false;
        far.FinishWrites();
      }
      if (down && !Move(far, near)) {
        down = false;
        near.FinishWrites();
      }
      if (!up && !down) break;
      const net::EitherReady ready =
          co_await net::WaitEither(near, Interest(near, far, up), far, Interest(far, near, down), loop_.After(kIdleWait));
      if (ready.io != Io::kOk) co_return;
    }
    co_await near.Close(loop_.After(kDialWait));
  }

  net::Loop loop_;
  std::string socket_, address_;
  std::unique_ptr<net::Listener> listener_;
  std::thread thread_;
};

absl::StatusOr<model::Authority> ParseListen(const std::string& text) {
  const bool any_port = text.ends_with(":0");
  auto parsed = model::ParseAuthority(any_port ? text.substr(0, text.size() - 2) : text, any_port ? std::optional<uint16_t>(1) : std::nullopt);
  const bool loopback = parsed.ok() && parsed->is_ip && (parsed->host.starts_with("127.") || parsed->host == "::1");
  if (!loopback) return base::Error(ErrorCode::kBadArgument, "--listen wants a loopback ADDRESS:PORT: whoever reaches it acts as the session");
  if (any_port) parsed->port = 0;
  return parsed;
}

// Tells a wrong path at once, not at each request.
absl::Status CheckServed(const std::string& socket) {
  net::Loop loop(base::SystemClock());
  absl::Status status;
  const auto dial = [](net::Loop& on, std::string path, absl::Status* out) -> base::Task<void> {
    const auto dialled = co_await net::DialUnix(on, std::move(path), on.After(kDialWait));
    *out = dialled.status();
    on.Stop();
  };
  loop.Spawn(dial(loop, socket, &status));
  loop.Run();
  return base::WithContext(status, base::StrCat("the socket ", socket));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Forwarder>> Forwarder::Start(const std::string& listen, const std::string& socket) {
  ASSIGN_OR_RETURN(const model::Authority where, ParseListen(listen));
  RETURN_IF_ERROR(CheckServed(socket));
  net::IgnoreSigpipe();
  auto forwarder = std::make_unique<LoopForwarder>();
  RETURN_IF_ERROR(forwarder->Open(where, socket));
  return forwarder;
}

}  // namespace credbroker::client
