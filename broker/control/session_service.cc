#include <utility>

#include "base/macros.h"
#include "control/convert.h"
#include "control/event_log.h"
#include "control/rpc.h"
#include "control/services.h"
#include "credbroker/v1/session.grpc.pb.h"

namespace credbroker::control {
namespace {

constexpr absl::Duration kSocketWait = absl::Seconds(2);

class SessionService final : public v1::SessionService::Service {
 public:
  SessionService(Core& core, const Door& door) : core_(core), door_(door) {}

  grpc::Status OpenSession(grpc::ServerContext* context, const v1::OpenSessionRequest* request,
                           v1::OpenSessionReply* reply) override {
    return Serve(core_, door_, context, Rpc::kOpenSession, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const SessionWish wish, Read(*request));
      ASSIGN_OR_RETURN(const SessionAndToken opened, core_.sessions().Open(caller, wish));
      OfferSocket(opened.session);
      WriteSession(opened.session, reply->mutable_session());
      Write(opened.token, reply->mutable_token());
      return absl::OkStatus();
    });
  }

  grpc::Status ListSessions(grpc::ServerContext* context, const v1::ListSessionsRequest* request,
                            v1::ListSessionsReply* reply) override {
    return Serve(core_, door_, context, Rpc::kListSessions, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const auto sessions, core_.sessions().List(caller, request->include_closed()));
      for (const store::Session& session : sessions) WriteSession(session, reply->add_sessions());
      return absl::OkStatus();
    });
  }

  grpc::Status GetSession(grpc::ServerContext* context, const v1::GetSessionRequest* request,
                          v1::GetSessionReply* reply) override {
    return Serve(core_, door_, context, Rpc::kGetSession, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const SessionAndTokens found, core_.sessions().Get(caller, request->id()));
      WriteSession(found.session, reply->mutable_session());
      for (const store::TokenRow& token : found.tokens) Write(token, reply->add_tokens());
      return absl::OkStatus();
    });
  }

  grpc::Status SetPhase(grpc::ServerContext* context, const v1::SetPhaseRequest* request,
                        v1::SetPhaseReply* reply) override {
    return Serve(core_, door_, context, Rpc::kSetPhase, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const model::Phase phase, model::ParsePhase(request->phase()));
      ASSIGN_OR_RETURN(const SessionAndToken moved, core_.sessions().SetPhase(caller, request->id(), phase));
      OfferSocket(moved.session);
      WriteSession(moved.session, reply->mutable_session());
      Write(moved.token, reply->mutable_token());
      for (const std::string& id : moved.revoked_tokens) reply->add_revoked_tokens(id);
      return absl::OkStatus();
    });
  }

  grpc::Status CloseSession(grpc::ServerContext* context, const v1::CloseSessionRequest* request,
                            v1::CloseSessionReply* reply) override {
    return Serve(core_, door_, context, Rpc::kCloseSession, [&](const Caller& caller) -> absl::Status {
      ASSIGN_OR_RETURN(const ClosedSession closed, core_.sessions().Close(caller, request->id(), request->reason()));
      Write(closed.session, reply->mutable_session());
      for (const std::string& id : closed.revoked_tokens) reply->add_revoked_tokens(id);
      return absl::OkStatus();
    });
  }

 private:
  void WriteSession(const store::Session& session, v1::Session* out) {
    Write(session, out);
    out->set_socket(core_.sockets().PathOf(session));
  }

  // The session stands without it, and the sweep tries again.
  void OfferSocket(const store::Session& session) {
    if (const absl::Status offered = core_.sockets().Offer(session, kSocketWait); !offered.ok()) {
      LogEvent(Level::kWarning, "session_socket_waits", {{"session", session.id}, {"error", std::string(offered.message())}});
    }
  }

  Core& core_;
  const Door& door_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeSessionService(Core& core, const Door& door) {
  return std::make_unique<SessionService>(core, door);
}

}  // namespace credbroker::control
