#include <utility>

#include "base/macros.h"
#include "control/convert.h"
#include "control/rpc.h"
#include "control/services.h"
#include "credbroker/v1/secret.grpc.pb.h"

namespace credbroker::control {
namespace {

// gRPC owns the request; taking the value out of it wipes the only readable copy of ours.
template <typename Request>
base::Secret ValueOf(const Request* request) {
  return TakeSecret(const_cast<Request*>(request)->mutable_value());
}

class SecretService final : public v1::SecretService::Service {
 public:
  SecretService(Core& core, const Door& door) : core_(core), door_(door) {}

  grpc::Status PutSecret(grpc::ServerContext* context, const v1::PutSecretRequest* request,
                         v1::PutSecretReply* reply) override {
    const base::Secret value = ValueOf(request);
    return Serve(core_, door_, context, Rpc::kPutSecret, [&](const Caller& caller) -> absl::Status {
      const Overwrite overwrite = request->replace() ? Overwrite::kYes : Overwrite::kNo;
      ASSIGN_OR_RETURN(const SecretView view,
                       core_.secrets().Put(request->name(), value, overwrite, {.actor = caller.actor}));
      Write(view, reply->mutable_secret());
      return absl::OkStatus();
    });
  }

  grpc::Status ListSecrets(grpc::ServerContext* context, const v1::ListSecretsRequest*,
                           v1::ListSecretsReply* reply) override {
    return Serve(core_, door_, context, Rpc::kListSecrets, [&](const Caller&) -> absl::Status {
      ASSIGN_OR_RETURN(const auto views, core_.secrets().List());
      for (const SecretView& view : views) Write(view, reply->add_secrets());
      ASSIGN_OR_RETURN(const auto missing, core_.policies().MissingSecrets(*core_.rules().Get()));
      for (const std::string& name : missing) reply->add_missing(name);
      return absl::OkStatus();
    });
  }

  grpc::Status RotateSecret(grpc::ServerContext* context, const v1::RotateSecretRequest* request,
                            v1::RotateSecretReply* reply) override {
    const base::Secret value = ValueOf(request);
    return Serve(core_, door_, context, Rpc::kRotateSecret, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const SecretView view, core_.secrets().Rotate(request->name(), value, {.actor = caller.actor}));
      Write(view, reply->mutable_secret());
      return absl::OkStatus();
    });
  }

  grpc::Status DeleteSecret(grpc::ServerContext* context, const v1::DeleteSecretRequest* request,
                            v1::DeleteSecretReply*) override {
    return Serve(core_, door_, context, Rpc::kDeleteSecret, [&](const Caller& caller) -> absl::Status {
      return core_.secrets().Delete(request->name(), {.actor = caller.actor});
    });
  }

 private:
  Core& core_;
  const Door& door_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSecretService(Core& core, const Door& door) {
  return std::make_unique<SecretService>(core, door);
}

}  // namespace credbroker::control
