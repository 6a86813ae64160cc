#include "edge/tunnel.h"

#include "base/macros.h"
#include "wire/client_hello.h"
#include "wire/http_writer.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using net::Io;

// Waits for the greeting and compares its name. Its bytes stay buffered.
base::Task<ErrorCode> CheckGreeting(Worker& worker, net::Stream& client, const std::string& host) {
  constexpr std::size_t kMaxGreeting = 20 * 1024;
  const net::Deadline deadline = worker.loop.After(worker.options.head_wait);
  wire::ClientHello hello;
  while (true) {
    const wire::ParseResult parsed = wire::ParseClientHello(client.buffered(), &hello);
    if (parsed.failed()) co_return parsed.error;
    if (parsed.complete()) break;
    const Io io = client.Fill(kMaxGreeting).io;
    if (io == Io::kOk) continue;
    if (io != Io::kAgain) co_return ErrorCode::kMalformedTls;
    const Io wait = co_await client.Readable(deadline);
    if (wait != Io::kOk) co_return ErrorCode::kMalformedTls;
  }
  // No name, or one under which another may hide: the exception names a host, so the greeting must too.
  if (!hello.sni || hello.has_ech || *hello.sni != host) co_return ErrorCode::kSniMismatch;
  co_return ErrorCode::kNone;
}

// Moves what is there from one side to the other. False at the end of `from`.
bool Pump(net::Stream& from, net::Stream& to, const EdgeOptions& options, int64_t* count) {
  if (to.pending() > options.high_water) return true;
  while (true) {
    if (!from.buffered().empty()) {
      *count += static_cast<int64_t>(from.buffered().size());
      to.Write(from.buffered());
      from.Consume(from.buffered().size());
    }
    const Io io = from.Fill(options.body_block).io;
    if (io == Io::kAgain) return true;
    if (io != Io::kOk) return false;
    if (to.pending() > options.high_water) return true;
  }
}

unsigned Interest(const net::Stream& self, const net::Stream& other, bool open, const EdgeOptions& options) {
  unsigned interest = self.pending() > options.high_water ? net::kDrained : 0u;
  if (open && other.pending() <= options.high_water) interest |= net::kReadable;
  return interest;
}

base::Task<ErrorCode> PumpBoth(Worker& worker, net::Stream& client, net::Stream& upstream, gate::Outcome* outcome) {
  bool up_open = true, down_open = true;
  while (up_open || down_open) {
    if (up_open && !Pump(client, upstream, worker.options, &outcome->bytes_up)) {
      up_open = false;
      upstream.FinishWrites();
    }
    if (down_open && !Pump(upstream, client, worker.options, &outcome->bytes_down)) {
      down_open = false;
      client.FinishWrites();
    }
    if (!up_open && !down_open) break;
    const net::EitherReady ready =
        co_await net::WaitEither(client, Interest(client, upstream, up_open, worker.options), upstream,
                                 Interest(upstream, client, down_open, worker.options), worker.loop.After(worker.options.stream_idle));
    if (ready.io == Io::kTimeout) co_return ErrorCode::kUpstreamTimeout;
    if (ready.io != Io::kOk) co_return ErrorCode::kTokenRevoked;  // aborted by the sweep, or broken while it drained
  }
  co_return ErrorCode::kNone;
}

}  // namespace

base::Task<gate::Outcome> RunTunnel(Worker& worker, net::Stream& client, const model::Facts& facts, const gate::Passage& passage) {
  gate::Outcome outcome;
  outcome.result = gate::Outcome::Result::kFailed;
  outcome.status = 200;
  client.Write(wire::kEstablishedResponse);
  // The greeting is judged before the upstream sees so much as a connection.
  outcome.code = co_await CheckGreeting(worker, client, facts.authority.host);
  if (outcome.code != ErrorCode::kNone) co_return outcome;
  auto upstream = co_await worker.upstreams.ConnectRaw(passage.allow(), facts.authority);
  outcome.code = base::CodeOf(upstream.status());
  if (!upstream.ok()) co_return outcome;
  outcome.code = co_await PumpBoth(worker, client, **upstream, &outcome);
  if (outcome.code == ErrorCode::kNone) outcome.result = gate::Outcome::Result::kDone;
  co_return outcome;
}

}  // namespace credbroker::edge
