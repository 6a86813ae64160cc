#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/http_head.h"

namespace credbroker::wire {

// WebSocket (RFC 6455) as far as a relay between two endpoints needs it: the opening handshake, and where a server's
// frames begin and end.

// What a client's handshake asks for.
struct WebSocketAsk {
  std::string key;                     // 24 characters: base64 of 16 bytes
  std::vector<std::string> protocols;  // in the client's order; no extensions, which are never passed on
};

// Reads the handshake of a request that has an Upgrade field (section 4.2.1). kUpgradeNotSupported for every protocol but
// `websocket` alone; kBadHandshake for a handshake that is not exactly one: GET over HTTP/1.1 without a body or an
// expectation, Connection with `upgrade` and without `close`, one version 13, one key. `out` is good on kNone.
base::ErrorCode ReadWebSocketAsk(const RequestHead& head, WebSocketAsk* out);

// Appends the fields of a handshake that asks for the same: upgrade, connection, version, key, protocols.
void AppendWebSocketAsk(const WebSocketAsk& ask, std::string* out);

// Does a 101 answer agree to just this (section 4.1)? HTTP/1.1, Upgrade, Connection and Sec-WebSocket-Accept once each with
// the right value, no extension, and no protocol but one that was asked for.
bool FitsWebSocketAsk(const ResponseHead& head, const WebSocketAsk& ask);

// The Sec-WebSocket-Accept that answers `key`.
std::string WebSocketAccept(std::string_view key);

// Sec-WebSocket-*: fields of the handshake, which each side of a relay writes itself.
bool IsWebSocketHeader(std::string_view name);

// Is this sub-protocol a key in disguise? Scripts in browsers can send a key in no other field of a handshake.
bool IsCredentialProtocol(std::string_view protocol);

// What one call of ServerFrames::Next found.
struct FrameStep {
  enum class Kind {
    kNeedMore,  // nothing is consumed: call again with more behind the same bytes
    kHeader,    // of a data frame; its payload follows
    kPayload,   // a part of it, never empty
    kControl,   // a whole control frame, at most kMaxControlBytes
    kError,     // not a frame that a server may send here
  };
  Kind kind = Kind::kNeedMore;
  std::string_view bytes;  // of the step, a view into the bytes given: drop so many before the next call
};

// Cuts the bytes of one server into frames (section 5.2), wherever they are split. Strict: no mask, no reserved bit (so no
// compressed frame), the shortest form of each length, control frames whole and short, fragments in order. Holds no bytes.
//
//   frame := fin:1 0:3 opcode:4 | 0:1 length:7 [length:16 | length:64] | payload
class ServerFrames {
 public:
  static constexpr std::size_t kMaxControlPayload = 125;
  static constexpr std::size_t kMaxControlBytes = 2 + kMaxControlPayload;

  FrameStep Next(std::string_view bytes);

  // All that was taken ends with a whole message.
  bool between_messages() const { return !in_message_; }
  // A Close frame was seen: the end of the stream is no surprise.
  bool closing() const { return closing_; }

 private:
  FrameStep TakeControl(std::string_view bytes);
  FrameStep TakeHeader(std::string_view bytes);

  std::uint64_t left_ = 0;   // of the data frame's payload
  bool final_ = true;        // the frame is the message's last
  bool in_message_ = false;  // a fragment or a part of a payload is still to come
  bool closing_ = false;
};

}  // namespace credbroker::wire
