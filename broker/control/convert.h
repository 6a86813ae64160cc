#pragma once

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/timestamp.pb.h>

#include <optional>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "audit/query.h"
#include "control/edge_feed.h"
#include "control/edges.h"
#include "control/policies.h"
#include "control/secrets.h"
#include "control/sessions.h"
#include "control/tokens.h"
#include "control/whoami.h"
#include "credbroker/v1/audit.pb.h"
#include "credbroker/v1/edge.pb.h"
#include "credbroker/v1/policy.pb.h"
#include "credbroker/v1/secret.pb.h"
#include "credbroker/v1/session.pb.h"
#include "credbroker/v1/token.pb.h"

// Private to this room: the one place where protobuf messages and the product's own values meet. Include only from
// control/*_service.cc and convert.cc.
namespace credbroker::control {

// Infinite times are left unset.
void Write(absl::Time time, google::protobuf::Timestamp* out);
// Out-of-range values fail kBadTime, kBadDuration; an unset message is `absent`.
absl::StatusOr<absl::Time> ReadTime(bool set, const google::protobuf::Timestamp& in, absl::Time absent);
absl::StatusOr<absl::Duration> ReadDuration(bool set, const google::protobuf::Duration& in);  // unset: zero; set: > 0

void Write(const store::Session& in, v1::Session* out);
void Write(const store::TokenRow& in, v1::TokenInfo* out);
void Write(const model::Narrowing& in, v1::Narrowing* out);
void Write(const IssuedToken& in, v1::IssuedToken* out);  // reveals the text, once
model::Narrowing Read(const v1::Narrowing& in);
absl::StatusOr<SessionWish> Read(const v1::OpenSessionRequest& in);
std::optional<RevokeTarget> Read(const v1::RevokeTokenRequest& in);
void Write(const WhoAmI& in, v1::WhoAmIReply* out);

policy::PolicySource Read(const v1::PolicySource& in);
void Write(const policy::PolicySource& in, v1::PolicySource* out);
void Write(const store::PolicyVersion& in, v1::PolicyVersion* out);
policy::Question Read(const v1::Question& in);
void Write(const policy::Explanation& in, v1::Explanation* out);
void Write(const ExceptionView& in, v1::Exception* out);

void Write(const SecretView& in, v1::SecretInfo* out);
// Takes the value out of the message and wipes it there.
base::Secret TakeSecret(std::string* value);

absl::StatusOr<audit::Filter> Read(const v1::ListRecordsRequest& in);

EdgeHello Read(const v1::WatchRequest& in);
void Write(const EdgeMessage& in, absl::Time now, v1::EdgeUpdate* out);

}  // namespace credbroker::control
