#include <algorithm>
#include <string>

#include "fuzz_bytes.h"
#include "wire/websocket.h"

using namespace credbroker;
using Kind = wire::FrameStep::Kind;

namespace {

// What the frames are, without regard to where payload was cut.
struct Outcome {
  std::string words;
  std::size_t taken = 0;
  bool between = true, closing = false;
  bool operator==(const Outcome&) const = default;
};

Outcome Cut(std::string_view bytes, std::size_t piece) {
  wire::ServerFrames frames;
  Outcome outcome;
  for (std::size_t given = 0; given < bytes.size();) {
    given = std::min(given + piece, bytes.size());
    while (true) {
      const wire::FrameStep step = frames.Next(bytes.substr(outcome.taken, given - outcome.taken));
      outcome.taken += step.bytes.size();
      if (step.kind == Kind::kNeedMore) {
        fuzz::Require(given - outcome.taken < wire::ServerFrames::kMaxControlBytes);
        break;
      }
      const char word = "?hpcx"[static_cast<int>(step.kind)];
      fuzz::Require((word == 'x') == step.bytes.empty());
      if (word != 'p' || !outcome.words.ends_with('p')) outcome.words += word;
      if (word == 'x') return outcome;
    }
  }
  outcome.between = frames.between_messages();
  outcome.closing = frames.closing();
  return outcome;
}

void CheckHandshake(std::string_view bytes) {
  wire::RequestHead head;
  wire::WebSocketAsk ask, again;
  const bool parsed = wire::ParseRequestHead(bytes, {}, &head).complete();
  if (parsed && wire::ReadWebSocketAsk(head, &ask) == base::ErrorCode::kNone) {
    std::string text = "GET / HTTP/1.1\r\nhost: a.test\r\n";
    wire::AppendWebSocketAsk(ask, &text);
    text.append("\r\n");
    wire::RequestHead written;
    fuzz::Require(wire::ParseRequestHead(text, {.max_head_bytes = 1 << 20}, &written).complete());
    fuzz::Require(wire::ReadWebSocketAsk(written, &again) == base::ErrorCode::kNone);
    fuzz::Require(again.key == ask.key && again.protocols == ask.protocols);
  }
  wire::ResponseHead reply;
  const wire::WebSocketAsk fixed{"dGhlIHNhbXBsZSBub25jZQ==", {"chat"}};
  if (!wire::ParseResponseHead(bytes, "GET", {}, &reply).complete() || !wire::FitsWebSocketAsk(reply, fixed)) return;
  fuzz::Require(reply.status == 101 && bytes.find("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=") != std::string_view::npos);
}

}  // namespace

// Frames do not depend on the cuts; a handshake that was taken is written as one that is taken, with the same content.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view bytes = fuzz::View(data, size);
  const Outcome whole = Cut(bytes, size + 1);
  fuzz::Require(Cut(bytes, 1) == whole && Cut(bytes, 5) == whole);
  CheckHandshake(bytes);
  return 0;
}
