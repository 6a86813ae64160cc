#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "audit/canonical.h"
#include "audit/json_line.h"
#include "audit/ledger.h"
#include "bench/scene.h"

namespace credbroker::bench {
namespace {

// A ledger refuses to run ahead of its disk by more than 16 MiB, and a benchmark has nothing else to wait for.
constexpr int kRequestsPerFlush = 4096;

void FormatIntent(benchmark::State& state) {
  const model::Record record = SampleIntent();
  audit::JsonLine line;
  for (auto _ : state) {
    audit::FormatRecord(record, &line);
    benchmark::DoNotOptimize(line);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(line.text.size()));
}
BENCHMARK(FormatIntent);

// The audit of `range(0)` requests that come together: intents staged and committed with one write, outcomes behind.
// Time is that of the calling thread; tree and checkpoint are made on the ledger's own. Items are requests.
void RecordRequests(benchmark::State& state) {
  OwnLedger own;
  const model::Record intent = SampleIntent(), outcome = SampleOutcome();
  std::vector<audit::StagedIntent> staged;
  int unsynced = 0;
  for (auto _ : state) {
    staged.clear();
    for (int64_t i = 0; i < state.range(0); ++i) staged.push_back(Must(own.ledger->StageIntent(intent)));
    for (const audit::StagedIntent& one : staged) Must(own.ledger->Commit(one));
    for (int64_t i = 0; i < state.range(0); ++i) Must(own.ledger->AppendLater(outcome));
    unsynced += static_cast<int>(state.range(0));
    if (unsynced < kRequestsPerFlush) continue;
    state.PauseTiming();
    Must(own.ledger->Flush());
    unsynced = 0;
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(RecordRequests)->Arg(1)->Arg(16)->Arg(64);

// What the broker does with each line that an edge ships.
void CheckCanonical(benchmark::State& state) {
  audit::JsonLine line;
  audit::FormatRecord(SampleOutcome(), &line);
  std::string text;
  line.AppendTo(&text, "edge", 123'456);
  text.pop_back();
  for (auto _ : state) {
    if (!audit::IsCanonicalObject(text)) return state.SkipWithError("the line is not canonical");
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(text.size()));
}
BENCHMARK(CheckCanonical);

}  // namespace
}  // namespace credbroker::bench
