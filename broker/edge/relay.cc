#include "edge/relay.h"

#include <array>
#include <charconv>
#include <utility>

#include "base/text.h"
#include "wire/http_writer.h"
#include "wire/inflate.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using net::Io;
using wire::Framing;

constexpr int kMaxInterimAnswers = 16;

// `1f\r\n` for a chunk of that size.
std::string_view ChunkHead(std::size_t size, std::array<char, 20>& buffer) {
  char* end = std::to_chars(buffer.data(), buffer.data() + 16, size, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
}

void WriteChunk(net::Stream& stream, std::string_view piece) {
  std::array<char, 20> buffer;
  stream.Write(ChunkHead(piece.size(), buffer), piece);
  stream.Write(wire::kChunkEnd);
}

}  // namespace

Relay::Relay(ClientSide client, net::Stream& upstream, UpBody body, const gate::Passage& passage, const EdgeOptions& options)
    : client_(client), upstream_(upstream), body_(std::move(body)), passage_(passage), options_(options) {}

Relay::Progress Relay::Fail(ErrorCode code) {
  result_.error = code;
  return Progress::kFailed;
}

void Relay::WriteUp(std::string_view piece) {
  const Io io = body_.plan.framing == Framing::kChunked ? (WriteChunk(upstream_, piece), Io::kOk) : upstream_.Write(piece);
  up_broken_ = up_broken_ || io != Io::kOk || upstream_.aborted();
  result_.bytes_up += static_cast<int64_t>(piece.size());
  over_limit_ = !passage_.Move(static_cast<int64_t>(piece.size()));
}

// One piece of the request's body.
Relay::Progress Relay::StepUp() {
  if (up_done_ || up_broken_ || upstream_.pending() > options_.high_water) return Progress::kWait;
  if (over_limit_) return Fail(ErrorCode::kByteLimit);
  if (!body_.ahead.empty()) {
    WriteUp(body_.ahead);
    body_.ahead = {};
    return Progress::kMoved;
  }
  std::string_view piece;
  switch (body_.source == nullptr ? BodySource::Step::kEnd : body_.source->Next(&piece)) {
    case BodySource::Step::kPiece:
      WriteUp(piece);
      body_.source->Take();
      return Progress::kMoved;
    case BodySource::Step::kWait: return Progress::kWait;
    case BodySource::Step::kFailed: return Fail(body_.source->error());
    case BodySource::Step::kEnd: break;
  }
  if (body_.plan.framing == Framing::kChunked) upstream_.Write(wire::kLastChunk);
  up_done_ = true;
  return Progress::kMoved;
}

Relay::Progress Relay::ReadHead() {
  thread_local wire::ResponseHead head;  // keeps its list's memory from answer to answer
  const wire::HeadLimits limits;
  while (true) {
    const wire::ParseResult parsed = wire::ParseResponseHead(upstream_.buffered(), client_.method, limits, &head);
    if (parsed.failed()) return Fail(ErrorCode::kUpstreamMalformed);
    if (parsed.complete()) {
      result_.upstream_silent = false;
      if (head.status == 101) {
        // Unasked, or not what was asked: who took it for a switch would read the upstream's next bytes as he likes.
        if (ask_ == nullptr || !wire::FitsWebSocketAsk(head, *ask_)) return Fail(ErrorCode::kUpstreamMalformed);
        Switch(head);
        upstream_.Consume(parsed.consumed);
        return Progress::kFinished;
      }
      if (!head.interim()) {
        if (!BeginAnswer(head)) return Progress::kFailed;
        upstream_.Consume(parsed.consumed);
        return Progress::kMoved;
      }
      if (++interim_answers_ > kMaxInterimAnswers) return Fail(ErrorCode::kUpstreamMalformed);
      if (head.status == 100 && std::exchange(body_.plan.expect_continue, false)) client_.stream.Write(wire::kContinueResponse);
      upstream_.Consume(parsed.consumed);
      continue;
    }
    const Io io = upstream_.Fill(limits.max_head_bytes + 1).io;
    if (io == Io::kAgain) return Progress::kWait;
    if (io != Io::kOk) {
      result_.upstream_silent = result_.upstream_silent && upstream_.buffered().empty();
      return Fail(io == Io::kFull ? ErrorCode::kUpstreamMalformed : ErrorCode::kUpstreamClosed);
    }
  }
}

void Relay::Switch(const wire::ResponseHead& head) {
  result_.switched = result_.answered = true;
  result_.status = head.status;
  std::string out;
  AppendClientHead(head, passage_, {.switches = true}, &out);
  client_.stream.Write(out);
}

// Writes the client's head aside, to leave with the first content.
bool Relay::BeginAnswer(const wire::ResponseHead& head) {
  const gate::Lease* lease = passage_.lease();
  const bool has_body = head.framing != Framing::kNone && !(head.framing == Framing::kLength && head.content_length == 0);
  if (lease != nullptr && has_body) {
    const auto coding = wire::ParseCoding(head.FindHeader("content-encoding").value_or(""));
    if (coding != wire::Coding::kIdentity) {
      Fail(ErrorCode::kUnscannable);
      return false;
    }
    scrubber_.emplace(lease->scrub);
  }
  const bool fetch = edits_ && edits_->service == wire::AdvertisementEdits::Service::kUploadPack;
  const bool advertises = head.FindHeader("content-type").value_or("") ==
                          (fetch ? "application/x-git-upload-pack-advertisement" : "application/x-git-receive-pack-advertisement");
  if (edits_ && head.status == 200 && has_body && advertises) advertisement_.emplace(*edits_);

  holds_ = edit_ != nullptr && head.status == 200 && has_body;
  reply_.framing = head.framing;
  if (head.framing == Framing::kUntilClose || advertisement_ || holds_) reply_.framing = Framing::kChunked;  // its length is ours to tell
  const bool plain_end = reply_.framing == Framing::kChunked && client_.http_1_0;
  if (plain_end) reply_.framing = Framing::kUntilClose;
  reply_.close = !client_.keep_alive || plain_end || !up_done_;
  event_stream_ = head.FindHeader("content-type").value_or("").starts_with("text/event-stream");
  if (const auto location = head.FindHeader("location"); location && edit_location_) reply_.location = edit_location_(*location);
  result_.status = head.status;
  upstream_keeps_ = head.keep_alive && head.framing != Framing::kUntilClose;
  reply_source_.emplace(upstream_, head.framing, head.content_length, wire::ChunkedDecoder::Side::kResponse, options_.body_block);
  head_.reserve(512);
  AppendClientHead(head, passage_, reply_, &head_);
  return true;
}

bool Relay::SendDown(std::string_view content) {
  if (copy_ != nullptr) {
    const bool fits = content.size() <= copy_limit_ - copy_->size();
    if (fits) copy_->append(content);
    if (!fits) copy_->clear(), copy_ = nullptr;
  }
  result_.answered = true;
  if (content.empty()) return true;
  result_.bytes_down += static_cast<int64_t>(content.size());
  over_limit_ = over_limit_ || !passage_.Move(static_cast<int64_t>(content.size()));
  if (reply_.framing == Framing::kChunked) {
    if (!head_.empty()) client_.stream.Write(head_);
    head_.clear();
    WriteChunk(client_.stream, content);
    return !client_.stream.aborted();
  }
  const Io io = head_.empty() ? client_.stream.Write(content) : client_.stream.Write(head_, content);
  head_.clear();
  return io == Io::kOk;
}

// The whole of a held answer, as it may be read.
bool Relay::SendHeld() {
  auto edited = edit_(held_);
  base::WipeString(held_);
  if (!edited.ok()) return false;
  std::string scrubbed;
  return SendDown(scrubber_ ? scrubber_->Filter(*edited, &scrubbed) : std::string_view(*edited));
}

bool Relay::FinishDown() {
  if (holds_ && !SendHeld()) return false;
  if (scrubber_) {
    std::string rest;
    scrubber_->Finish(&rest);
    if (!SendDown(rest)) return false;
  }
  if (advertisement_ && !advertisement_->Finish().ok()) return false;
  result_.answered = true;
  if (!head_.empty()) client_.stream.Write(head_);
  head_.clear();
  if (reply_.framing == Framing::kChunked) client_.stream.Write(wire::kLastChunk);
  return !client_.stream.aborted();
}

Relay::Progress Relay::StepBody() {
  std::string_view piece;
  switch (reply_source_->Next(&piece)) {
    case BodySource::Step::kWait:
      // A slow stream: what there is goes out at once, the head first.
      if (!head_.empty() && !holds_) {
        client_.stream.Write(head_);
        head_.clear();
        result_.answered = true;
      }
      return Progress::kWait;
    case BodySource::Step::kFailed: return Fail(reply_source_->error());
    case BodySource::Step::kEnd:
      down_done_ = true;
      return FinishDown() ? Progress::kFinished : Fail(ErrorCode::kUpstreamMalformed);
    case BodySource::Step::kPiece: break;
  }
  if (holds_) {
    if (held_.size() + piece.size() > max_held_) return Fail(ErrorCode::kUpstreamMalformed);
    held_.append(piece);
    reply_source_->Take();
    return Progress::kMoved;
  }
  std::string edited, scrubbed;
  if (advertisement_) {
    if (!advertisement_->Feed(piece, &edited).ok()) return Fail(ErrorCode::kUpstreamMalformed);
  }
  std::string_view content = advertisement_ ? std::string_view(edited) : piece;
  if (scrubber_) content = scrubber_->Filter(content, &scrubbed);
  const bool sent = SendDown(content);
  reply_source_->Take();
  if (over_limit_) return Fail(ErrorCode::kByteLimit);
  return sent ? Progress::kMoved : Fail(ErrorCode::kClientClosed);
}

Relay::Progress Relay::StepDown() {
  if (down_done_ || client_.stream.pending() > options_.high_water) return Progress::kWait;
  return reply_source_ ? StepBody() : ReadHead();
}

unsigned Relay::ClientInterest() const {
  unsigned interest = client_.stream.pending() > options_.high_water ? net::kDrained : 0u;
  if (!up_done_ && !up_broken_ && upstream_.pending() <= options_.high_water) interest |= net::kReadable;
  // A client that left while its TLS connection waits for an answer will not read it.
  // In clear it may have closed its own direction only; an event stream has no other end than that.
  if (up_done_ && (client_.stream.tls() || event_stream_)) interest |= net::kHangup;
  return interest;
}

unsigned Relay::UpstreamInterest() const {
  unsigned interest = upstream_.pending() > options_.high_water ? net::kDrained : 0u;
  if (client_.stream.pending() <= options_.high_water) interest |= net::kReadable;
  return interest;
}

base::Task<Relay::Result> Relay::Run() {
  net::Loop& loop = client_.stream.loop();
  while (true) {
    const Progress up = StepUp();
    if (up == Progress::kFailed) break;
    const Progress down = StepDown();
    if (down == Progress::kFailed || down == Progress::kFinished) break;
    if (up == Progress::kMoved && down == Progress::kWait && up_done_) continue;
    // When something moved the wait returns at once, since there may be more in the buffers of which no socket tells; it
    // only lets others run when this one had its share.
    const unsigned at_once = up == Progress::kMoved || down == Progress::kMoved ? net::kConnected : 0u;
    const net::EitherReady ready = co_await net::WaitEither(client_.stream, ClientInterest(), upstream_, UpstreamInterest() | at_once,
                                                            loop.After(options_.stream_idle));
    if (ready.io != Io::kOk && !(ready.io == Io::kReset && !result_.answered)) {
      Fail(ready.io == Io::kTimeout ? ErrorCode::kUpstreamTimeout : ErrorCode::kClientClosed);
      break;
    }
    if ((ready.first & net::kHangup) != 0 && ready.second == 0) {
      Fail(ErrorCode::kClientClosed);
      break;
    }
  }
  const bool whole = result_.error == ErrorCode::kNone;
  result_.cut_shows = reply_.framing != Framing::kUntilClose;
  result_.client_reusable = whole && up_done_ && !reply_.close && reply_.framing != Framing::kUntilClose;
  result_.upstream_reusable = whole && up_done_ && upstream_keeps_ && upstream_.buffered().empty();
  co_return result_;
}

}  // namespace credbroker::edge
