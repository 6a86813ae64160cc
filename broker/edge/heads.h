#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "base/secret.h"
#include "edge/describe.h"
#include "gate/passage.h"
#include "wire/http_head.h"

namespace credbroker::edge {

// Heads are written anew from what was parsed; nothing of a head is copied unread.

// How the request's body goes upstream.
struct BodyPlan {
  wire::Framing framing = wire::Framing::kNone;  // kNone, kLength, kChunked
  uint64_t length = 0;
  bool expect_continue = false;
  bool drop_coding = false;  // the body is sent decoded
};

// Fields that the upstream itself gave for this very request: written as they are, in place of what the client sent by those
// names. One of them that logs in stands in place of the credential.
using OwnFields = std::span<const std::pair<std::string, base::Secret>>;

// Appends the upstream's request head with the credential in its one place. Needs the passage: without intent and lease
// there is nothing to inject. Left out: hop-by-hop and Proxy-* fields, forwarding fields; tokens of ours wherever they
// are; on a managed host every credential field, and codings in which the credential could come back unseen. A WebSocket's
// handshake is written anew, without extensions: in compressed frames the credential could come back unseen. The caller wipes `out`.
// Fails kSecretInvalid for a value that cannot stand in its place.
absl::Status AppendUpstreamHead(const wire::RequestHead& head, const Request& request, const gate::Passage& passage,
                                const BodyPlan& body, std::string* out, OwnFields own = {});

// How the answer's body goes to the client.
struct ReplyPlan {
  wire::Framing framing = wire::Framing::kNone;  // as written to the client
  bool close = false;                            // this answer is the connection's last
  bool switches = false;                         // this 101 makes the connection a WebSocket
  std::optional<std::string> location;           // stands in place of the upstream's; empty: none
};

// Appends the client's response head. Left out: hop-by-hop fields, and on a managed host Set-Cookie and what tells of the
// real credential. The lease's scrub set is applied to each value.
void AppendClientHead(const wire::ResponseHead& head, const gate::Passage& passage, const ReplyPlan& plan, std::string* out);

}  // namespace credbroker::edge
