#include "edge/websocket.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using net::Io;
using Step = wire::FrameStep::Kind;

// A part of a secret below this tells nothing, unless it is half of a short one (rewrite/scrub.h).
constexpr std::size_t kTelling = 8;

// Is it an end that the peer made, with or without the word that TLS has for it? Frames say themselves where they end.
bool IsEnd(Io io) { return io == Io::kEof || io == Io::kTruncated; }

class Carrier {
 public:
  Carrier(net::Stream& client, net::Stream& upstream, const gate::Lease* lease, Meter meter, const EdgeOptions& options)
      : client_(client), upstream_(upstream), meter_(meter), options_(options) {
    if (lease != nullptr) scrubber_.emplace(lease->scrub);
  }

  base::Task<WebSocketEnd> Run();

 private:
  bool StepUp();
  bool StepDown();
  bool PassDown();
  void EndUp(Io io);
  void EndDown(Io io);
  void SendDown(std::string_view bytes);
  void Fail(ErrorCode code);
  bool Full(const net::Stream& stream) const { return stream.pending() > options_.high_water; }
  unsigned ClientInterest() const;
  unsigned UpstreamInterest() const;
  std::size_t Unsent() const { return client_.pending() + upstream_.pending(); }

  net::Stream& client_;
  net::Stream& upstream_;
  const Meter meter_;
  const EdgeOptions& options_;
  std::optional<FrameScrubber> scrubber_;
  std::string out_;
  WebSocketEnd end_;
  bool up_open_ = true, down_open_ = true;
  bool failed_ = false;
};

void Carrier::Fail(ErrorCode code) {
  if (!std::exchange(failed_, true)) end_.error = code;
}

// One piece from the client, as it is. True when something moved.
bool Carrier::StepUp() {
  if (!up_open_ || Full(upstream_)) return false;
  if (client_.buffered().empty()) {
    const Io io = client_.Fill(options_.body_block).io;
    if (io == Io::kAgain) return false;
    if (io != Io::kOk) {
      EndUp(io);
      return true;
    }
  }
  const std::string_view piece = client_.buffered();
  end_.bytes_up += static_cast<int64_t>(piece.size());
  if (!meter_(static_cast<int64_t>(piece.size()))) Fail(ErrorCode::kByteLimit);
  const Io io = upstream_.Write(piece);
  client_.Consume(piece.size());
  if (io != Io::kOk) up_open_ = false;  // what it said before it left may still be read
  return true;
}

void Carrier::EndUp(Io io) {
  up_open_ = false;
  if (IsEnd(io)) {
    upstream_.FinishWrites();
    return;
  }
  Fail(io == Io::kAborted ? ErrorCode::kTokenRevoked : ErrorCode::kClientClosed);
}

bool Carrier::StepDown() {
  if (!down_open_ || Full(client_)) return false;
  if (!upstream_.buffered().empty() && PassDown()) return true;
  const Io io = upstream_.Fill(options_.body_block).io;
  if (io == Io::kOk) return true;
  if (io != Io::kAgain) {
    EndDown(io);
    return true;
  }
  if (scrubber_) {
    scrubber_->Pause(&out_);
    SendDown(out_);
  }
  return false;
}

// What is buffered of the upstream's bytes. False when more must come first.
bool Carrier::PassDown() {
  const std::string_view in = upstream_.buffered();
  if (!scrubber_) {
    SendDown(in);
    upstream_.Consume(in.size());
    return true;
  }
  std::size_t consumed = 0;
  const bool good = scrubber_->Feed(in, &consumed, &out_);
  SendDown(out_);
  upstream_.Consume(consumed);
  if (!good) Fail(ErrorCode::kUpstreamMalformed);
  return consumed > 0 || !good;
}

void Carrier::EndDown(Io io) {
  down_open_ = false;
  if (scrubber_) {
    scrubber_->Finish(&out_);
    SendDown(out_);
  }
  const bool expected = IsEnd(io) || (scrubber_ && scrubber_->closing());
  if (!expected) Fail(ErrorCode::kUpstreamClosed);
  client_.FinishWrites();
}

void Carrier::SendDown(std::string_view bytes) {
  end_.bytes_down += static_cast<int64_t>(bytes.size());
  if (!meter_(static_cast<int64_t>(bytes.size()))) Fail(ErrorCode::kByteLimit);
  const Io io = client_.Write(bytes);
  out_.clear();
  if (io == Io::kOk) return;
  if (io == Io::kAborted) return Fail(ErrorCode::kTokenRevoked);
  // A client that has said its end before may be gone altogether.
  if (up_open_) return Fail(ErrorCode::kClientClosed);
  down_open_ = false;
}

unsigned Carrier::ClientInterest() const {
  unsigned interest = Full(client_) || (!down_open_ && client_.pending() > 0) ? net::kDrained : 0u;
  if (up_open_ && !Full(upstream_)) interest |= net::kReadable;
  return interest;
}

unsigned Carrier::UpstreamInterest() const {
  unsigned interest = Full(upstream_) || (!up_open_ && upstream_.pending() > 0) ? net::kDrained : 0u;
  if (down_open_ && !Full(client_)) interest |= net::kReadable;
  return interest;
}

base::Task<WebSocketEnd> Carrier::Run() {
  net::Loop& loop = client_.loop();
  std::size_t unsent = 0;
  while (true) {
    const bool up = StepUp();
    const bool down = !failed_ && StepDown();
    if (failed_ || (!up_open_ && !down_open_)) break;
    // When something moved the wait returns at once; it only lets others run when this one had its share.
    const unsigned at_once = up || down ? net::kConnected : 0u;
    const bool both = up_open_ && down_open_;
    const net::EitherReady ready = co_await net::WaitEither(client_, ClientInterest(), upstream_, UpstreamInterest() | at_once,
                                                            loop.After(both ? options_.stream_idle : options_.close_wait));
    if (ready.io == Io::kOk) {
      unsent = Unsent();
      continue;
    }
    if (ready.io != Io::kTimeout) {
      Fail(ErrorCode::kTokenRevoked);  // aborted by the sweep
      break;
    }
    const std::size_t left = Unsent();
    if (left > 0 && left < std::exchange(unsent, left)) continue;  // slow, not silent
    if (both) Fail(ErrorCode::kUpstreamTimeout);
    break;
  }
  co_return end_;
}

}  // namespace

// ---- FrameScrubber

bool FrameScrubber::Feed(std::string_view in, std::size_t* consumed, std::string* out) {
  *consumed = 0;
  while (true) {
    const wire::FrameStep step = frames_.Next(in.substr(*consumed));
    *consumed += step.bytes.size();
    switch (step.kind) {
      case Step::kNeedMore: return true;
      case Step::kError: return false;
      case Step::kHeader: Insert(std::string(step.bytes), out); break;
      case Step::kPayload: Payload(step.bytes, out); break;
      case Step::kControl: {
        constexpr std::size_t kHeader = 2;
        std::string frame(step.bytes.substr(0, kHeader));
        rewrite::Scrubber alone(set_);
        alone.Feed(step.bytes.substr(kHeader), &frame);
        alone.Finish(&frame);
        Insert(std::move(frame), out);
        break;
      }
    }
  }
}

void FrameScrubber::Insert(std::string bytes, std::string* out) {
  if (placed_ == given_) {
    out->append(bytes);
    return;
  }
  waiting_bytes_ += bytes.size();
  waiting_.push_back({given_, std::move(bytes)});
  if (waiting_bytes_ > kMaxWaiting) Settle(out);
}

void FrameScrubber::Payload(std::string_view piece, std::string* out) {
  constexpr std::size_t kKept = kTelling - 1;
  recent_.append(piece.substr(piece.size() - std::min(piece.size(), kKept)));
  if (recent_.size() > kKept) recent_.erase(0, recent_.size() - kKept);
  given_ += piece.size();
  std::string scratch;
  std::string_view clean = scrubber_.Filter(piece, &scratch);
  // What was passed on before its time is not passed on again.
  const uint64_t ahead = placed_ - scrubbed_;
  scrubbed_ += clean.size();
  clean.remove_prefix(static_cast<std::size_t>(std::min<uint64_t>(ahead, clean.size())));
  if (!clean.empty()) Place(clean, out);
}

void FrameScrubber::Place(std::string_view payload, std::string* out) {
  std::size_t done = 0;
  for (; done < waiting_.size() && waiting_[done].at <= placed_ + payload.size(); ++done) {
    const std::size_t before = static_cast<std::size_t>(waiting_[done].at - placed_);
    out->append(payload.substr(0, before)).append(waiting_[done].bytes);
    payload.remove_prefix(before);
    placed_ += before;
    waiting_bytes_ -= waiting_[done].bytes.size();
  }
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(done));
  out->append(payload);
  placed_ += payload.size();
}

void FrameScrubber::Pause(std::string* out) {
  // Within a message the client waits for the rest anyway; a ping does not wait for a fragment that may take minutes.
  if (frames_.between_messages() || !waiting_.empty()) Settle(out);
}

void FrameScrubber::Settle(std::string* out) {
  const std::size_t unsent = static_cast<std::size_t>(given_ - placed_);
  if (unsent == 0) return;
  const std::size_t held = scrubber_.held_bytes();
  const std::string_view recent = recent_;
  const bool telling = held > recent.size() || set_->FindTail(recent.substr(recent.size() - held)).revealing;
  if (telling) {
    Place(std::string(unsent, rewrite::kCover), out);
  } else {
    Place(recent.substr(recent.size() - unsent), out);
  }
}

base::Task<WebSocketEnd> CarryWebSocket(net::Stream& client, net::Stream& upstream, const gate::Lease* lease, Meter meter, const EdgeOptions& options) {
  Carrier carrier(client, upstream, lease, meter, options);
  co_return co_await carrier.Run();
}

}  // namespace credbroker::edge
