#include "client/broker.h"

#include <grpcpp/grpcpp.h>

#include <chrono>

#include "base/error.h"
#include "base/str.h"
#include "credbroker/credbroker.h"
#include "credbroker/v1/audit.grpc.pb.h"
#include "credbroker/v1/evidence.grpc.pb.h"
#include "credbroker/v1/policy.grpc.pb.h"
#include "credbroker/v1/secret.grpc.pb.h"
#include "credbroker/v1/session.grpc.pb.h"
#include "credbroker/v1/status.grpc.pb.h"
#include "credbroker/v1/token.grpc.pb.h"

namespace credbroker::client {
namespace {

constexpr std::chrono::seconds kCallLimit{30};
// Ten thousand records of 16 KiB each are the largest answer.
constexpr int kMaxMessageBytes = 192 << 20;

std::shared_ptr<grpc::Channel> OpenChannel(const Settings& settings) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  // Proxy variables are for the sandbox's traffic; the way to the broker never leads through the edge.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (settings.local) {
    // gRPC derives the :authority from the path, and some readers refuse its percent signs.
    arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
    return grpc::CreateCustomChannel(settings.address, grpc::InsecureChannelCredentials(), arguments);
  }
  grpc::SslCredentialsOptions tls;
  tls.pem_root_certs = settings.api_ca_pem;
  return grpc::CreateCustomChannel(settings.address, grpc::SslCredentials(tls), arguments);
}

// What the broker's message says beyond the catalogue text, which base::Error puts in front again.
std::string_view Detail(std::string_view message, std::string_view text) {
  if (!message.starts_with(text)) return message;
  message.remove_prefix(text.size());
  return message.starts_with(": ") ? message.substr(2) : message;
}

absl::Status FromBroker(int number, const std::string& message) {
  const base::ErrorEntry& entry = base::Lookup(static_cast<base::ErrorCode>(number));
  return base::Error(entry.code, Detail(message, entry.text));
}

// gRPC's own failures: no broker has spoken.
absl::Status FromChannel(const grpc::Status& status, const std::string& address) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return base::Error(base::ErrorCode::kBrokerUnreachable, base::StrCat(address, " (", status.error_message(), ")"));
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::PERMISSION_DENIED:
      return base::Error(base::ErrorCode::kCallerNotAllowed, status.error_message());
    case grpc::StatusCode::UNIMPLEMENTED:
      return base::Error(base::ErrorCode::kInternal, "the broker does not offer this call; is it another version?");
    default:
      return base::Error(base::ErrorCode::kInternal, status.error_message());
  }
}

absl::Status ToStatus(const grpc::Status& status, const grpc::ClientContext& context, const std::string& address) {
  if (status.ok()) return absl::OkStatus();
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto found = trailers.find(kErrorMetadata);
  int number = 0;
  if (found != trailers.end() &&
      base::ParseInt(std::string_view(found->second.data(), found->second.size()), &number)) {
    return FromBroker(number, status.error_message());
  }
  return FromChannel(status, address);
}

// Reads a stream until `visit` returns false or the broker ends it.
template <typename M, typename Visit>
absl::Status ReadAll(grpc::ClientContext& context, grpc::ClientReader<M>& reader, const std::string& address,
                     const Visit& visit) {
  M message;
  while (reader.Read(&message)) {
    if (visit(message)) continue;
    context.TryCancel();
    reader.Finish();
    return absl::OkStatus();
  }
  return ToStatus(reader.Finish(), context, address);
}

}  // namespace

struct Broker::Connection {
  std::string address, admin_token;
  std::shared_ptr<grpc::Channel> channel;

  void Prepare(std::string_view token, grpc::ClientContext* context) const {
    if (!admin_token.empty()) context->AddMetadata(kAdminMetadata, base::StrCat("Bearer ", admin_token));
    if (!token.empty()) context->AddMetadata(kTokenMetadata, std::string(token));
  }
};

Broker::Broker(const Settings& settings)
    : connection_(new Connection{settings.address, settings.admin_token, OpenChannel(settings)}) {}

Broker::~Broker() = default;

#define X(service, call)                                                                                        \
  absl::Status Broker::call(const v1::call##Request& request, v1::call##Reply* reply, std::string_view token) { \
    grpc::ClientContext context;                                                                                \
    context.set_deadline(std::chrono::system_clock::now() + kCallLimit);                                        \
    connection_->Prepare(token, &context);                                                                      \
    const grpc::Status status = v1::service::NewStub(connection_->channel)->call(&context, request, reply);     \
    return ToStatus(status, context, connection_->address);                                                     \
  }
CREDBROKER_CLIENT_CALLS(X)
#undef X

absl::Status Broker::TailRecords(const v1::ListRecordsRequest& request,
                                 const std::function<bool(std::string_view)>& line) {
  grpc::ClientContext context;
  connection_->Prepare({}, &context);
  const auto stub = v1::AuditService::NewStub(connection_->channel);
  return ReadAll<v1::RecordLine>(context, *stub->TailRecords(&context, request), connection_->address,
                                 [&](const v1::RecordLine& record) { return line(record.json()); });
}

absl::Status Broker::ExportRecords(const v1::ExportRecordsRequest& request,
                                   const std::function<bool(const v1::ExportedRecord&)>& record) {
  grpc::ClientContext context;
  connection_->Prepare({}, &context);
  const auto stub = v1::AuditService::NewStub(connection_->channel);
  return ReadAll<v1::ExportedRecord>(context, *stub->ExportRecords(&context, request), connection_->address, record);
}

}  // namespace credbroker::client
