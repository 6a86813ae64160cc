#include <utility>

#include "base/macros.h"
#include "base/text.h"
#include "control/convert.h"
#include "control/rpc.h"
#include "control/services.h"
#include "control/whoami.h"
#include "credbroker/v1/token.grpc.pb.h"

namespace credbroker::control {
namespace {

constexpr std::size_t kMaxReason = 200;

class TokenService final : public v1::TokenService::Service {
 public:
  TokenService(Core& core, const Door& door) : core_(core), door_(door) {}

  grpc::Status MintToken(grpc::ServerContext* context, const v1::MintTokenRequest* request,
                         v1::MintTokenReply* reply) override {
    return Serve(core_, door_, context, Rpc::kMintToken, [&](const Caller& caller) -> absl::Status {
      TokenWish wish{.narrowing = Read(request->narrowing())};
      ASSIGN_OR_RETURN(wish.life, ReadDuration(request->has_ttl(), request->ttl()));
      if (!request->label().empty()) {
        ASSIGN_OR_RETURN(wish.label, model::ParseLabel(request->label()));
      }
      ASSIGN_OR_RETURN(const IssuedToken token, core_.tokens().Mint(caller, request->session(), wish));
      Write(token, reply->mutable_token());
      return absl::OkStatus();
    });
  }

  grpc::Status DeriveToken(grpc::ServerContext* context, const v1::DeriveTokenRequest* request,
                           v1::DeriveTokenReply* reply) override {
    return Serve(core_, door_, context, Rpc::kDeriveToken, [&](const Caller& caller) -> absl::Status {
      TokenWish wish{.narrowing = Read(request->narrowing())};
      ASSIGN_OR_RETURN(wish.life, ReadDuration(request->has_ttl(), request->ttl()));
      ASSIGN_OR_RETURN(const IssuedToken token, core_.tokens().Derive(caller, wish));
      Write(token, reply->mutable_token());
      return absl::OkStatus();
    });
  }

  grpc::Status RenewToken(grpc::ServerContext* context, const v1::RenewTokenRequest* request,
                          v1::RenewTokenReply* reply) override {
    return Serve(core_, door_, context, Rpc::kRenewToken, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const absl::Duration life, ReadDuration(request->has_ttl(), request->ttl()));
      ASSIGN_OR_RETURN(const IssuedToken token, core_.tokens().Renew(caller, life));
      Write(token, reply->mutable_token());
      return absl::OkStatus();
    });
  }

  grpc::Status RevokeToken(grpc::ServerContext* context, const v1::RevokeTokenRequest* request,
                           v1::RevokeTokenReply* reply) override {
    return Serve(core_, door_, context, Rpc::kRevokeToken, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const Revoked revoked,
                       core_.tokens().Revoke(caller, Read(*request), base::EscapeText(request->reason(), kMaxReason)));
      for (const std::string& id : revoked.tokens) reply->add_revoked_tokens(id);
      reply->set_edges_told(revoked.edges_told);
      return absl::OkStatus();
    });
  }

  grpc::Status WhoAmI(grpc::ServerContext* context, const v1::WhoAmIRequest*, v1::WhoAmIReply* reply) override {
    return Serve(core_, door_, context, Rpc::kWhoAmI, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const control::WhoAmI who, DescribeHolder(*caller.holder, core_.store(), core_.rules(),
                                                                 core_.revocations(), core_.clock().Now()));
      Write(who, reply);
      return absl::OkStatus();
    });
  }

 private:
  Core& core_;
  const Door& door_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeTokenService(Core& core, const Door& door) {
  return std::make_unique<TokenService>(core, door);
}

}  // namespace credbroker::control
