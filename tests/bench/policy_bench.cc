#include <benchmark/benchmark.h>

#include <string>

#include "base/clock.h"
#include "bench/scene.h"
#include "policy/decide.h"
#include "policy/source.h"

namespace credbroker::bench {
namespace {

enum class Expect { kAllow, kDeny };

// One decision under a scope with `range(0)` repositories beside the one that is asked for.
void Decide(benchmark::State& state, const model::Facts& facts, Expect expect) {
  const auto rules = Rules(static_cast<int>(state.range(0)));
  const model::Grant grant = SampleGrant();
  const absl::Time now = base::SystemClock().Now();
  for (auto _ : state) {
    const model::Decision decision = policy::Decide(facts, grant, rules, now);
    if ((decision.allow() != nullptr) != (expect == Expect::kAllow)) return state.SkipWithError("another decision");
    benchmark::DoNotOptimize(decision);
  }
}
BENCHMARK_CAPTURE(Decide, endpoint, EndpointFacts(), Expect::kAllow)->Arg(0)->Arg(1000);
BENCHMARK_CAPTURE(Decide, fetch, FetchFacts(), Expect::kAllow)->Arg(0)->Arg(1000);
BENCHMARK_CAPTURE(Decide, push_of_50_refs, PushFacts(50), Expect::kAllow)->Arg(0)->Arg(1000);
BENCHMARK_CAPTURE(Decide, deny, DeniedFacts(), Expect::kDeny)->Arg(0)->Arg(1000);

// A new policy version on its way into an edge.
void LoadPolicy(benchmark::State& state) {
  const policy::PolicySource source{{{"policy.yaml", PolicyText(static_cast<int>(state.range(0)))}}, {}};
  for (auto _ : state) {
    auto rules = policy::RuleSet::Load(source, 7, "digest");
    if (!rules.ok()) return state.SkipWithError("the policy does not load");
    benchmark::DoNotOptimize(rules);
  }
}
BENCHMARK(LoadPolicy)->Arg(0)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace credbroker::bench
