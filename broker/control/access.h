#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "control/caller.h"

namespace credbroker::control {

// Every call of the API and who may make it: the one table (S22). A caller needs one of the roles. What a role sees
// inside a call (a requester's own sessions, a holder's own token) is the call's business.
#define CREDBROKER_RPCS(X)                                                                                          \
  X(kOpenSession, "SessionService/OpenSession", Role::kAdmin, Role::kRequester)                                     \
  X(kListSessions, "SessionService/ListSessions", Role::kAdmin, Role::kRequester, Role::kReviewer, Role::kOperator) \
  X(kGetSession, "SessionService/GetSession", Role::kAdmin, Role::kRequester, Role::kReviewer, Role::kOperator)     \
  X(kSetPhase, "SessionService/SetPhase", Role::kAdmin, Role::kRequester)                                           \
  X(kCloseSession, "SessionService/CloseSession", Role::kAdmin, Role::kRequester, Role::kOperator)                  \
  X(kMintToken, "TokenService/MintToken", Role::kAdmin, Role::kRequester)                                           \
  X(kDeriveToken, "TokenService/DeriveToken", Role::kHolder)                                                        \
  X(kRenewToken, "TokenService/RenewToken", Role::kHolder)                                                          \
  X(kRevokeToken, "TokenService/RevokeToken", Role::kAdmin, Role::kRequester, Role::kOperator, Role::kHolder)       \
  X(kWhoAmI, "TokenService/WhoAmI", Role::kHolder)                                                                  \
  X(kApplyPolicy, "PolicyService/ApplyPolicy", Role::kAdmin)                                                        \
  X(kGetPolicy, "PolicyService/GetPolicy", Role::kAdmin, Role::kReviewer, Role::kOperator)                          \
  X(kListPolicyVersions, "PolicyService/ListPolicyVersions", Role::kAdmin, Role::kReviewer, Role::kOperator)        \
  X(kDiffPolicy, "PolicyService/DiffPolicy", Role::kAdmin, Role::kReviewer, Role::kOperator)                        \
  X(kExplain, "PolicyService/Explain", Role::kAdmin, Role::kRequester, Role::kReviewer, Role::kOperator,            \
    Role::kHolder)                                                                                                  \
  X(kListExceptions, "PolicyService/ListExceptions", Role::kAdmin, Role::kReviewer, Role::kOperator)                \
  X(kAddException, "PolicyService/AddException", Role::kAdmin)                                                      \
  X(kTurnException, "PolicyService/TurnException", Role::kAdmin)                                                    \
  X(kPutSecret, "SecretService/PutSecret", Role::kAdmin)                                                            \
  X(kListSecrets, "SecretService/ListSecrets", Role::kAdmin, Role::kReviewer, Role::kOperator)                      \
  X(kRotateSecret, "SecretService/RotateSecret", Role::kAdmin)                                                      \
  X(kDeleteSecret, "SecretService/DeleteSecret", Role::kAdmin)                                                      \
  X(kListRecords, "AuditService/ListRecords", Role::kAdmin, Role::kReviewer, Role::kRequester)                      \
  X(kTailRecords, "AuditService/TailRecords", Role::kAdmin, Role::kReviewer, Role::kRequester)                      \
  X(kExportRecords, "AuditService/ExportRecords", Role::kAdmin, Role::kReviewer)                                    \
  X(kGetRecord, "AuditService/GetRecord", Role::kAdmin, Role::kReviewer, Role::kRequester)                          \
  X(kGetCheckpoints, "AuditService/GetCheckpoints", Role::kAdmin, Role::kReviewer, Role::kOperator)                 \
  X(kVerifyLedgers, "AuditService/VerifyLedgers", Role::kAdmin, Role::kReviewer, Role::kOperator)                   \
  X(kGetAnswers, "EvidenceService/GetAnswers", Role::kAdmin, Role::kReviewer, Role::kOperator)                      \
  X(kGetBundle, "EvidenceService/GetBundle", Role::kAdmin, Role::kReviewer)                                         \
  X(kSubmitPilot, "EvidenceService/SubmitPilot", Role::kHolder)                                                     \
  X(kGetStatus, "StatusService/GetStatus", Role::kAdmin, Role::kRequester, Role::kReviewer, Role::kOperator)        \
  X(kGetConnection, "StatusService/GetConnection", Role::kAnyone)                                                   \
  X(kWatch, "EdgeService/Watch", Role::kEdge)                                                                       \
  X(kReport, "EdgeService/Report", Role::kEdge)                                                                     \
  X(kLend, "EdgeService/Lend", Role::kEdge)                                                                         \
  X(kSignLeaf, "EdgeService/SignLeaf", Role::kEdge)                                                                 \
  X(kShip, "EdgeService/Ship", Role::kEdge)

enum class Rpc {
#define X(name, path, ...) name,
  CREDBROKER_RPCS(X)
#undef X
};

std::string_view RpcName(Rpc rpc);  // "SessionService/OpenSession"
Roles AllowedRoles(Rpc rpc);

// OK when the table lets the caller in. When only a token could have let it in, fails with what is wrong with the
// token (kNoToken, kTokenExpired, ...); otherwise kCallerNotAllowed.
absl::Status CheckAccess(Rpc rpc, const Caller& caller);

}  // namespace credbroker::control
