#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
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

// What a message means: what rules are tested on and what is forwarded.
struct Message {
  std::string start;  // method and target, or status and reason
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  bool operator==(const Message&) const = default;
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
  // Those whose head was taken.
  const std::vector<Message>& messages() const { return messages_; }

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
    Message& message = messages_.emplace_back();
    message.start = response_ ? base::StrCat(answer_.status, " ", answer_.reason)
                              : base::StrCat(request_.method, " ", request_.target);
    for (const Header& field : response_ ? answer_.headers : request_.headers)
      message.fields.emplace_back(field.name, field.value);
    return true;
  }

  bool Body() {
    if (framing_ == Framing::kNone) return EndMessage();
    if (framing_ == Framing::kUntilClose) {
      messages_.back().body += Rest();
      at_ = given_;
      return false;
    }
    if (framing_ == Framing::kLength) {
      const std::size_t taken = std::min<std::size_t>(left_, Rest().size());
      messages_.back().body += Rest().substr(0, taken);
      at_ += taken;
      left_ -= taken;
      return left_ == 0 && EndMessage();
    }
    const ChunkStep step = chunks_.Next(Rest());
    if (step.kind == ChunkStep::Kind::kData) messages_.back().body += step.data;
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
  std::vector<Message> messages_;
};

// The cases that are streams of messages; none, with a word, where the vectors are absent.
std::vector<nlohmann::json> Cases() {
  std::ifstream file(VectorsFolder() + "/http1-llhttp/cases.json");
  if (!file) {
    std::printf("ABSENT: http1-llhttp vectors; set CREDBROKER_VECTORS to their folder\n");
    return {};
  }
  std::vector<nlohmann::json> out;
  const nlohmann::json all = nlohmann::json::parse(file);
  for (const nlohmann::json& c : all) {
    if (c["type"] != "url") out.push_back(c);
  }
  return out;
}

std::string InputOf(const nlohmann::json& c) {
  std::string bytes;
  EXPECT_TRUE(base::Base64Decode(c["input_b64"].get<std::string>(), &bytes)) << c["id"];
  return bytes;
}

// llhttp's reading, put together from its log: `off=7 len=4 span[url]="/url"`, and lines that end an element.
class Reading {
 public:
  explicit Reading(const std::string& bytes) : bytes_(bytes) {}

  std::vector<Message> Of(const nlohmann::json& log) {
    for (const std::string line : log) {
      unsigned at = 0, size = 0;
      char name[32] = {};
      if (line.ends_with("message begin")) {
        messages_.emplace_back();
        in_head_ = true;
      } else if (line.find("headers complete") != std::string::npos) {
        in_head_ = false;  // header spans behind it are trailers
      } else if (std::sscanf(line.c_str(), "off=%u len=%u span[%31[a-z_]]", &at, &size, name) == 3) {
        Take(name, bytes_.substr(at, size));
      }
    }
    return std::move(messages_);
  }

 private:
  void Take(std::string_view name, const std::string& text) {
    if (messages_.empty()) return;
    Message& message = messages_.back();
    if (name == "body") message.body += text;
    if (name == "method" || name == "url" || name == "status") message.start += base::StrCat(" ", text);
    if (!in_head_) return;
    if (name == "header_field") message.fields.emplace_back(text, "");
    if (name == "header_value") message.fields.back().second += text;
  }

  const std::string& bytes_;
  std::vector<Message> messages_;
  bool in_head_ = false;
};

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

TEST(LlhttpTest, WhatIsTakenMeansTheSame) {
  int compared = 0;
  for (const nlohmann::json& c : Cases()) {
    const std::string id = c["id"], type = c["type"], bytes = InputOf(c);
    if (type.find("lenient") != std::string::npos || c["outcome"] == "error") continue;
    Connection connection(bytes, type.starts_with("response"));
    if (connection.Run(bytes.size()).refused) continue;
    const std::vector<Message> theirs = Reading(bytes).Of(c["log"]);
    ASSERT_GE(theirs.size(), connection.messages().size()) << id;
    for (std::size_t i = 0; i < connection.messages().size(); ++i) {
      const Message& mine = connection.messages()[i];
      EXPECT_TRUE(base::StrCat(" ", mine.start).ends_with(theirs[i].start)) << id << ": " << mine.start;
      EXPECT_EQ(mine.body, theirs[i].body) << id;
      ASSERT_EQ(mine.fields.size(), theirs[i].fields.size()) << id;
      for (std::size_t f = 0; f < mine.fields.size(); ++f) {
        EXPECT_EQ(mine.fields[f].first, theirs[i].fields[f].first) << id;
        EXPECT_EQ(mine.fields[f].second, Trimmed(theirs[i].fields[f].second)) << id;
      }
      ++compared;
    }
  }
  EXPECT_TRUE(Cases().empty() || compared >= 30) << compared;
}

// Each of them shows what a reader with a check switched off lets through. The strict parsers refuse it, or end before it.
TEST(LlhttpTest, TakesNothingThatOnlyALenientReaderTakes) {
  const std::map<std::string, std::string> kept = {
      {"request/connection:397", "one message; what follows `Connection: close` is dropped"},
      {"response/connection:196", "one message; what follows `Connection: close` is dropped"},
      {"response/connection:263", "one message; what follows `Connection: close` is dropped"}};
  std::size_t seen = 0;
  for (const nlohmann::json& c : Cases()) {
    const std::string id = c["id"], type = c["type"], bytes = InputOf(c);
    if (type.find("lenient") == std::string::npos) continue;
    const Outcome ours = Connection(bytes, type.starts_with("response")).Run(bytes.size());
    seen += kept.contains(id) ? 1 : 0;
    if (kept.contains(id)) {
      EXPECT_EQ(ours, (Outcome{.messages = 1})) << id;
      continue;
    }
    EXPECT_TRUE(ours.refused || (ours.waiting && ours.messages == 0)) << id << " " << c["title"] << "\n" << bytes;
  }
  EXPECT_TRUE(Cases().empty() || seen == kept.size()) << seen;
}

TEST(LlhttpTest, RefusesWhatLlhttpRefuses) {
  const std::vector<nlohmann::json> cases = Cases();
  if (cases.empty()) return;
  std::map<std::string, int> tally;
  for (const nlohmann::json& c : cases) {
    const std::string id = c["id"], type = c["type"], outcome = c["outcome"], bytes = InputOf(c);
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
