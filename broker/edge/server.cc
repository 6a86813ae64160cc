#include "edge/server.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <utility>
#include <vector>

#include "base/macros.h"
#include "base/str.h"
#include "crypto/certificate.h"
#include "edge/broker_link.h"
#include "edge/connection.h"
#include "edge/ledger_key.h"
#include "edge/lease_cache.h"
#include "edge/open_intents.h"
#include "edge/reply.h"
#include "edge/session_sockets.h"
#include "model/authority.h"
#include "net/completion.h"
#include "net/os.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;

constexpr std::string_view kSocketsFolder = "sessions";

// As those who mount a socket into a sandbox see it; we may have no way through the folders above.
std::string AbsoluteFolder(const std::string& folder) {
  if (folder.starts_with('/')) return folder;
  char here[4096];
  const char* const found = getcwd(here, sizeof here);
  if (found == nullptr) return folder;
  return folder == "." ? std::string(found) : base::StrCat(found, "/", folder);
}

// The gate's waits, on this loop.
class LoopLedgerWait final : public gate::LedgerWait {
 public:
  explicit LoopLedgerWait(net::Loop& loop) : loop_(loop) {}
  base::Task<void> Company() override { co_await net::NextBatch(loop_); }
  base::Task<absl::Status> Durable(audit::Ledger& ledger, audit::Position position, absl::Duration deadline) override {
    net::Completion<absl::Status> durable(loop_);
    ledger.WhenDurable(position, [setter = durable.setter()](absl::Status status) { setter.Set(std::move(status)); });
    const std::optional<absl::Status> status = co_await durable.Wait(net::Deadline::At(deadline));
    co_return status.value_or(base::Error(ErrorCode::kLedgerUnavailable, "not durable in time"));
  }

 private:
  net::Loop& loop_;
};

class OneLoopServer final : public Server {
 public:
  OneLoopServer(ServerOptions options, std::unique_ptr<audit::Ledger> ledger, std::shared_ptr<const net::TlsKey> leaf_key,
                std::string leaf_public_key, const base::Clock& clock)
      : options_(std::move(options)),
        clock_(clock),
        ledger_(std::move(ledger)),
        loop_(clock),
        own_(net::LocalAddresses()),
        resolver_(loop_),
        leaf_key_(std::move(leaf_key)),
        leaf_public_key_(std::move(leaf_public_key)) {}

  // Two steps: the link wants to know where we listen, and the rest wants the link.
  absl::Status Open(base::Fd broker_socket) {
    RETURN_IF_ERROR(Listen(options_.proxy, Door::Kind::kProxy, &proxy_), "proxy listener");
    RETURN_IF_ERROR(Listen(options_.gateway, Door::Kind::kGateway, &gateway_), "gateway listener");
    for (const uint16_t port : options_.own_ports) own_.AddPort(port);
    BrokerLink::Options link;
    link.edge = options_.edge;
    link.version = options_.version;
    link.proxy_url = "http://" + proxy_->endpoint().Text();
    link.gateway_url = "http://" + gateway_->endpoint().Text();
    link.listeners = {"proxy " + link.proxy_url, "gateway " + link.gateway_url};
    if (options_.session_sockets) link.sockets_folder = base::StrCat(AbsoluteFolder(options_.data_dir), "/", kSocketsFolder);
    link_ = BrokerLink::OverSocket(std::move(broker_socket), std::move(link), board_, *ledger_, clock_);
    leases_.emplace(loop_, *link_, clock_);
    leaves_.emplace(loop_, *link_, clock_, leaf_key_, leaf_public_key_);
    upstreams_.emplace(loop_, resolver_, own_, options_.limits);
    gate_.emplace(board_, *ledger_, *leases_, ledger_wait_, clock_, gate::GateOptions());
    sockets_.emplace(loop_, *gate_, base::StrCat(options_.data_dir, "/", kSocketsFolder),
                     [this](net::Accepted accepted, std::shared_ptr<SessionSocket> socket) { AcceptAt(std::move(accepted), std::move(socket)); });
    worker_.emplace(Worker{loop_, *gate_, *upstreams_, *leaves_, connections_, nodes_, options_.limits, lfs_links_});
    return absl::OkStatus();
  }

  bool Run() override {
    link_->Start({.on_change = [this](std::function<void()> done) { Sweep(std::move(done)); },
                  .on_lease_drop = [this](std::string credential) { loop_.Post([this, credential] { leases_->Drop(credential); }); },
                  .on_socket = [this](std::string session, std::string token) {
                    loop_.Post([this, session = std::move(session), token = std::move(token)] { OfferSocket(session, token); });
                  },
                  .take_uses = [this] { return TakeUses(); },
                  .on_lost = [this] {
                    lost_ = true;
                    loop_.Stop();
                  }});
    loop_.Run();
    link_->Stop();
    ledger_->Close().IgnoreError();  // the log tells; what is on the disk stays good
    return !lost_;
  }

  void Stop(absl::Duration drain) override {
    loop_.Post([this, drain] {
      proxy_.reset();
      gateway_.reset();
      sockets_.reset();
      loop_.Spawn(DrainThenStop(loop_.After(drain)));
    });
  }

 private:
  absl::Status Listen(const std::string& address, Door::Kind kind, std::unique_ptr<net::Listener>* listener) {
    ASSIGN_OR_RETURN(const model::Authority where, ParseListen(address));
    ASSIGN_OR_RETURN(*listener, net::Listener::Tcp(loop_, where.host, where.port, net::Listener::Sharing::kAlone,
                                                   [this, kind](net::Accepted accepted) { Accept(std::move(accepted), kind); }));
    own_.AddPort((*listener)->port());
    return absl::OkStatus();
  }

  // `127.0.0.1:0` is fine for a listener, though no target has port 0.
  static absl::StatusOr<model::Authority> ParseListen(const std::string& text) {
    const bool any_port = text.ends_with(":0");
    auto parsed = model::ParseAuthority(any_port ? text.substr(0, text.size() - 2) : text, any_port ? std::optional<uint16_t>(1) : std::nullopt);
    if (!parsed.ok() || !parsed->is_ip) return base::Error(ErrorCode::kConfigInvalid, base::StrCat("\"", text, "\": write ADDRESS:PORT"));
    if (any_port) parsed->port = 0;
    return parsed;
  }

  void Accept(net::Accepted accepted, Door::Kind kind) {
    // Strangers have a pool of their own, so that they cannot keep sandboxes out (B109).
    const std::size_t strangers = unauthenticated_ + early_.size();
    if (loop_.task_count() >= options_.limits.max_connections) return TurnAway(accepted);
    // The oldest gives way: the newest may be a sandbox that is about to log in.
    if (strangers >= options_.limits.max_unauthenticated && !connections_.AbortOldestStranger()) return TurnAway(accepted);
    if (!told_) {
      early_.emplace_back(std::move(accepted), kind);
      return;
    }
    loop_.Spawn(ServeConnection(*worker_, std::move(accepted), kind, unauthenticated_));
  }

  void AcceptAt(net::Accepted accepted, std::shared_ptr<SessionSocket> socket) {
    const bool full = loop_.task_count() >= options_.limits.max_connections || socket->connections >= SessionSockets::kMaxConnections;
    if (full) return TurnAway(accepted);
    loop_.Spawn(ServeSession(*worker_, std::move(accepted), std::move(socket), unauthenticated_));
  }

  void OfferSocket(const std::string& session, const std::string& token) {
    if (!sockets_ || !options_.session_sockets) return;  // draining, or not asked for
    const absl::Status offered = sockets_->Offer(session, token);
    if (!offered.ok() && options_.on_socket_fault) options_.on_socket_fault(session, offered);
  }

  // 503 without a task and without a record (a flood must not fill the ledger): one send and the end. A client that has begun TLS could not read it.
  void TurnAway(const net::Accepted& accepted) {
    ++turned_away_;
    if (const absl::Duration now = clock_.Monotonic(); now - told_of_overload_ >= absl::Minutes(1)) {
      if (options_.on_overload) options_.on_overload(turned_away_);
      told_of_overload_ = now;
    }
    constexpr char kTlsHandshake = 22;
    char head[4096];  // read, or the close would take the answer back
    const ssize_t got = recv(accepted.fd.get(), head, sizeof head, MSG_DONTWAIT);
    if (got > 0 && head[0] == kTlsHandshake) return;
    std::string answer;
    AppendRefusal({ErrorCode::kOverloaded, "edge/overloaded", gate_->NewRequestId(), {}}, Audience::kJson, Challenge::kNone, wire::Persist::kClose, false, &answer);
    send(accepted.fd.get(), answer.data(), answer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);  // into an empty buffer: all or nothing
  }

  void Sweep(std::function<void()> done) {
    loop_.Post([this, done = std::move(done)] {
      connections_.Sweep(*gate_);
      if (sockets_) sockets_->Sweep();
      done();
      ServeEarly();
    });
  }

  // The first whole state is there. Before, every token would have been refused as bad by an edge that just started.
  void ServeEarly() {
    told_ = true;
    for (auto& [accepted, kind] : std::exchange(early_, {})) {
      loop_.Spawn(ServeConnection(*worker_, std::move(accepted), kind, unauthenticated_));
    }
  }

  // Called on the link's thread; the gate belongs to the loop.
  gate::Gate::Uses TakeUses() {
    const auto uses = std::make_shared<std::promise<gate::Gate::Uses>>();
    std::future<gate::Gate::Uses> future = uses->get_future();
    loop_.Post([this, uses] { uses->set_value(gate_->TakeUses()); });
    if (future.wait_for(std::chrono::seconds(1)) != std::future_status::ready) return {};
    return future.get();
  }

  base::Task<void> DrainThenStop(net::Deadline deadline) {
    while (loop_.task_count() > 1 && loop_.After(absl::ZeroDuration()) < deadline) {
      co_await net::Delay(loop_, absl::Milliseconds(100));
    }
    connections_.AbortAll();
    loop_.Stop();
  }

  const ServerOptions options_;
  const base::Clock& clock_;
  std::unique_ptr<audit::Ledger> ledger_;
  gate::StateBoard board_;
  std::unique_ptr<BrokerLink> link_;
  std::optional<LeaseCache> leases_;
  std::optional<LeafSource> leaves_;
  std::optional<gate::Gate> gate_;
  Connections connections_;
  const LfsLinks lfs_links_;
  std::size_t unauthenticated_ = 0;
  uint64_t turned_away_ = 0;
  absl::Duration told_of_overload_ = -absl::InfiniteDuration();
  bool told_ = false;  // has the broker told its state?
  std::vector<std::pair<net::Accepted, Door::Kind>> early_;  // accepted before it has
  NodeIds nodes_;
  std::optional<Worker> worker_;
  net::Loop loop_;  // below what its tasks use: its end destroys them first
  net::OwnListeners own_;
  net::SystemResolver resolver_;
  LoopLedgerWait ledger_wait_{loop_};
  std::optional<Upstreams> upstreams_;
  std::unique_ptr<net::Listener> proxy_, gateway_;
  std::optional<SessionSockets> sockets_;
  std::shared_ptr<const net::TlsKey> leaf_key_;
  std::string leaf_public_key_;
  std::atomic<bool> lost_{false};
};

}  // namespace

absl::StatusOr<std::unique_ptr<Server>> Server::Create(ServerOptions options, base::Fd broker_socket, const base::Clock& clock) {
  ASSIGN_OR_RETURN(crypto::SigningKey ledger_key, LoadOrMakeLedgerKey(options.data_dir));
  audit::LedgerOptions ledger_options;
  ledger_options.name = options.edge;
  ledger_options.durability = options.durability;
  ledger_options.leaf_tiles = audit::LeafTiles::kNewest;
  ASSIGN_OR_RETURN(std::unique_ptr<audit::Ledger> ledger,
                   audit::Ledger::Open(options.data_dir + "/ledger", "credbroker/" + options.edge, std::move(ledger_key), ledger_options, clock),
                   "opening the ledger");
  RETURN_IF_ERROR(CloseOpenIntents(*ledger, clock));
  ASSIGN_OR_RETURN(const crypto::KeyPair leaf, crypto::GenerateP256Key());
  ASSIGN_OR_RETURN(std::shared_ptr<const net::TlsKey> leaf_key, net::TlsKey::Load(leaf.private_key_pem));
  options.limits.spool_folder = options.data_dir + "/spool";
  RETURN_IF_ERROR(base::MakeFolder(options.limits.spool_folder, 0700));
  auto server = std::make_unique<OneLoopServer>(std::move(options), std::move(ledger), std::move(leaf_key), leaf.public_key_der, clock);
  RETURN_IF_ERROR(server->Open(std::move(broker_socket)));
  return server;
}

}  // namespace credbroker::edge
