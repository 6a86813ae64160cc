#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "model/facts.h"
#include "wire/http_head.h"
#include "wire/websocket.h"

namespace credbroker::edge {

struct SessionSocket;

// The door that a request came in by, and what it already fixes.
struct Door {
  enum class Kind {
    kProxy,    // absolute-form http:// on the proxy's listener
    kTunnel,   // inside an intercepted CONNECT: `target` is its authority
    kGateway,  // the target stands in the path, or is the Host
  };
  Kind kind = Kind::kProxy;
  model::Authority target;                            // kTunnel only
  model::Scheme scheme = model::Scheme::kHttp;        // kTunnel only: what is spoken inside
  const std::vector<std::string>* gateway_names = nullptr;  // kGateway only
  std::string server_name;  // kGateway over TLS: the name that the client asked for, which Host must repeat
  std::shared_ptr<const SessionSocket> socket;  // the connection came by a session's own socket: its caller is known
};

// One request in canonical form: what is judged, and what of it goes upstream. They are the same bytes.
struct Request {
  model::Facts facts;
  std::string query;  // with its `?`, empty if there is none
  std::vector<std::string> query_names;
  std::optional<wire::WebSocketAsk> websocket;  // the request is a WebSocket's handshake

  std::string Resource() const { return facts.path + query; }
};

// From a head to facts. Host, target and door must name one authority. Fails kMisdirected, kBadHost, kBadPath,
// kMalformedHttp (a target form that the door does not take, a WebSocket handshake that is not exactly one),
// kMethodNotSupported (CONNECT inside), kUpgradeNotSupported (another protocol, or an upgrade of a git request). A WebSocket
// is judged as the GET that it is.
absl::StatusOr<Request> Describe(const wire::RequestHead& head, const Door& door);

// Facts of a CONNECT. Fails kBadHost; kMisdirected when a Host field names neither the target nor the proxy itself.
absl::StatusOr<model::Facts> DescribeConnect(const wire::RequestHead& head, const std::vector<std::string>& own_names);

std::string_view ChannelName(Door::Kind kind);  // "http", "connect", "gateway"

}  // namespace credbroker::edge
