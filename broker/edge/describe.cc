#include "edge/describe.h"

#include <algorithm>

#include "base/error.h"
#include "base/macros.h"
#include "base/str.h"
#include "model/target.h"
#include "wire/query.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using model::Authority;
using model::Scheme;

absl::Status NameOneAuthority(const wire::RequestHead& head, const Authority& target, uint16_t default_port) {
  if (head.host.empty()) return absl::OkStatus();  // HTTP/1.0; the parser wants one in 1.1
  ASSIGN_OR_RETURN(const Authority host, model::ParseAuthority(head.host, default_port));
  if (!(host == target)) return base::Error(ErrorCode::kMisdirected);
  return absl::OkStatus();
}

absl::Status ReadUpgrade(const wire::RequestHead& head, Request* request) {
  if (request->facts.git) return base::Error(ErrorCode::kUpgradeNotSupported, "git");
  const ErrorCode code = wire::ReadWebSocketAsk(head, &request->websocket.emplace());
  return code == ErrorCode::kNone ? absl::OkStatus() : base::Error(code, "upgrade");
}

absl::Status FillTarget(std::string_view resource, Request* request) {
  const model::Target target = model::SplitTarget(resource);
  RETURN_IF_ERROR(model::CheckPath(target.path, model::EncodedSlash::kGitlab));
  request->facts.path = target.path;
  if (target.query) {
    request->query = resource.substr(target.path.size());
    request->query_names = wire::QueryNames(*target.query);
  }
  request->facts.git = model::DescribeGit(request->facts.method, target.path, target.query);
  return absl::OkStatus();
}

// Absolute form on the proxy's listener.
absl::Status FillFromProxy(const wire::RequestHead& head, Request* request) {
  if (head.form != wire::TargetForm::kAbsolute || head.scheme != "http") {
    return base::Error(ErrorCode::kMalformedHttp, "a proxy takes CONNECT or http://");
  }
  request->facts.scheme = Scheme::kHttp;
  ASSIGN_OR_RETURN(request->facts.authority, model::ParseAuthority(head.authority, 80));
  RETURN_IF_ERROR(NameOneAuthority(head, request->facts.authority, 80));
  return FillTarget(head.resource, request);
}

absl::Status FillFromTunnel(const wire::RequestHead& head, const Door& door, Request* request) {
  const uint16_t default_port = door.scheme == Scheme::kHttps ? 443 : 80;
  request->facts.scheme = door.scheme;
  request->facts.authority = door.target;
  if (head.form == wire::TargetForm::kAbsolute) {
    ASSIGN_OR_RETURN(const Authority target, model::ParseAuthority(head.authority, default_port));
    if (!(target == door.target) || (head.scheme == "https") != (door.scheme == Scheme::kHttps)) return base::Error(ErrorCode::kMisdirected);
  } else if (head.form != wire::TargetForm::kOrigin) {
    return base::Error(ErrorCode::kMalformedHttp, "target form");
  }
  RETURN_IF_ERROR(NameOneAuthority(head, door.target, default_port));
  return FillTarget(head.resource, request);
}

// `/HOST[:PORT]/path` when the gateway is addressed by a name of its own, else the Host is the target.
absl::Status FillFromGateway(const wire::RequestHead& head, const Door& door, Request* request) {
  if (head.form != wire::TargetForm::kOrigin) return base::Error(ErrorCode::kMalformedHttp, "target form");
  request->facts.scheme = Scheme::kHttps;
  ASSIGN_OR_RETURN(const Authority host, model::ParseAuthority(head.host, 443));
  if (!door.server_name.empty() && host.host != door.server_name) return base::Error(ErrorCode::kMisdirected);
  const auto& own = *door.gateway_names;
  if (std::find(own.begin(), own.end(), host.host) == own.end()) {
    request->facts.authority = host;
    return FillTarget(head.resource, request);
  }
  const std::string_view rest = head.resource.substr(1);
  const std::string_view name = rest.substr(0, rest.find_first_of("/?"));
  ASSIGN_OR_RETURN(request->facts.authority, model::ParseAuthority(name, 443));
  const std::string_view resource = rest.substr(name.size());
  if (resource.starts_with('/')) return FillTarget(resource, request);
  const std::string slashed = base::StrCat("/", resource);
  return FillTarget(slashed, request);
}

}  // namespace

absl::StatusOr<Request> Describe(const wire::RequestHead& head, const Door& door) {
  Request request;
  request.facts.method = head.method;
  if (head.method == "CONNECT") return base::Error(ErrorCode::kMethodNotSupported, "CONNECT inside");
  switch (door.kind) {
    case Door::Kind::kProxy: RETURN_IF_ERROR(FillFromProxy(head, &request)); break;
    case Door::Kind::kTunnel: RETURN_IF_ERROR(FillFromTunnel(head, door, &request)); break;
    case Door::Kind::kGateway: RETURN_IF_ERROR(FillFromGateway(head, door, &request)); break;
  }
  if (head.upgrade) RETURN_IF_ERROR(ReadUpgrade(head, &request));
  return request;
}

absl::StatusOr<model::Facts> DescribeConnect(const wire::RequestHead& head, const std::vector<std::string>& own_names) {
  model::Facts facts;
  facts.kind = model::Facts::Kind::kConnect;
  facts.method = head.method;
  ASSIGN_OR_RETURN(facts.authority, model::ParseAuthority(head.authority, std::nullopt));
  if (facts.authority.port == 80) facts.scheme = Scheme::kHttp;
  if (head.host.empty()) return facts;
  ASSIGN_OR_RETURN(const Authority host, model::ParseAuthority(head.host, facts.authority.port));
  // Node's http module names the proxy here. Nothing is taken from the field, so that is no second reading.
  const bool names_us = std::find(own_names.begin(), own_names.end(), host.host) != own_names.end();
  if (!(host == facts.authority) && !names_us) return base::Error(ErrorCode::kMisdirected);
  return facts;
}

std::string_view ChannelName(Door::Kind kind) {
  switch (kind) {
    case Door::Kind::kProxy: return "http";
    case Door::Kind::kTunnel: return "connect";
    case Door::Kind::kGateway: return "gateway";
  }
  return "http";
}

}  // namespace credbroker::edge
