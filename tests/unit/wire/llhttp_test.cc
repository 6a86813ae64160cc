#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/text.h"
#include "kit/status_matchers.h"
#include "wire/chunked.h"
#include "wire/http_head.h"

// The public cases of llhttp (shared vectors, http1-llhttp). Where it refuses, the strict parsers refuse as well.

namespace credbroker::wire {
namespace {

std::string VectorsFolder() {
  const char* folder = std::getenv("CREDBROKER_VECTORS");
  return folder != nullptr ? folder : CREDBROKER_SOURCE_DIR "/../shared/vectors";
}

struct Outcome {
  bool refused = false;
  bool waiting = false;  // for more bytes, or until the peer closes
  int messages = 0;
  bool operator==(const Outcome&) const = default;
};

// A connection that takes `piece` bytes at a time.
class Connection {
 public:
  Connection(std::string_view bytes, bool response) : bytes_(bytes), response_(response) {}

  Outcome Run(std::size_t piece) {
    while (true) {
      given_ = std::min(given_ + piece, bytes_.size());
      while (Step()) {
      }
      outcome_.waiting = !outcome_.refused && !closed_ && (at_ < bytes_.size() || in_body_);
      if (outcome_.refused || closed_ || given_ == bytes_.size()) return outcome_;
    }
  }

 private:
  std::string_view Rest() const { return bytes_.substr(at_, given_ - at_); }

  bool Step() {
    if (outcome_.refused || closed_) return false;
    return in_body_ ? Body() : Head();
  }

  bool Head() {
    if (Rest().empty()) return false;
    const ParseResult result =
        response_ ? ParseResponseHead(Rest(), "GET", {}, &answer_) : ParseRequestHead(Rest(), {}, &request_);
    outcome_.refused = result.failed();
    if (!result.complete()) return false;
    at_ += result.consumed;
    framing_ = response_ ? answer_.framing : request_.framing;
    left_ = response_ ? answer_.content_length : request_.content_length;
    chunks_ = ChunkedDecoder(response_ ? ChunkedDecoder::Side::kResponse : ChunkedDecoder::Side::kRequest);
    in_body_ = true;
    return true;
  }

  bool Body() {
    if (framing_ == Framing::kNone) return EndMessage();
    if (framing_ == Framing::kUntilClose) {
      at_ = given_;
      return false;
    }
    if (framing_ == Framing::kLength) {
      const std::size_t taken = std::min<std::size_t>(left_, Rest().size());
      at_ += taken;
      left_ -= taken;
      return left_ == 0 && EndMessage();
    }
    const ChunkStep step = chunks_.Next(Rest());
    at_ += step.consumed;
    outcome_.refused = step.kind == ChunkStep::Kind::kError;
    if (step.kind == ChunkStep::Kind::kComplete) return EndMessage();
    return step.kind == ChunkStep::Kind::kData;
  }

  bool EndMessage() {
    in_body_ = false;
    ++outcome_.messages;
    const bool tunnel = !response_ && (request_.method == "CONNECT" || request_.upgrade);
    closed_ = tunnel || !(response_ ? answer_.keep_alive : request_.keep_alive) || (response_ && answer_.status == 101);
    return true;
  }

  std::string_view bytes_;
  bool response_;
  std::size_t at_ = 0, given_ = 0;
  RequestHead request_;
  ResponseHead answer_;
  Framing framing_ = Framing::kNone;
  std::uint64_t left_ = 0;
  ChunkedDecoder chunks_{ChunkedDecoder::Side::kRequest};
  bool in_body_ = false, closed_ = false;
  Outcome outcome_;
};

TEST(LlhttpTest, RefusesWhatLlhttpRefuses) {
  std::ifstream file(VectorsFolder() + "/http1-llhttp/cases.json");
  if (!file) {
    std::printf("ABSENT: http1-llhttp vectors; set CREDBROKER_VECTORS to their folder\n");
    return;
  }
  std::map<std::string, int> tally;
  for (const nlohmann::json& c : nlohmann::json::parse(file)) {
    const std::string id = c["id"], type = c["type"], outcome = c["outcome"];
    if (type == "url") continue;
    std::string bytes;
    ASSERT_TRUE(base::Base64Decode(c["input_b64"].get<std::string>(), &bytes)) << id;
    const bool response = type.starts_with("response");
    const Outcome ours = Connection(bytes, response).Run(bytes.size());
    for (std::size_t piece = 1; piece < bytes.size(); ++piece)
      EXPECT_EQ(Connection(bytes, response).Run(piece), ours) << id << " in pieces of " << piece;

    const std::string verdict = ours.refused ? "refused" : ours.waiting ? "waiting" : "taken";
    ++tally[type.substr(0, type.find('-')) + (type.find("lenient") != std::string::npos ? " lenient" : "") + " " +
            outcome + ": " + verdict];
    if (type.find("lenient") != std::string::npos || outcome != "error") continue;
    // Refused, or no more messages let through than were whole before the error (an unfinished one times out; data
    // after `Connection: close` is dropped with the connection).
    const bool safe = ours.refused || ours.messages <= c["messages_complete"].get<int>();
    EXPECT_TRUE(safe) << id << " " << c["title"] << ": " << ours.messages << " messages\n" << bytes;
  }
  // Read one by one: what waits is cut short (a line or the empty line is missing), what is taken in spite of an error
  // is a whole message before data that `Connection: close` drops. A change here is a change of what the parsers let
  // in.
  const std::map<std::string, int> expected = {
      {"request error: refused", 48},      {"request error: taken", 2},
      {"request error: waiting", 5},       {"request lenient error: refused", 5},
      {"request lenient ok: refused", 18}, {"request lenient ok: taken", 1},
      {"request lenient ok: waiting", 1},  {"request lenient upgrade: refused", 4},
      {"request ok: refused", 54},         {"request ok: taken", 2},
      {"request ok: waiting", 2},          {"request upgrade: refused", 5},
      {"request upgrade: taken", 5},       {"response error: refused", 21},
      {"response error: taken", 2},        {"response error: waiting", 1},
      {"response lenient ok: refused", 6}, {"response lenient ok: taken", 2},
      {"response ok: refused", 13},        {"response ok: taken", 10},
      {"response ok: waiting", 16},        {"response upgrade: refused", 2}};
  EXPECT_EQ(tally, expected);
}

}  // namespace
}  // namespace credbroker::wire
