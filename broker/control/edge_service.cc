#include <utility>

#include "base/macros.h"
#include "base/str.h"
#include "control/convert.h"
#include "control/event_log.h"
#include "control/rpc.h"
#include "control/services.h"
#include "credbroker/v1/edge.grpc.pb.h"

namespace credbroker::control {
namespace {

using base::Error;
using base::ErrorCode;

constexpr absl::Duration kHeartbeat = absl::Seconds(1);
constexpr int kMaxReported = 10'000;
constexpr int kMaxListeners = 64;
constexpr std::size_t kMaxFolder = 4096;
constexpr std::size_t kSealingKeyBytes = 32;
constexpr int64_t kMaxUses = 1'000'000;

absl::Status CheckHello(const v1::WatchRequest& request) {
  if (request.sealing_key().size() != kSealingKeyBytes) return Error(ErrorCode::kBadArgument, "sealing key");
  if (request.sockets_folder().size() > kMaxFolder) return Error(ErrorCode::kTooLarge, "sockets folder");
  if (request.listeners_size() > kMaxListeners) return Error(ErrorCode::kTooLarge, "listeners");
  return absl::OkStatus();
}

class EdgeService final : public v1::EdgeService::Service {
 public:
  EdgeService(Core& core, const Door& door) : core_(core), door_(door) {}

  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                     grpc::ServerWriter<v1::EdgeUpdate>* writer) override {
    return Serve(core_, door_, context, Rpc::kWatch, [&](const Caller&) -> absl::Status {
      RETURN_IF_ERROR(CheckName(request->edge()));
      RETURN_IF_ERROR(CheckHello(*request));
      RETURN_IF_ERROR(core_.archives().Enroll(request->edge(), request->ledger_vkey()), "an edge connects");
      const uint64_t stream = core_.hub().Connect(Read(*request));
      LogEvent(Level::kInfo, "edge_connected", {{"edge", request->edge()}, {"version", request->version()}});
      while (!context->IsCancelled()) {
        const auto message = core_.hub().Next(request->edge(), stream, kHeartbeat);
        if (!message) break;
        v1::EdgeUpdate update;
        Write(*message, core_.clock().Now(), &update);
        if (!writer->Write(update)) break;
      }
      core_.hub().Disconnect(request->edge(), stream);
      LogEvent(Level::kInfo, "edge_disconnected", {{"edge", request->edge()}});
      return absl::OkStatus();
    });
  }

  grpc::Status Report(grpc::ServerContext* context, const v1::ReportRequest* request, v1::ReportReply*) override {
    return Serve(core_, door_, context, Rpc::kReport, [&](const Caller&) -> absl::Status {
      RETURN_IF_ERROR(CheckName(request->edge()));
      if (request->sessions_size() > kMaxReported || request->exceptions_size() > kMaxReported) {
        return Error(ErrorCode::kTooLarge, "report");
      }
      RETURN_IF_ERROR(core_.hub().Report(request->edge(), {.serial = request->serial(),
                                                           .policy_version = request->policy_version(),
                                                           .ledger_ok = request->ledger_ok(),
                                                           .ledger_entries = request->ledger_entries()}));
      for (const v1::SessionUse& use : request->sessions()) {
        ASSIGN_OR_RETURN(const absl::Time at,
                         ReadTime(use.has_last_used_at(), use.last_used_at(), absl::InfinitePast()));
        if (use.has_last_used_at()) core_.sessions().Touch(use.session(), at);
      }
      absl::Status counted;  // a bad row must not take the others with it
      for (const v1::ExceptionUse& use : request->exceptions()) counted.Update(CountUse(use));
      return counted;
    });
  }

  grpc::Status Lend(grpc::ServerContext* context, const v1::LendRequest* request, v1::LendReply* reply) override {
    return Serve(core_, door_, context, Rpc::kLend, [&](const Caller&) -> absl::Status {
      RETURN_IF_ERROR(CheckName(request->edge()));
      ASSIGN_OR_RETURN(Lent lent, core_.lending().Lend(request->edge(), request->session(), request->credential()));
      reply->set_sealed_lease(std::move(lent.sealed));
      Write(lent.expires_at, reply->mutable_expires_at());
      reply->set_secret_version(lent.secret_version);
      return absl::OkStatus();
    });
  }

  grpc::Status SignLeaf(grpc::ServerContext* context, const v1::SignLeafRequest* request,
                        v1::SignLeafReply* reply) override {
    return Serve(core_, door_, context, Rpc::kSignLeaf, [&](const Caller&) -> absl::Status {
      RETURN_IF_ERROR(CheckName(request->edge()));
      ASSIGN_OR_RETURN(std::string leaf, core_.lending().SignLeaf(request->host(), request->public_key()));
      reply->set_chain_pem(std::move(leaf));
      return absl::OkStatus();
    });
  }

  grpc::Status Ship(grpc::ServerContext* context, const v1::ShipRequest* request, v1::ShipReply* reply) override {
    return Serve(core_, door_, context, Rpc::kShip, [&](const Caller&) -> absl::Status {
      RETURN_IF_ERROR(CheckName(request->edge()));
      ASSIGN_OR_RETURN(const uint64_t next,
                       core_.archives().Append(request->edge(), {.first_index = request->first_index(),
                                                                 .lines = request->lines(),
                                                                 .checkpoint = request->checkpoint()}));
      core_.hub().Shipped(request->edge(), request->ticket(), request->ledger_entries(), next);
      reply->set_next_index(next);
      return absl::OkStatus();
    });
  }

 private:
  absl::Status CheckName(const std::string& edge) const {
    return edge == door_.edge ? absl::OkStatus()
                              : Error(ErrorCode::kCallerNotAllowed, "the channel belongs to another edge");
  }

  // An edge cannot invent exceptions; one that was removed meanwhile is no fault.
  absl::Status CountUse(const v1::ExceptionUse& use) {
    if (core_.rules().Get()->exceptions().count(use.id()) == 0) return absl::OkStatus();
    if (use.uses() <= 0 || use.uses() > kMaxUses) return Error(ErrorCode::kBadArgument, "uses");
    ASSIGN_OR_RETURN(const absl::Time at, ReadTime(use.has_last_use(), use.last_use(), core_.clock().Now()));
    return core_.store().exception_uses().Add(use.id(), use.uses(), at);
  }

  Core& core_;
  const Door& door_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeEdgeService(Core& core, const Door& door) {
  return std::make_unique<EdgeService>(core, door);
}

}  // namespace credbroker::control
