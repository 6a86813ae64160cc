#include "control/rpc.h"

#include <string_view>

#include "base/error.h"
#include "base/str.h"
#include "control/event_log.h"
#include "credbroker/credbroker.h"

namespace credbroker::control {
namespace {

constexpr std::string_view kBearer = "Bearer ";

// Empty when it is missing; two of the same name are no proof of anything.
std::string_view OneMetadata(const grpc::ServerContext& context, const char* name) {
  const auto [begin, end] = context.client_metadata().equal_range(name);
  if (begin == end || std::next(begin) != end) return {};
  return {begin->second.data(), begin->second.size()};
}

// What the status says beyond the catalogue's text; the context in front of it is for the log.
std::string_view DetailOf(const absl::Status& status, std::string_view text) {
  const std::string_view message = base::View(status.message());
  const std::size_t at = message.find(text);
  return at == std::string_view::npos ? std::string_view() : message.substr(at + text.size());
}

void AddAccess(Core& core, const grpc::ServerContext& context, Caller* caller) {
  const std::string_view authorization = OneMetadata(context, kAdminMetadata);
  if (!authorization.starts_with(kBearer)) return;
  const absl::StatusOr<Access> access = core.accesses().Find(authorization.substr(kBearer.size()));
  if (!access.ok()) return;
  caller->roles = access->roles;
  caller->requester = access->requester;
  caller->actor = base::StrCat("access:", access->name);
}

}  // namespace

Caller CallerOf(Core& core, const Door& door, const grpc::ServerContext& context) {
  Caller caller{.roles = door.roles, .actor = door.actor};
  if (door.takes_access) AddAccess(core, context, &caller);
  if (door.roles.Has(Role::kEdge)) return caller;
  absl::StatusOr<token::Claims> holder = core.tokens().VerifyHolder(OneMetadata(context, kTokenMetadata));
  caller.holder_status = holder.status();
  if (holder.ok()) {
    caller.roles.Add(Role::kHolder);
    if (caller.actor.empty()) caller.actor = base::StrCat("token:", holder->id);
    caller.holder = *std::move(holder);
  }
  if (caller.actor.empty()) caller.actor = "anonymous";
  return caller;
}

grpc::Status Finish(Core& core, grpc::ServerContext* context, Rpc rpc, const Caller& caller,
                    const absl::Status& status) {
  ++core.metrics().calls;
  if (status.ok()) return grpc::Status::OK;
  const base::ErrorCode code = base::CodeOf(status);
  const base::ErrorEntry& entry = base::Lookup(code);
  core.metrics().CountError(entry.code);
  LogEvent(entry.status == absl::StatusCode::kInternal ? Level::kError : Level::kInfo, "call_refused",
           {{"call", std::string(RpcName(rpc))},
            {"actor", caller.actor},
            {"code", base::StrCat(static_cast<int>(entry.code))},
            {"detail", std::string(status.message())}});
  context->AddTrailingMetadata(kErrorMetadata, base::StrCat(static_cast<int>(entry.code)));
  std::string message(entry.text);
  if (caller.privileged() && entry.code != base::ErrorCode::kInternal) message += DetailOf(status, entry.text);
  return grpc::Status(static_cast<grpc::StatusCode>(entry.status), message);
}

}  // namespace credbroker::control
