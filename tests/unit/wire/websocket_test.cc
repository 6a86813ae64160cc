#include "wire/websocket.h"

#include <string>
#include <vector>

#include "base/str.h"
#include "kit/status_matchers.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using Kind = FrameStep::Kind;
using namespace std::string_literals;

// RFC 6455 section 1.3.
constexpr std::string_view kKey = "dGhlIHNhbXBsZSBub25jZQ==";
constexpr std::string_view kAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
constexpr std::string_view kFields =
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

std::string Replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out(text);
  EXPECT_NE(out.find(what), std::string::npos) << what;
  return out.replace(out.find(what), what.size(), by);
}

ErrorCode Read(const std::string& fields, WebSocketAsk* ask, const std::string& line = "GET /ws HTTP/1.1") {
  const std::string text = line + "\r\nHost: a.test\r\n" + fields + "\r\n";
  RequestHead head;
  const ParseResult parsed = ParseRequestHead(text, {}, &head);
  return parsed.complete() ? ReadWebSocketAsk(head, ask) : parsed.error;
}

TEST(WebSocketTest, AcceptsTheHandshakeOfTheStandard) {
  WebSocketAsk ask;
  ASSERT_EQ(Read(base::StrCat(kFields, "Sec-WebSocket-Protocol: chat, superchat\r\nSec-WebSocket-Protocol: v2\r\n"), &ask), ErrorCode::kNone);
  EXPECT_EQ(ask.key, kKey);
  EXPECT_THAT(ask.protocols, testing::ElementsAre("chat", "superchat", "v2"));
  EXPECT_EQ(WebSocketAccept(kKey), kAccept);
  EXPECT_EQ(Read(Replaced(kFields, "Connection: Upgrade", "Connection: keep-alive, upgrade"), &ask), ErrorCode::kNone) << "Firefox";
  EXPECT_EQ(Read(Replaced(kFields, "Upgrade: websocket", "Upgrade: WebSocket"), &ask), ErrorCode::kNone);
  EXPECT_EQ(Read(base::StrCat(kFields, "Content-Length: 0\r\n"), &ask), ErrorCode::kNone);
  EXPECT_TRUE(ask.protocols.empty()) << "of the handshake before";
}

TEST(WebSocketTest, RefusesWhatIsNotExactlyOneHandshake) {
  const struct { std::string_view what, by; ErrorCode code; } kChanges[] = {
      {"Upgrade: websocket", "Upgrade: h2c", ErrorCode::kUpgradeNotSupported},
      {"Upgrade: websocket", "Upgrade: websocket, h2c", ErrorCode::kUpgradeNotSupported},
      {"Upgrade: websocket", "Upgrade: websocket/13", ErrorCode::kUpgradeNotSupported},
      {"Upgrade: websocket", "Upgrade:", ErrorCode::kUpgradeNotSupported},
      {"Upgrade: websocket", "Upgrade: websocket\r\nUpgrade: websocket", ErrorCode::kMalformedHttp},
      {"Connection: Upgrade\r\n", "", ErrorCode::kBadHandshake},
      {"Connection: Upgrade", "Connection: keep-alive", ErrorCode::kBadHandshake},
      {"Connection: Upgrade", "Connection: Upgrade, close", ErrorCode::kBadHandshake},
      {"Version: 13", "Version: 8", ErrorCode::kBadHandshake},
      {"Version: 13", "Version: 13, 8", ErrorCode::kBadHandshake},
      {"Sec-WebSocket-Version: 13\r\n", "", ErrorCode::kBadHandshake},
      {"Version: 13", "Version: 13\r\nSec-WebSocket-Version: 13", ErrorCode::kBadHandshake},
      {"ub25jZQ==\r\n", "ub25jZQ==\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", ErrorCode::kBadHandshake},
      {"Key: dGhlIHNhbXBsZSBub25jZQ==", "Key: dGhlIHNhbXBsZSBub25jZQ", ErrorCode::kBadHandshake},
      {"Key: dGhlIHNhbXBsZSBub25jZQ==", "Key: dGhlIHNhbXBsZSBub25jZQQQ", ErrorCode::kBadHandshake},  // 18 bytes
      {"Key: dGhlIHNhbXBsZSBub25jZQ==", "Key: dGhlIHNhbXBsZSBub25jZR==", ErrorCode::kBadHandshake},  // unused bits
      {"Key: dGhlIHNhbXBsZSBub25jZQ==", "Key: x", ErrorCode::kBadHandshake},
      {"Connection: Upgrade", "Connection: Upgrade\r\nContent-Length: 1", ErrorCode::kBadHandshake},
      {"Connection: Upgrade", "Connection: Upgrade\r\nTransfer-Encoding: chunked", ErrorCode::kBadHandshake},
      {"Connection: Upgrade", "Connection: Upgrade\r\nExpect: 100-continue", ErrorCode::kBadHandshake},
      {"Connection: Upgrade", "Connection: Upgrade\r\nSec-WebSocket-Protocol: a b", ErrorCode::kBadHandshake},
  };
  WebSocketAsk ask;
  for (const auto& change : kChanges) EXPECT_EQ(Read(Replaced(kFields, change.what, change.by), &ask), change.code) << change.by;
  for (const char* line : {"POST /ws HTTP/1.1", "HEAD /ws HTTP/1.1", "GET /ws HTTP/1.0"}) {
    EXPECT_EQ(Read(std::string(kFields), &ask, line), ErrorCode::kBadHandshake) << line;
  }
}

TEST(WebSocketTest, WritesWhatItReadAndNoExtension) {
  WebSocketAsk ask, again;
  ASSERT_EQ(Read(base::StrCat(kFields, "Sec-WebSocket-Extensions: permessage-deflate\r\nSec-WebSocket-Protocol: a,b\r\n"), &ask), ErrorCode::kNone);
  std::string out;
  AppendWebSocketAsk(ask, &out);
  EXPECT_EQ(out.find("xtensions"), std::string::npos);
  ASSERT_EQ(Read(out, &again), ErrorCode::kNone);
  EXPECT_EQ(again.key, ask.key);
  EXPECT_EQ(again.protocols, ask.protocols);
}

TEST(WebSocketTest, TakesOnlyTheAnswerToWhatWasAsked) {
  const std::string good = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                           "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n";
  const WebSocketAsk ask{std::string(kKey), {"chat", "v2"}};
  const auto fits = [&](const std::string& text) {
    ResponseHead head;
    EXPECT_TRUE(ParseResponseHead(text, "GET", {}, &head).complete()) << text;
    return FitsWebSocketAsk(head, ask);
  };
  EXPECT_TRUE(fits(good));
  EXPECT_TRUE(fits(Replaced(good, "Protocol: chat", "Protocol: v2")));
  EXPECT_TRUE(fits(Replaced(good, "Sec-WebSocket-Protocol: chat\r\n", "")));
  EXPECT_TRUE(fits(Replaced(good, "Connection: Upgrade", "connection: keep-alive, upgrade")));
  const std::pair<std::string_view, std::string_view> kChanges[] = {
      {"HTTP/1.1 101", "HTTP/1.0 101"}, {"101 Switching Protocols", "200 OK"}, {"Upgrade: websocket\r\n", ""}, {"websocket", "h2c"},
      {"Connection: Upgrade\r\n", ""}, {"Connection: Upgrade", "Connection: close"}, {"s3pPLMBi", "S3pPLMBi"},
      {"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n", ""},
      {"xOo=\r\n", "xOo=\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"},
      {"xOo=\r\n", "xOo=\r\nSec-WebSocket-Extensions: permessage-deflate\r\n"}, {"Protocol: chat", "Protocol: other"},
      {"Protocol: chat", "Protocol: chat, v2"}, {"Protocol: chat", "Protocol:"}, {"Protocol: chat", "Protocol: chat\r\nSec-WebSocket-Protocol: v2"},
  };
  for (const auto& [what, by] : kChanges) EXPECT_FALSE(fits(Replaced(good, what, by))) << what << " -> " << by;
}

TEST(WebSocketTest, KnowsKeysThatPoseAsProtocols) {
  for (const char* key : {"openai-insecure-api-key.sk-1", "base64url.bearer.authorization.k8s.io.eA", "Authorization", "access_token.x"}) {
    EXPECT_TRUE(IsCredentialProtocol(key)) << key;
  }
  for (const char* name : {"realtime", "graphql-transport-ws", "openai-beta.realtime-v1", "v5.channel.k8s.io", "mqtt"}) {
    EXPECT_FALSE(IsCredentialProtocol(name)) << name;
  }
}

struct Cut {
  std::string words;  // one letter a step: h header, p payload (once however often), c control, x error; . between messages
  std::size_t taken = 0;
  bool operator==(const Cut&) const = default;
};

Cut CutFrames(std::string_view bytes, std::size_t piece) {
  ServerFrames frames;
  Cut cut;
  for (std::size_t given = 0; given < bytes.size();) {
    given = std::min(given + piece, bytes.size());
    while (true) {
      const FrameStep step = frames.Next(bytes.substr(cut.taken, given - cut.taken));
      cut.taken += step.bytes.size();
      if (step.kind == Kind::kNeedMore) break;
      EXPECT_LE(step.kind == Kind::kControl ? step.bytes.size() : 0, ServerFrames::kMaxControlBytes);
      const char word = step.kind == Kind::kHeader ? 'h' : step.kind == Kind::kPayload ? 'p' : step.kind == Kind::kControl ? 'c' : 'x';
      if (word != 'p' || !cut.words.ends_with('p')) cut.words += word;
      if (word == 'x') return cut;
      if (frames.between_messages()) cut.words += '.';
    }
  }
  return cut;
}

TEST(WebSocketTest, CutsFramesWhereverTheBytesAreSplit) {
  const std::string medium = "\x82\x7E\x01\x00"s + std::string(256, 'm');
  const std::string large = "\x82\x7F\0\0\0\0\0\1\0\0"s + std::string(65536, 'l');
  const struct { std::string bytes; std::string words; } kCases[] = {
      {"\x81\x05hello"s, "hp."}, {"\x82\0\x81\1x"s, "h.hp."}, {"\x01\3abc\x80\2de"s, "hphp."}, {"\x01\3abc\x89\1p\0\0\x80\0"s, "hpchh."},
      {"\x89\0\x8A\4pong\x88\2\x03\xE8"s, "c.c.c."}, {medium, "hp."}, {large, "hp."}, {"\x81\x02" "a"s, "hp"},
  };
  for (const auto& c : kCases) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{7}, c.bytes.size()}) {
      const Cut cut = CutFrames(c.bytes, piece);
      EXPECT_EQ(cut.words, c.words) << c.bytes.substr(0, 10) << " in pieces of " << piece;
      EXPECT_EQ(cut.taken, c.bytes.size());
    }
  }
}

TEST(WebSocketTest, RefusesFramesThatNoServerMaySend) {
  const std::pair<const char*, std::string> kCases[] = {
      {"masked", "\x81\x85\1\2\3\4hello"s}, {"compressed", "\xC1\5hello"s}, {"reserved bit 2", "\xA1\0"s}, {"reserved bit 3", "\x91\0"s},
      {"opcode 3", "\x83\0"s}, {"opcode 11", "\x8B\0"s}, {"continuation of nothing", "\x80\0"s}, {"length in two bytes", "\x82\x7E\0\x7D"s},
      {"length in eight bytes", "\x82\x7F\0\0\0\0\0\0\xFF\xFF"s}, {"length above 2^63", "\x82\x7F\x80\0\0\0\0\0\0\0"s},
      {"long ping", "\x89\x7E\x01\x00"s}, {"ping in parts", "\x09\0"s}, {"half a close code", "\x88\1\3"s},
  };
  for (const auto& [name, bytes] : kCases) {
    EXPECT_EQ(CutFrames(bytes, bytes.size()).words, "x") << name;
    EXPECT_EQ(CutFrames(bytes, 1).words, "x") << name;
  }
  EXPECT_EQ(CutFrames("\x01\1a\x81\1b"s, 4).words, "hpx") << "a message within a message";
}

TEST(WebSocketTest, RemembersAClose) {
  ServerFrames frames;
  EXPECT_EQ(frames.Next("\x89\0"s).kind, Kind::kControl);
  EXPECT_FALSE(frames.closing());
  EXPECT_EQ(frames.Next("\x88\0"s).kind, Kind::kControl);
  EXPECT_TRUE(frames.closing());
}

}  // namespace
}  // namespace credbroker::wire
