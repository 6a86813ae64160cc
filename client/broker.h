#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/settings.h"

// Every call of the broker that the command line makes: service and call.
#define CREDBROKER_CLIENT_CALLS(X)     \
  X(StatusService, GetStatus)          \
  X(StatusService, GetConnection)      \
  X(PolicyService, ApplyPolicy)        \
  X(PolicyService, GetPolicy)          \
  X(PolicyService, ListPolicyVersions) \
  X(PolicyService, DiffPolicy)         \
  X(PolicyService, Explain)            \
  X(PolicyService, ListExceptions)     \
  X(PolicyService, AddException)       \
  X(PolicyService, TurnException)      \
  X(EvidenceService, GetAnswers)       \
  X(EvidenceService, GetBundle)        \
  X(EvidenceService, SubmitPilot)      \
  X(SecretService, PutSecret)          \
  X(SecretService, ListSecrets)        \
  X(SecretService, RotateSecret)       \
  X(SecretService, DeleteSecret)       \
  X(SessionService, OpenSession)       \
  X(SessionService, ListSessions)      \
  X(SessionService, GetSession)        \
  X(SessionService, SetPhase)          \
  X(SessionService, CloseSession)      \
  X(TokenService, MintToken)           \
  X(TokenService, DeriveToken)         \
  X(TokenService, RenewToken)          \
  X(TokenService, RevokeToken)         \
  X(TokenService, WhoAmI)              \
  X(AuditService, ListRecords)         \
  X(AuditService, GetRecord)           \
  X(AuditService, GetCheckpoints)      \
  X(AuditService, VerifyLedgers)

namespace credbroker::v1 {
#define X(service, call) \
  class call##Request;   \
  class call##Reply;
CREDBROKER_CLIENT_CALLS(X)
#undef X
class ExportRecordsRequest;
class ExportedRecord;
}  // namespace credbroker::v1

namespace credbroker::client {

// The broker as the command line sees it: one channel, opened with the first call. The only file that speaks gRPC.
//
// Each call waits at most 30 seconds, and fails with the catalogue code that the broker sent; kBrokerUnreachable when
// it does not answer; kInternal for an answer that is no broker's. Thread-safe.
class Broker {
 public:
  explicit Broker(const Settings& settings);
  ~Broker();
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;

  // `token` (may be empty) goes along as the holder's: only calls that speak for a token have one.
#define X(service, call) \
  absl::Status call(const v1::call##Request& request, v1::call##Reply* reply, std::string_view token = {});
  CREDBROKER_CLIENT_CALLS(X)
#undef X

  // Calls `line` for each record as it arrives, until it returns false or the broker ends the stream. No time limit.
  absl::Status TailRecords(const v1::ListRecordsRequest& request, const std::function<bool(std::string_view)>& line);

  // Calls `record` for each record or cursor of an export, until it returns false or the broker ends it. No time limit.
  absl::Status ExportRecords(const v1::ExportRecordsRequest& request,
                             const std::function<bool(const v1::ExportedRecord&)>& record);

 private:
  struct Connection;
  std::unique_ptr<Connection> connection_;
};

}  // namespace credbroker::client
