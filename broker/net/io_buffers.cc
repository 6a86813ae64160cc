#include "net/io_buffers.h"

#include <malloc.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "net/stream.h"

namespace credbroker::net {
namespace {

// A stream is idle when nothing came between two sweeps.
constexpr absl::Duration kSweepEvery = absl::Milliseconds(400);
constexpr std::size_t kMaxSpareInputs = 256;
constexpr std::size_t kKeptSpareInputs = 16;
// A burst: so many handshakes leave enough freed heap behind to be worth a trim (about 50 KiB each).
constexpr std::size_t kBurst = 64;

}  // namespace

IoBuffers::IoBuffers(Loop& loop, Sends sends)
    : TimerNode(loop.wheel()),
      loop_(loop),
      sends_(sends),
      receive_(std::make_unique_for_overwrite<char[]>(kReceiveBytes)),
      send_(std::make_unique_for_overwrite<char[]>(kSendBytes)),
      scratch_(std::make_unique_for_overwrite<char[]>(Loop::kScratchBytes)),
      join_(std::make_unique_for_overwrite<char[]>(kJoinBytes)) {}

IoBuffers::~IoBuffers() = default;

char* IoBuffers::ClaimReceive(Stream* owner) {
  if (receive_owner_ != nullptr && receive_owner_ != owner && !received_.empty()) receive_owner_->StashInput(received_);
  receive_owner_ = owner;
  received_ = {};
  return receive_.get();
}

std::size_t IoBuffers::TakeReceived(const Stream* owner, char* out, std::size_t size) {
  if (!HasReceived(owner)) return 0;
  const std::size_t taken = std::min(size, received_.size());
  std::memcpy(out, received_.data(), taken);
  received_.remove_prefix(taken);
  return taken;
}

void IoBuffers::MakeRoom(SendPiece* piece, std::size_t size) {
  // A piece grows only at the end of the buffer.
  if (piece->size > 0 && piece->begin + piece->size != send_end_) piece->stream->SendShared();
  if (send_end_ + size > kSendBytes) SendAll();
}

void IoBuffers::Append(SendPiece* piece, const char* bytes, std::size_t size) {
  if (piece->size == 0) {
    piece->begin = send_end_;
    pieces_.PushBack(piece);
  }
  std::memcpy(send_.get() + send_end_, bytes, size);
  piece->size += size;
  send_end_ += size;
}

void IoBuffers::Release(SendPiece* piece) {
  if (piece->size == 0) return;
  if (piece->begin + piece->size == send_end_) send_end_ = piece->begin;
  piece->size = 0;
  piece->Unlink();
  if (!pieces_.linked()) send_end_ = 0;
}

void IoBuffers::Wipe(std::string_view sent) { explicit_bzero(send_.get() + (sent.data() - send_.get()), sent.size()); }

void IoBuffers::SendAll() {
  if (sends_ == Sends::kAtOnce && pieces_.linked() && pieces_.next()->next() != &pieces_) SendByRing();
  while (pieces_.linked()) static_cast<SendPiece*>(pieces_.next())->stream->SendShared();
}

void IoBuffers::SendByRing() {
  if (!std::exchange(ring_tried_, true)) ring_ = SendRing::Create();
  if (ring_ == nullptr) return;
  std::array<Stream*, SendRing::kMaxBatch> streams;
  std::array<SendRing::Send, SendRing::kMaxBatch> sends;
  while (pieces_.linked()) {
    std::size_t count = 0;
    for (ListNode* node = pieces_.next(); node != &pieces_ && count < sends.size();) {
      const auto& piece = *static_cast<const SendPiece*>(node);
      node = node->next();
      if (piece.stream->send_failed_) {
        piece.stream->SendShared();  // drops it
        continue;
      }
      streams[count] = piece.stream;
      sends[count++] = {piece.stream->fd_.get(), View(piece), 0};
    }
    ring_->Run(std::span(sends).first(count));
    for (std::size_t i = 0; i < count; ++i) streams[i]->SentShared(sends[i].bytes, sends[i].result);
  }
}

void IoBuffers::Forget(Stream* stream) {
  Release(&stream->piece_);
  if (receive_owner_ == stream) {
    receive_owner_ = nullptr;
    received_ = {};
  }
}

char* IoBuffers::TakeInput() {
  if (spare_inputs_.empty()) return new char[kInputBytes];
  char* buffer = spare_inputs_.back().release();
  spare_inputs_.pop_back();
  return buffer;
}

void IoBuffers::GiveInput(char* buffer, std::size_t used) {
  std::unique_ptr<char[]> owned(buffer);
  explicit_bzero(buffer, used);  // heads hold tokens
  if (spare_inputs_.size() < kMaxSpareInputs) spare_inputs_.push_back(std::move(owned));
}

void IoBuffers::AddHot(ListNode* node) {
  hot_.PushBack(node);
  if (!armed()) Arm(loop_.After(kSweepEvery));
}

void IoBuffers::NoteHandshake() {
  ++handshakes_;
  ++handshakes_untrimmed_;
}

void IoBuffers::OnTimer() {
  ListNode looked_at;
  hot_.MoveAllTo(&looked_at);
  while (looked_at.linked()) {
    auto* node = static_cast<Stream::HotNode*>(looked_at.next());
    node->Unlink();
    if (std::exchange(node->stream->active_, false)) {
      hot_.PushBack(node);
    } else {
      node->stream->Trim();
    }
  }
  ReleaseHeap();
  if (hot_.linked() || handshakes_untrimmed_ >= kBurst) Arm(loop_.After(kSweepEvery));
}

void IoBuffers::ReleaseHeap() {
  if (spare_inputs_.size() > kKeptSpareInputs)
    spare_inputs_.resize(std::max(kKeptSpareInputs, spare_inputs_.size() / 2));
  const std::size_t handshakes = std::exchange(handshakes_, 0);
  const std::size_t before = std::exchange(handshakes_before_, handshakes);
  // Two quiet sweeps: by the second the streams of the burst have given their buffers back.
  const bool burst_is_over = std::max(handshakes, before) < kBurst / 4;
  if (!burst_is_over || handshakes_untrimmed_ < kBurst) return;
  handshakes_untrimmed_ = 0;
  malloc_trim(0);
}

}  // namespace credbroker::net
