#include "edge/leaf_source.h"

#include "base/macros.h"

namespace credbroker::edge {
namespace {

constexpr std::size_t kMaxHosts = 1024;
// Leaves live a week (crypto/certificate.h); a new one is asked for after a day, so that a CA change spreads.
constexpr absl::Duration kKeep = absl::Hours(24);

}  // namespace

LeafSource::LeafSource(net::Loop& loop, BrokerPort& broker, const base::Clock& clock, std::shared_ptr<const net::TlsKey> key,
                       std::string public_key_der)
    : broker_(broker),
      clock_(clock),
      key_(std::move(key)),
      public_key_der_(std::move(public_key_der)),
      cache_(kMaxHosts),
      flights_(loop, base::ErrorCode::kProviderDown) {}

base::Task<absl::StatusOr<LeafSource::Context>> LeafSource::Get(std::string host, net::Deadline deadline) {
  if (Context context = cache_.Find(host, clock_.Now()); context != nullptr) co_return std::move(context);
  const auto launch = [this, &host](Flights<Context>::Landing landing) {
    broker_.SignLeaf(host, public_key_der_, [key = key_, landing = std::move(landing)](absl::StatusOr<std::string> chain) {
      if (!chain.ok()) return landing(chain.status());
      landing(net::TlsServerContext::Create(*chain, *key));
    });
  };
  const auto keep = [this, host](const Context& context) { cache_.Insert(host, context, clock_.Now() + kKeep); };
  co_return co_await flights_.Join(host, launch, keep, deadline);
}

}  // namespace credbroker::edge
