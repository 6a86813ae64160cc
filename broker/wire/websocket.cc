#include "wire/websocket.h"

#include <algorithm>
#include <array>

#include "base/str.h"
#include "base/text.h"
#include "crypto/object_hash.h"
#include "wire/hop.h"
#include "wire/http_writer.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;

constexpr std::string_view kGuid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
constexpr std::size_t kKeyText = 24;
constexpr std::size_t kKeyBytes = 16;

bool Lists(std::string_view value, std::string_view wanted) {
  TokenList list(value);
  bool found = false;
  for (std::string_view token; list.Next(&token);) found = found || EqualsToken(token, wanted);
  return found && !list.malformed();
}

// The value of a field that stands there exactly once; else empty.
template <typename Head>
std::string_view Sole(const Head& head, std::string_view name) {
  return head.CountHeader(name) == 1 ? *head.FindHeader(name) : std::string_view();
}

bool IsKey(std::string_view text) {
  std::string bytes;
  return text.size() == kKeyText && base::Base64Decode(text, &bytes) && bytes.size() == kKeyBytes;
}

bool ReadProtocols(const RequestHead& head, std::vector<std::string>* out) {
  for (const Header& field : head.headers) {
    if (!EqualsToken(field.name, "sec-websocket-protocol")) continue;
    TokenList list(field.value);
    for (std::string_view token; list.Next(&token);) out->emplace_back(token);
    if (list.malformed()) return false;
  }
  return true;
}

unsigned Byte(std::string_view bytes, std::size_t i) { return static_cast<unsigned char>(bytes[i]); }

constexpr FrameStep kFault = {FrameStep::Kind::kError, {}};

}  // namespace

ErrorCode ReadWebSocketAsk(const RequestHead& head, WebSocketAsk* out) {
  if (!EqualsToken(Sole(head, "upgrade"), "websocket")) return ErrorCode::kUpgradeNotSupported;
  const bool bodyless = head.framing == Framing::kNone || (head.framing == Framing::kLength && head.content_length == 0);
  if (head.method != "GET" || head.minor_version != 1 || !bodyless || head.expect_continue) return ErrorCode::kBadHandshake;
  // One that wants the connection closed after the answer cannot want it kept as a WebSocket.
  if (!head.keep_alive || !Lists(Sole(head, "connection"), "upgrade")) return ErrorCode::kBadHandshake;
  if (Sole(head, "sec-websocket-version") != "13") return ErrorCode::kBadHandshake;
  const std::string_view key = Sole(head, "sec-websocket-key");
  if (!IsKey(key)) return ErrorCode::kBadHandshake;
  out->key = key;
  out->protocols.clear();
  return ReadProtocols(head, &out->protocols) ? ErrorCode::kNone : ErrorCode::kBadHandshake;
}

void AppendWebSocketAsk(const WebSocketAsk& ask, std::string* out) {
  AppendHeader("upgrade", "websocket", out);
  AppendHeader("connection", "Upgrade", out);
  AppendHeader("sec-websocket-version", "13", out);
  AppendHeader("sec-websocket-key", ask.key, out);
  if (ask.protocols.empty()) return;
  std::string list;
  for (const std::string& protocol : ask.protocols) base::StrAppend(&list, list.empty() ? "" : ", ", protocol);
  AppendHeader("sec-websocket-protocol", list, out);
}

bool FitsWebSocketAsk(const ResponseHead& head, const WebSocketAsk& ask) {
  if (head.status != 101 || head.minor_version != 1) return false;
  if (!EqualsToken(Sole(head, "upgrade"), "websocket") || !Lists(Sole(head, "connection"), "upgrade")) return false;
  if (Sole(head, "sec-websocket-accept") != WebSocketAccept(ask.key)) return false;
  if (head.CountHeader("sec-websocket-extensions") > 0) return false;
  if (head.CountHeader("sec-websocket-protocol") == 0) return true;
  const std::string_view chosen = Sole(head, "sec-websocket-protocol");
  return std::find(ask.protocols.begin(), ask.protocols.end(), chosen) != ask.protocols.end();
}

std::string WebSocketAccept(std::string_view key) {
  // SHA-1 by the protocol's word: it proves that the peer read the handshake, nothing more.
  crypto::ObjectHash hash(crypto::ObjectFormat::kSha1);
  hash.Add(key);
  hash.Add(kGuid);
  return base::Base64Encode(hash.Take());
}

bool IsWebSocketHeader(std::string_view name) {
  constexpr std::string_view kPrefix = "sec-websocket-";
  return name.size() >= kPrefix.size() && EqualsToken(name.substr(0, kPrefix.size()), kPrefix);
}

bool IsCredentialProtocol(std::string_view protocol) {
  // openai-insecure-api-key.KEY, base64url.bearer.authorization.k8s.io.TOKEN, access_token.TOKEN, and their like.
  constexpr std::array<std::string_view, 6> kWords = {"api-key", "apikey", "api_key", "bearer", "authorization", "token"};
  const std::string lower = base::AsciiLower(protocol);
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

FrameStep ServerFrames::Next(std::string_view bytes) {
  if (left_ > 0) {
    if (bytes.empty()) return {};
    const std::size_t taken = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    left_ -= taken;
    if (left_ == 0 && final_) in_message_ = false;
    return {FrameStep::Kind::kPayload, bytes.substr(0, taken)};
  }
  if (bytes.size() < 2) return {};
  if ((Byte(bytes, 0) & 0x70) != 0 || (Byte(bytes, 1) & 0x80) != 0) return kFault;
  return (Byte(bytes, 0) & 0x08) != 0 ? TakeControl(bytes) : TakeHeader(bytes);
}

FrameStep ServerFrames::TakeControl(std::string_view bytes) {
  constexpr unsigned kClose = 8, kPong = 10;
  const unsigned opcode = Byte(bytes, 0) & 0x0F;
  const std::size_t length = Byte(bytes, 1);
  const bool whole = (Byte(bytes, 0) & 0x80) != 0;
  if (opcode > kPong || !whole || length > kMaxControlPayload || (opcode == kClose && length == 1)) return kFault;
  if (bytes.size() < 2 + length) return {};
  closing_ = closing_ || opcode == kClose;
  return {FrameStep::Kind::kControl, bytes.substr(0, 2 + length)};
}

FrameStep ServerFrames::TakeHeader(std::string_view bytes) {
  const unsigned opcode = Byte(bytes, 0) & 0x0F;
  if (opcode > 2 || (opcode == 0) != in_message_) return kFault;
  std::uint64_t length = Byte(bytes, 1);
  const std::size_t more = length == 126 ? 2 : length == 127 ? 8 : 0;
  if (bytes.size() < 2 + more) return {};
  if (more > 0) {
    length = 0;
    for (std::size_t i = 0; i < more; ++i) length = length << 8 | Byte(bytes, 2 + i);
    if (length < (more == 2 ? 126U : 65536U) || length >> 63 != 0) return kFault;
  }
  final_ = (Byte(bytes, 0) & 0x80) != 0;
  left_ = length;
  in_message_ = !final_ || length > 0;
  return {FrameStep::Kind::kHeader, bytes.substr(0, 2 + more)};
}

}  // namespace credbroker::wire
