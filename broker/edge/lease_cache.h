#pragma once

#include <map>
#include <memory>
#include <string>

#include "edge/broker_port.h"
#include "edge/flights.h"
#include "gate/gate.h"

namespace credbroker::edge {

// Leases of one loop: in memory only, for one session each, until they expire or are dropped. Fetched once for all who
// wait, refreshed ahead of expiry without anybody waiting. Loop thread only.
class LeaseCache final : public gate::LeaseSource {
 public:
  LeaseCache(net::Loop& loop, BrokerPort& broker, const base::Clock& clock, std::size_t max_leases = 4096);

  base::Task<absl::StatusOr<std::shared_ptr<const gate::Lease>>> Borrow(const model::Allow& allow, const audit::IntentReceipt& receipt,
                                                                       std::string session, absl::Duration deadline) override;
  // The secret behind a credential has changed: values lent before are not used again, also those still on their way.
  void Drop(const std::string& credential);
  void Clear();

 private:
  using LeasePtr = std::shared_ptr<const gate::Lease>;
  struct Entry {
    LeasePtr lease;
    std::string credential;
    absl::Time refresh_at;
  };
  // When a lease is this close to its end it is fetched anew; part of its whole life.
  static constexpr int kRefreshFraction = 4;

  void Launch(const model::CredentialUse& use, std::string session, int64_t policy_version, uint64_t intent,
              Flights<LeasePtr>::Landing landing);
  void Keep(const std::string& key, const std::string& credential, uint64_t epoch, LeasePtr lease);

  BrokerPort& broker_;
  const base::Clock& clock_;
  const std::size_t max_leases_;
  uint64_t epoch_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;
  Flights<LeasePtr> flights_;
};

}  // namespace credbroker::edge
