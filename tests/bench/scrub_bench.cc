#include <benchmark/benchmark.h>

#include <random>
#include <string>

#include "base/str.h"
#include "bench/scene.h"
#include "rewrite/scrub.h"

namespace credbroker::bench {
namespace {

enum class Kind { kText, kPack };

// An answer of `size` bytes that holds no secret: JSON as an API sends it, or bytes as in a pack.
std::string Answer(std::size_t size, Kind kind) {
  std::string out;
  std::mt19937 random(7);
  while (out.size() < size) {
    if (kind == Kind::kPack) {
      out += static_cast<char>(random());
      continue;
    }
    base::StrAppend(&out, R"({"id":)", random(), R"(,"login":"octo-)", random() % 1000,
                    R"(","type":"User","site_admin":false,"url":"https://api.forge.example/users/octo"},)");
  }
  out.resize(size);
  return out;
}

constexpr int64_t kPassword = 16, kToken = 1000, kPrivateKey = 1700;  // bytes; the last one has lines of 64

std::string SecretText(std::size_t bytes) {
  const bool lines = bytes == kPrivateKey;
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  std::mt19937 random(11);
  std::string out;
  while (out.size() < bytes) out += lines && out.size() % 65 == 64 ? '\n' : kAlphabet[random() % kAlphabet.size()];
  return out;
}

std::shared_ptr<const rewrite::ScrubSet> SetFor(const std::string& text) {
  const base::Secret secret = base::Secret::Copy(text);
  return Must(rewrite::ScrubSet::Make({{&secret, "bot"}}));
}

// range(0): bytes of the secret, range(1): bytes of the answer.
void ScrubClean(benchmark::State& state, Kind kind) {
  const auto set = SetFor(SecretText(static_cast<std::size_t>(state.range(0))));
  const std::string answer = Answer(static_cast<std::size_t>(state.range(1)), kind);
  std::string scratch;
  for (auto _ : state) {
    rewrite::Scrubber scrubber(set);
    benchmark::DoNotOptimize(scrubber.Filter(answer, &scratch));
    if (scrubber.hits() != 0) return state.SkipWithError("a hit where none is");
  }
  state.SetBytesProcessed(state.iterations() * state.range(1));
}
BENCHMARK_CAPTURE(ScrubClean, text, Kind::kText)->ArgsProduct({{kPassword, kToken, kPrivateKey}, {1 << 10, 64 << 10}});
BENCHMARK_CAPTURE(ScrubClean, pack, Kind::kPack)->ArgsProduct({{kPassword, kToken, kPrivateKey}, {1 << 10, 64 << 10}});

// The same with the secret in the middle.
void ScrubHit(benchmark::State& state) {
  const std::string secret = SecretText(static_cast<std::size_t>(state.range(0)));
  const auto set = SetFor(secret);
  std::string answer = Answer(static_cast<std::size_t>(state.range(1)), Kind::kText);
  answer.replace(answer.size() / 4, secret.size(), secret);
  std::string out;
  for (auto _ : state) {
    rewrite::Scrubber scrubber(set);
    out.clear();
    scrubber.Feed(answer, &out);
    if (scrubber.hits() == 0) return state.SkipWithError("the secret was not found");
    benchmark::DoNotOptimize(out);
  }
  state.SetBytesProcessed(state.iterations() * state.range(1));
}
BENCHMARK(ScrubHit)->Args({kPassword, 1 << 10})->ArgsProduct({{kPassword, kToken, kPrivateKey}, {64 << 10}});

// Once for each lease.
void MakeScrubSet(benchmark::State& state) {
  const std::string secret = SecretText(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(SetFor(secret));
}
BENCHMARK(MakeScrubSet)->Arg(kPassword)->Arg(kToken)->Arg(kPrivateKey)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace credbroker::bench
