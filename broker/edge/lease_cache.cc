#include "edge/lease_cache.h"

#include "base/macros.h"
#include "base/str.h"
#include "rewrite/scrub.h"

namespace credbroker::edge {

LeaseCache::LeaseCache(net::Loop& loop, BrokerPort& broker, const base::Clock& clock, std::size_t max_leases)
    : broker_(broker), clock_(clock), max_leases_(max_leases), flights_(loop, base::ErrorCode::kProviderDown) {}

base::Task<absl::StatusOr<std::shared_ptr<const gate::Lease>>> LeaseCache::Borrow(const model::Allow& allow, const audit::IntentReceipt& receipt,
                                                                                 std::string session, absl::Duration deadline) {
  const model::CredentialUse& use = *allow->credential;
  // The user name is part of what must be scrubbed, so it is part of what a lease is.
  const std::string key = base::StrCat(session, " ", use.name, " ", use.placement.username);
  const absl::Time now = clock_.Now();
  const auto found = entries_.find(key);
  if (found != entries_.end() && now < found->second.refresh_at) co_return found->second.lease;
  const auto launch = [this, &use, &session, version = allow->policy_version, intent = receipt.position().index](auto landing) {
    Launch(use, session, version, intent, std::move(landing));
  };
  const auto keep = [this, key, credential = use.name, epoch = epoch_](const LeasePtr& lease) { Keep(key, credential, epoch, lease); };
  if (found != entries_.end() && now < found->second.lease->expires_at) {
    LeasePtr lease = found->second.lease;
    flights_.Refresh(key, launch, keep);
    co_return std::move(lease);
  }
  co_return co_await flights_.Join(key, launch, keep, net::Deadline::At(deadline));
}

void LeaseCache::Launch(const model::CredentialUse& use, std::string session, int64_t policy_version, uint64_t intent,
                        Flights<LeasePtr>::Landing landing) {
  broker_.Lend(std::move(session), use.name, policy_version, base::StrCat("edge-", intent),
               [username = use.placement.username, landing = std::move(landing)](absl::StatusOr<BrokerPort::Lent> lent) {
                 if (!lent.ok()) return landing(lent.status());
                 auto scrub = rewrite::ScrubSet::Make({{&lent->secret, username}});
                 // A value that cannot be kept out of replies is not lent; the vault refuses such values too.
                 if (!scrub.ok()) return landing(base::Error(base::ErrorCode::kProviderDown, base::View(scrub.status().message())));
                 auto lease = std::make_shared<gate::Lease>();
                 lease->scrub = *std::move(scrub);
                 lease->expires_at = lent->expires_at;
                 lease->secret_version = lent->secret_version;
                 lease->secret = std::move(lent->secret);
                 landing(LeasePtr(std::move(lease)));
               });
}

void LeaseCache::Keep(const std::string& key, const std::string& credential, uint64_t epoch, LeasePtr lease) {
  if (epoch != epoch_) return;  // asked for before something was dropped: good for those who wait, not to be kept
  if (entries_.size() >= max_leases_) Clear();
  const absl::Time now = clock_.Now();
  const absl::Time refresh_at = lease->expires_at - (lease->expires_at - now) / kRefreshFraction;
  entries_.insert_or_assign(key, Entry{std::move(lease), credential, refresh_at});
}

void LeaseCache::Drop(const std::string& credential) {
  ++epoch_;
  std::erase_if(entries_, [&](const auto& entry) { return entry.second.credential == credential; });
}

void LeaseCache::Clear() {
  ++epoch_;
  entries_.clear();
}

}  // namespace credbroker::edge
