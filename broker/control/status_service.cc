#include <utility>

#include "base/macros.h"
#include "control/convert.h"
#include "control/rpc.h"
#include "control/services.h"
#include "credbroker/credbroker.h"
#include "credbroker/v1/status.grpc.pb.h"

namespace credbroker::control {
namespace {

constexpr int64_t kMaxCounted = 1'000'000;

class StatusService final : public v1::StatusService::Service {
 public:
  StatusService(Core& core, const Door& door) : core_(core), door_(door) {}

  grpc::Status GetStatus(grpc::ServerContext* context, const v1::GetStatusRequest*,
                         v1::GetStatusReply* reply) override {
    return Serve(core_, door_, context, Rpc::kGetStatus, [&](const Caller&) -> absl::Status {
      const auto rules = core_.rules().Get();
      reply->set_version(CREDBROKER_VERSION);
      Write(core_.started_at(), reply->mutable_started_at());
      reply->set_policy_version(rules->version());
      reply->set_policy_digest(rules->digest());
      reply->set_data_dir(core_.data_dir());
      for (const EdgeView& edge : core_.hub().List()) WriteEdge(edge, reply->add_edges());
      ASSIGN_OR_RETURN(const auto open, core_.store().sessions().List({.live_only = true, .limit = kMaxCounted}));
      reply->set_open_sessions(static_cast<int32_t>(open.size()));
      reply->set_ledger_ok(core_.ledger().health().writable);
      for (std::string& warning : Warnings()) reply->add_warnings(std::move(warning));
      for (const auto& [name, scope] : rules->scopes()) reply->add_scopes(name);
      for (std::string& listener : core_.notices().listeners()) reply->add_listeners(std::move(listener));
      ASSIGN_OR_RETURN(const auto facts, crypto::ReadCertificate(core_.keys().ca->certificate_pem()));
      reply->set_ca_fingerprint(facts.fingerprint_hex);
      return absl::OkStatus();
    });
  }

  grpc::Status GetConnection(grpc::ServerContext* context, const v1::GetConnectionRequest*,
                             v1::GetConnectionReply* reply) override {
    return Serve(core_, door_, context, Rpc::kGetConnection, [&](const Caller&) -> absl::Status {
      auto [proxy, gateway] = core_.notices().urls();
      for (const EdgeView& edge : core_.hub().List()) {
        if (!edge.connected || edge.hello.proxy_url.empty()) continue;
        proxy = edge.hello.proxy_url;
        gateway = edge.hello.gateway_url;
        break;
      }
      reply->set_proxy_url(proxy);
      reply->set_gateway_url(gateway);
      reply->set_ca_pem(core_.keys().ca->certificate_pem());
      reply->set_version(CREDBROKER_VERSION);
      return absl::OkStatus();
    });
  }

 private:
  std::vector<std::string> Warnings() const {
    std::vector<std::string> warnings = core_.notices().warnings();
    for (std::string& ailment : core_.Ailments()) warnings.push_back(std::move(ailment));
    const auto rules = core_.rules().Get();
    if (rules->version() == 0) warnings.push_back("no policy is in force, so everything is denied");
    warnings.insert(warnings.end(), rules->warnings().begin(), rules->warnings().end());
    if (const auto missing = core_.policies().MissingSecrets(*rules); missing.ok()) {
      for (const std::string& name : *missing)
        warnings.push_back("secret " + name + " is named by the policy, but not set");
    }
    return warnings;
  }

  static void WriteEdge(const EdgeView& in, v1::EdgeStatus* out) {
    out->set_id(in.hello.edge);
    out->set_connected(in.connected);
    Write(in.last_seen, out->mutable_last_seen());
    out->set_policy_version(in.report.policy_version);
    out->set_ledger_ok(in.report.ledger_ok);
    out->set_ledger_entries(in.report.ledger_entries);
    for (const std::string& listener : in.hello.listeners) out->add_listeners(listener);
  }

  Core& core_;
  const Door& door_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeStatusService(Core& core, const Door& door) {
  return std::make_unique<StatusService>(core, door);
}

}  // namespace credbroker::control
