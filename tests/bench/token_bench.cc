#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "bench/scene.h"
#include "crypto/sign.h"
#include "gate/callers.h"
#include "gate/state_board.h"
#include "reveal/secret_reveal.h"
#include "token/mint/mint.h"
#include "token/verify.h"

namespace credbroker::bench {
namespace {

struct Issued {
  Issued() : minter(crypto::SigningKey::Generate(), SampleClaims().audience) {
    text = std::string(Must(minter.Mint(SampleClaims())).text.Reveal(base::SecretReveal{}));
    state.verifier = std::make_shared<token::Verifier>(token::KeySet({minter.public_key()}), minter.audience());
    state.revocations = std::make_shared<gate::RevocationSet>();
  }
  token::Minter minter;
  std::string text;
  gate::EdgeState state;
};

// The first request of a connection: signature and claims.
void VerifyToken(benchmark::State& state) {
  const Issued issued;
  const absl::Time now = base::SystemClock().Now();
  for (auto _ : state) {
    auto claims = issued.state.verifier->Verify(issued.text, now);
    if (!claims.ok()) return state.SkipWithError("the token does not verify");
    benchmark::DoNotOptimize(claims);
  }
}
BENCHMARK(VerifyToken);

// Each further one: found by its hash among `range(0)` others, alive, not revoked by one of as many revocations.
void FindCaller(benchmark::State& state) {
  Issued issued;
  const absl::Time now = base::SystemClock().Now();
  auto revocations = std::make_shared<gate::RevocationSet>();
  gate::Callers callers(4096);
  for (int64_t i = 0; i < state.range(0); ++i) {
    const token::Minted other = Must(issued.minter.Mint([&] {
      token::Claims claims = SampleClaims();
      claims.id += std::to_string(i);
      return claims;
    }()));
    Must(callers.Find(other.text.Reveal(base::SecretReveal{}), issued.state, now));
    revocations->Add({"token", other.claims.id, now});
  }
  issued.state.revocations = revocations;
  for (auto _ : state) {
    auto caller = callers.Find(issued.text, issued.state, now);
    if (!caller.ok()) return state.SkipWithError("the token is refused");
    benchmark::DoNotOptimize(caller);
  }
}
BENCHMARK(FindCaller)->Arg(0)->Arg(1000);

}  // namespace
}  // namespace credbroker::bench
