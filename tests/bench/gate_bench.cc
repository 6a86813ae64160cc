#include <benchmark/benchmark.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/clock.h"
#include "base/secret.h"
#include "bench/scene.h"
#include "edge/describe.h"
#include "edge/heads.h"
#include "gate/gate.h"
#include "rewrite/scrub.h"
#include "wire/http_head.h"

namespace credbroker::bench {
namespace {

constexpr int kRequestsPerFlush = 4096;  // as in ledger_bench.cc

constexpr std::string_view kRequest =
    "POST /acme/web.git/git-upload-pack HTTP/1.1\r\n"
    "Host: git.corp.example\r\n"
    "User-Agent: git/2.39.5\r\n"
    "Accept-Encoding: deflate, gzip, br, zstd\r\n"
    "Content-Type: application/x-git-upload-pack-request\r\n"
    "Accept: application/x-git-upload-pack-result\r\n"
    "Git-Protocol: version=2\r\n"
    "Content-Length: 412\r\n\r\n";

constexpr std::string_view kResponse =
    "HTTP/1.1 200 OK\r\n"
    "Server: upstream\r\n"
    "Date: Thu, 01 Jan 2026 00:00:00 GMT\r\n"
    "Content-Type: application/x-git-upload-pack-result\r\n"
    "Content-Length: 18220\r\n"
    "Cache-Control: no-cache\r\n"
    "X-Request-Id: 0123456789abcdef\r\n\r\n";

// A lease that is at hand, as after the first request.
class WarmLease final : public gate::LeaseSource {
 public:
  WarmLease() {
    auto lease = std::make_shared<gate::Lease>();
    lease->secret = base::Secret::Copy("hunter2-hunter2-hunter2");
    lease->scrub = Must(rewrite::ScrubSet::Make({{&lease->secret, "bot"}}));
    lease_ = std::move(lease);
  }
  base::Task<absl::StatusOr<std::shared_ptr<const gate::Lease>>> Borrow(const model::Allow&, const audit::IntentReceipt&, std::string,
                                                                       absl::Duration) override {
    co_return lease_;
  }

 private:
  std::shared_ptr<const gate::Lease> lease_;
};

class NoWait final : public gate::LedgerWait {
 public:
  base::Task<void> Company() override { co_return; }
  base::Task<absl::Status> Durable(audit::Ledger&, audit::Position, absl::Duration) override { co_return absl::OkStatus(); }
};

// One loop's gate with one caller.
class Inside {
 public:
  Inside() {
    gate::EdgeState state;
    state.rules = Rules(1000);
    state.revocations = std::make_shared<gate::RevocationSet>();
    board_.Publish(std::make_shared<gate::EdgeState>(state));
    auto caller = std::make_shared<gate::Caller>();
    caller->grant = SampleGrant();
    caller->issued_at = SampleClaims().issued_at;
    caller_ = std::move(caller);
    gate_.emplace(board_, *own_.ledger, lease_, wait_, base::SystemClock(), gate::GateOptions());
    Settle();
  }

  // What the broker link and the ledger's disk do meanwhile.
  void Settle() {
    board_.NoteHeard(base::SystemClock().Monotonic());
    Must(own_.ledger->Flush());
  }

  gate::Gate::Opening Open(const model::Facts& facts) {
    auto task = gate_->Open(caller_, facts, {gate_->NewRequestId(), "connect", "127.0.0.1:40312", {}}, absl::Seconds(1));
    task.Start();
    return task.Take();
  }
  gate::Gate& gate() { return *gate_; }

 private:
  OwnLedger own_;
  WarmLease lease_;
  NoWait wait_;
  gate::StateBoard board_;
  std::shared_ptr<const gate::Caller> caller_;
  std::optional<gate::Gate> gate_;
};

// The whole inside half of a request of a known caller: decision, intent written, lease, outcome.
void OpenAndClose(benchmark::State& state) {
  Inside inside;
  const model::Facts facts = FetchFacts();
  int unsynced = 0;
  for (auto _ : state) {
    gate::Gate::Opening opening = inside.Open(facts);
    auto* const passage = std::get_if<gate::Passage>(&opening);
    if (passage == nullptr) return state.SkipWithError("the request is refused");
    inside.gate().Close(*passage, {gate::Outcome::Result::kDone, base::ErrorCode::kNone, 200, 412, 18'220});
    if (++unsynced < kRequestsPerFlush) continue;
    state.PauseTiming();
    inside.Settle();
    unsynced = 0;
    state.ResumeTiming();
  }
}
BENCHMARK(OpenAndClose);

// A refusal with its record.
void OpenDenied(benchmark::State& state) {
  Inside inside;
  const model::Facts facts = DeniedFacts();
  int unsynced = 0;
  for (auto _ : state) {
    const gate::Gate::Opening opening = inside.Open(facts);
    if (!std::holds_alternative<gate::Refusal>(opening)) return state.SkipWithError("the request is allowed");
    if (++unsynced < kRequestsPerFlush) continue;
    state.PauseTiming();
    inside.Settle();
    unsynced = 0;
    state.ResumeTiming();
  }
}
BENCHMARK(OpenDenied);

const wire::RequestHead& Parsed() {
  static wire::RequestHead head;
  wire::ParseRequestHead(kRequest, {}, &head);
  return head;
}

edge::Door InterceptedDoor() {
  edge::Door door;
  door.kind = edge::Door::Kind::kTunnel;
  door.target = {"git.corp.example", 443, false};
  door.scheme = model::Scheme::kHttps;
  return door;
}

// From a parsed head to facts.
void DescribeRequest(benchmark::State& state) {
  const edge::Door door = InterceptedDoor();
  for (auto _ : state) {
    auto request = edge::Describe(Parsed(), door);
    if (!request.ok()) return state.SkipWithError("the request cannot be described");
    benchmark::DoNotOptimize(request);
  }
}
BENCHMARK(DescribeRequest);

// The upstream's head with the credential in its place.
void WriteUpstreamHead(benchmark::State& state) {
  Inside inside;
  const gate::Gate::Opening opening = inside.Open(FetchFacts());
  const auto* const passage = std::get_if<gate::Passage>(&opening);
  if (passage == nullptr) return state.SkipWithError("the request is refused");
  const edge::Request request = Must(edge::Describe(Parsed(), InterceptedDoor()));
  const edge::BodyPlan body{wire::Framing::kLength, 412, false, false};
  std::string out;
  for (auto _ : state) {
    out.clear();
    Must(edge::AppendUpstreamHead(Parsed(), request, *passage, body, &out));
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(WriteUpstreamHead);

// The client's head, each value looked through for the credential.
void WriteClientHead(benchmark::State& state) {
  Inside inside;
  const gate::Gate::Opening opening = inside.Open(FetchFacts());
  const auto* const passage = std::get_if<gate::Passage>(&opening);
  if (passage == nullptr) return state.SkipWithError("the request is refused");
  wire::ResponseHead head;
  wire::ParseResponseHead(kResponse, "POST", {}, &head);
  std::string out;
  for (auto _ : state) {
    out.clear();
    edge::AppendClientHead(head, *passage, {wire::Framing::kLength, false}, &out);
    benchmark::DoNotOptimize(out);
  }
}
BENCHMARK(WriteClientHead);

}  // namespace
}  // namespace credbroker::bench
