#include "edge/connection.h"

#include <algorithm>
#include <optional>

#include "base/macros.h"
#include "edge/exchange.h"
#include "edge/identity.h"
#include "edge/tunnel.h"
#include "net/os.h"
#include "wire/client_hello.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using gate::Refusal;
using net::Io;

// One connection: its stream, its door, and the caller once there is one. The coroutines below are its life.
class Connection {
 public:
  Connection(Worker& worker, net::Accepted accepted, Door::Kind kind, std::size_t& unauthenticated)
      : worker_(worker),
        client_(worker.loop, std::move(accepted.fd), std::move(accepted.peer)),
        open_(client_),
        unauthenticated_(unauthenticated) {
    door_.kind = kind;
    door_.gateway_names = &worker.options.gateway_names;
    worker.connections.Add(&open_);
    ++unauthenticated_;
  }
  ~Connection() {
    if (!known_) --unauthenticated_;
  }

  base::Task<void> Serve();
  base::Task<void> ServeSession(std::shared_ptr<SessionSocket> socket);

 private:
  base::Task<void> ServeRequests();
  base::Task<bool> ReadHead(std::size_t* bytes);
  base::Task<bool> ServeConnect(std::size_t head_bytes);
  base::Task<void> Intercept(model::Authority target);
  base::Task<void> Tunnel(const model::Facts& facts, gate::RequestInfo info);
  base::Task<bool> StartTls(std::string host, net::Deadline deadline);
  base::Task<void> StartGatewayTls();
  base::Task<bool> WaitForBytes(net::Deadline deadline);
  base::Task<bool> AnswerConnect(Refusal refusal, wire::Persist persist);
  base::Task<void> RefuseHead(ErrorCode code);
  gate::RequestInfo Info(std::string_view channel) { return {worker_.gate.NewRequestId(), channel, open_.peer_text(), {}}; }
  std::string OwnName() const;
  void Known();
  void EnterBySocket();
  absl::StatusOr<std::shared_ptr<const gate::Caller>> FindCaller();

  Worker& worker_;
  net::Stream client_;
  OpenConnection open_;
  Door door_;
  wire::RequestHead head_;
  std::shared_ptr<const gate::Caller> caller_;  // of the CONNECT
  std::size_t& unauthenticated_;
  bool known_ = false;
  bool first_ = true;
};

void Connection::Known() {
  if (!known_) --unauthenticated_;
  known_ = true;
}

base::Task<bool> Connection::WaitForBytes(net::Deadline deadline) {
  while (client_.buffered().empty()) {
    const Io io = client_.Fill(worker_.options.body_block).io;
    if (io == Io::kOk) break;
    if (io != Io::kAgain) co_return false;
    const Io wait = co_await client_.Readable(deadline);
    if (wait != Io::kOk) co_return false;
  }
  co_return true;
}

// The next request's head. False when the connection ends, after the refusal of a head that cannot be served.
base::Task<bool> Connection::ReadHead(std::size_t* bytes) {
  const wire::HeadLimits limits;
  const net::Deadline idle = worker_.loop.After(first_ ? worker_.options.head_wait : worker_.options.idle_wait);
  first_ = false;
  const bool some = co_await WaitForBytes(idle);
  if (!some) co_return false;
  const net::Deadline deadline = worker_.loop.After(worker_.options.head_wait);  // for the whole head, not for each read
  while (true) {
    const wire::ParseResult parsed = wire::ParseRequestHead(client_.buffered(), limits, &head_);
    if (parsed.complete()) {
      *bytes = parsed.consumed;
      co_return true;
    }
    ErrorCode code = parsed.error;
    if (parsed.need_more()) {
      const Io io = client_.Fill(limits.max_head_bytes + 1024).io;
      if (io == Io::kOk) continue;
      if (io == Io::kAgain) {
        const Io wait = co_await client_.Readable(deadline);
        if (wait == Io::kOk) continue;
        if (wait != Io::kTimeout) co_return false;
        code = ErrorCode::kHeadTimeout;
      } else if (io == Io::kFull) {
        code = ErrorCode::kHeadTooLarge;
      } else {
        co_return false;
      }
    }
    co_await RefuseHead(code);
    co_return false;
  }
}

base::Task<void> Connection::RefuseHead(ErrorCode code) {
  model::Facts facts;
  facts.authority = door_.target;
  const Refusal refusal = worker_.gate.Refuse(caller_.get(), facts, Info(ChannelName(door_.kind)), code);
  std::string answer;
  AppendRefusal(refusal, Audience::kJson, Challenge::kNone, wire::Persist::kClose, false, &answer);
  client_.Write(answer);
  co_await client_.Close(worker_.loop.After(worker_.options.linger_wait));
}

base::Task<void> Connection::Serve() {
  if (door_.kind == Door::Kind::kGateway || door_.socket != nullptr) {
    const bool some = co_await WaitForBytes(worker_.loop.After(worker_.options.head_wait));
    if (!some) co_return;
    if (client_.buffered().front() == 0x16) co_return co_await StartGatewayTls();
  }
  co_await ServeRequests();
}

base::Task<void> Connection::ServeSession(std::shared_ptr<SessionSocket> socket) {
  ++socket->connections;
  door_.socket = socket;
  caller_ = socket->caller;
  Known();
  co_await Serve();
  --socket->connections;
}

// The socket speaks for its session under the broker's newest token. Outside of a tunnel the request's form says which of
// the two doors it wants.
void Connection::EnterBySocket() {
  caller_ = door_.socket->caller;
  if (door_.kind == Door::Kind::kTunnel) return;
  door_.kind = head_.target.starts_with('/') ? Door::Kind::kGateway : Door::Kind::kProxy;
}

base::Task<void> Connection::ServeRequests() {
  std::size_t bytes = 0;
  while (true) {
    const bool ready = co_await ReadHead(&bytes);
    if (!ready) {
      // A client that has only closed its own direction still reads: its last answer may wait in the loop's buffer.
      if (client_.pending() > 0) co_await client_.Close(worker_.loop.After(worker_.options.linger_wait));
      co_return;
    }
    if (door_.socket != nullptr) EnterBySocket();
    if (head_.method == "CONNECT" && door_.kind == Door::Kind::kProxy) {
      const bool again = co_await ServeConnect(bytes);
      if (!again) co_return;
      continue;
    }
    Exchange exchange(worker_, open_, door_, caller_, head_, bytes);
    const bool again = co_await exchange.Serve();
    if (!known_ && open_.known()) Known();
    if (!again) co_return;
    if (client_.pending() > worker_.options.high_water) {
      const Io io = co_await client_.Flush(worker_.loop.After(worker_.options.stream_idle));
      if (io != Io::kOk) co_return;
    }
  }
}

// Who opens the tunnel: the login's token, which at a session's socket may be absent and must otherwise be of its session.
absl::StatusOr<std::shared_ptr<const gate::Caller>> Connection::FindCaller() {
  ASSIGN_OR_RETURN(const std::string token, ProxyToken(head_));
  if (token.empty()) {
    if (door_.socket == nullptr) return base::Error(ErrorCode::kNoToken);
    return door_.socket->caller;
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const gate::Caller> caller, worker_.gate.Identify(token));
  if (door_.socket != nullptr && caller->grant.session != door_.socket->session) return base::Error(ErrorCode::kTokenMismatch);
  return caller;
}

// True when the client may ask again on this connection: after a login that failed.
base::Task<bool> Connection::ServeConnect(std::size_t head_bytes) {
  gate::RequestInfo info = Info("connect");
  auto facts = DescribeConnect(head_, worker_.options.gateway_names);
  model::Facts named = facts.ok() ? *facts : model::Facts{.kind = model::Facts::Kind::kConnect, .method = "CONNECT"};
  const auto found = FindCaller();
  client_.Consume(head_bytes);
  if (!found.ok()) {
    const ErrorCode code = base::CodeOf(found.status());
    // git and others wait for the challenge and ask again here. Bytes sent before our answer are never read (B45).
    const bool ask_again = client_.buffered().empty();
    co_return co_await AnswerConnect(worker_.gate.Refuse(nullptr, named, info, code), ask_again ? wire::Persist::kKeep : wire::Persist::kClose);
  }
  const std::shared_ptr<const gate::Caller> caller = *found;
  if (!facts.ok()) co_return co_await AnswerConnect(worker_.gate.Refuse(caller.get(), named, info, base::CodeOf(facts.status())), wire::Persist::kClose);
  caller_ = caller;
  const auto judged = worker_.gate.Judge(*caller, *facts, info);
  if (const Refusal* refusal = std::get_if<Refusal>(&judged)) co_return co_await AnswerConnect(*refusal, wire::Persist::kClose);
  open_.Belongs(caller, *facts);
  Known();
  if (std::get<model::Allow>(judged)->handling == model::Handling::kTunnel) {
    co_await Tunnel(*facts, std::move(info));
    co_return false;
  }
  co_await Intercept(facts->authority);
  co_return false;
}

base::Task<bool> Connection::AnswerConnect(Refusal refusal, wire::Persist persist) {
  std::string answer;
  AppendRefusal(refusal, Audience::kJson, Challenge::kProxy, persist, false, &answer);
  client_.Write(answer);
  if (persist == wire::Persist::kKeep && IsLoginRefusal(refusal.code)) co_return true;
  co_await client_.Close(worker_.loop.After(worker_.options.linger_wait));
  co_return false;
}

base::Task<bool> Connection::StartTls(std::string host, net::Deadline deadline) {
  auto leaf = co_await worker_.leaves.Get(host, deadline);
  if (!leaf.ok()) co_return false;
  const Io io = co_await client_.StartTlsServer(*leaf, deadline);
  if (io != Io::kOk) co_return false;
  const auto sni = model::ParseHost(client_.server_name());
  const bool agrees = client_.server_name().empty() || (sni.ok() && sni->host == host);
  if (!agrees) co_await RefuseHead(ErrorCode::kSniMismatch);
  co_return agrees;
}

base::Task<void> Connection::Intercept(model::Authority target) {
  door_.kind = Door::Kind::kTunnel;
  door_.target = target;
  // The certificate comes first, so that its failure can still be told.
  if (target.port != 80) {
    const auto leaf = co_await worker_.leaves.Get(target.host, worker_.loop.After(worker_.options.gate_wait));
    if (!leaf.ok()) {
      model::Facts facts{.kind = model::Facts::Kind::kConnect, .authority = target, .method = "CONNECT"};
      co_await AnswerConnect(worker_.gate.Refuse(caller_.get(), facts, Info("connect"), base::CodeOf(leaf.status())), wire::Persist::kClose);
      co_return;
    }
  }
  client_.Write(wire::kEstablishedResponse);
  const net::Deadline deadline = worker_.loop.After(worker_.options.head_wait);
  const bool some = co_await WaitForBytes(deadline);
  if (!some) co_return;
  if (client_.buffered().front() == 0x16) {
    door_.scheme = model::Scheme::kHttps;
    const bool secured = co_await StartTls(target.host, deadline);
    if (!secured) co_return;
  }
  co_await ServeRequests();
}

base::Task<void> Connection::Tunnel(const model::Facts& facts, gate::RequestInfo info) {
  info.channel = "tunnel";
  const net::Deadline deadline = worker_.loop.After(worker_.options.gate_wait);
  gate::Gate::Opening opening = co_await worker_.gate.Open(caller_, facts, std::move(info), absl::Nanoseconds(deadline.nanoseconds()));
  if (Refusal* refusal = std::get_if<Refusal>(&opening)) {
    co_await AnswerConnect(std::move(*refusal), wire::Persist::kClose);
    co_return;
  }
  gate::Passage& passage = std::get<gate::Passage>(opening);
  const gate::Outcome outcome = co_await RunTunnel(worker_, client_, facts, passage);
  worker_.gate.Close(passage, outcome);
}

// A client that dials an address sends no name: the certificate is for the address then.
std::string Connection::OwnName() const {
  const auto& own = worker_.options.gateway_names;
  const std::string address = net::LocalAddressOf(client_.fd());
  return std::find(own.begin(), own.end(), address) == own.end() ? own.front() : address;
}

// The gateway's TLS: the certificate is for the name that the client asks for, its own or a target's.
base::Task<void> Connection::StartGatewayTls() {
  constexpr std::size_t kMaxGreeting = 20 * 1024;
  const net::Deadline deadline = worker_.loop.After(worker_.options.head_wait);
  wire::ClientHello hello;
  while (true) {
    const wire::ParseResult parsed = wire::ParseClientHello(client_.buffered(), &hello);
    if (parsed.failed()) co_return;
    if (parsed.complete()) break;
    const Io io = client_.Fill(kMaxGreeting).io;
    if (io == Io::kOk) continue;
    if (io != Io::kAgain) co_return;
    const Io wait = co_await client_.Readable(deadline);
    if (wait != Io::kOk) co_return;
  }
  const std::string host = hello.sni.value_or(OwnName());
  door_.server_name = hello.sni.value_or("");
  const bool secured = co_await StartTls(host, deadline);
  if (secured) co_await ServeRequests();
}

}  // namespace

base::Task<void> ServeConnection(Worker& worker, net::Accepted accepted, Door::Kind kind, std::size_t& unauthenticated) {
  Connection connection(worker, std::move(accepted), kind, unauthenticated);
  co_await connection.Serve();
}

base::Task<void> ServeSession(Worker& worker, net::Accepted accepted, std::shared_ptr<SessionSocket> socket, std::size_t& unauthenticated) {
  Connection connection(worker, std::move(accepted), Door::Kind::kGateway, unauthenticated);
  co_await connection.ServeSession(std::move(socket));
}

}  // namespace credbroker::edge
