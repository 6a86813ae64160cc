#include "net/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/str.h"
#include "net/io_buffers.h"

namespace credbroker::net {
namespace {

void Shrink(std::string* text) {
  if (text->empty() && text->capacity() > 64) std::string().swap(*text);
}

}  // namespace

std::string_view IoName(Io io) {
  switch (io) {
    case Io::kOk:
      return "ok";
    case Io::kAgain:
      return "again";
    case Io::kFull:
      return "full";
    case Io::kEof:
      return "closed by the peer";
    case Io::kTruncated:
      return "closed without close_notify";
    case Io::kReset:
      return "reset";
    case Io::kTls:
      return "TLS failed";
    case Io::kTimeout:
      return "timed out";
    case Io::kAborted:
      return "aborted";
  }
  return "?";
}

absl::Status UpstreamStatus(Io io, std::string_view detail) {
  if (io == Io::kOk) return absl::OkStatus();
  const std::string text = detail.empty() ? std::string(IoName(io)) : base::StrCat(IoName(io), ", ", detail);
  switch (io) {
    case Io::kTimeout:
      return base::Error(base::ErrorCode::kUpstreamTimeout, text);
    case Io::kTls:
      return base::Error(base::ErrorCode::kUpstreamTls, text);
    default:
      return base::Error(base::ErrorCode::kUpstreamClosed, text);
  }
}

Stream::Stream(Loop& loop, base::Fd fd, Endpoint peer, Phase phase)
    : TimerNode(loop.wheel()), loop_(loop), fd_(std::move(fd)), peer_(std::move(peer)) {
  connecting_ = phase == Phase::kConnecting;
  starved_ = connecting_;
  socket_readable_ = !connecting_;
  hot_.stream = this;
  if (!peer_.is_unix()) {
    const int on = 1;
    setsockopt(fd_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  loop_.Register(fd_.get(), this, Loop::Trigger::kEdge);
}

Stream::~Stream() {
  if (wait_ != nullptr) wait_->StreamDied(this);
  loop_.buffers().Forget(this);
  FreeTls();
  ReleaseInput();
  loop_.Unregister(fd_.get(), this);
}

// ---- events

void Stream::OnEvents(uint32_t events) {
  TouchHot();
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) {
    socket_readable_ = true;
    starved_ = false;
  }
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) hangup_ = true;
  if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0) {
    connecting_ = false;
    if (!out_.empty()) SendQueued();
  }
  if (idle_owner_ == nullptr) {
    Notify();
    return;
  }
  if (!ProbeIdle()) std::exchange(idle_owner_, nullptr)->OnIdleEnd(this);
}

void Stream::OnTimer() {
  if (idle_owner_ != nullptr) {
    std::exchange(idle_owner_, nullptr)->OnIdleEnd(this);
    return;
  }
  if (wait_ != nullptr) wait_->Fire(Io::kTimeout);
}

void Stream::Notify() {
  if (wait_ != nullptr && wait_->ReadyNow()) wait_->Fire(wait_->result_);
}

unsigned Stream::Holds() const {
  unsigned holds = 0;
  if (!starved_ || read_end_ != Io::kOk) holds |= kReadable;
  if (pending() == 0 || send_failed_) holds |= kDrained;
  if (hung_up()) holds |= kHangup;
  if (!connecting_) holds |= kConnected;
  return holds;
}

void Stream::TouchHot() {
  active_ = true;
  if (!hot_.linked()) loop_.buffers().AddHot(&hot_);
}

void Stream::Abort() {
  if (aborted_) return;
  aborted_ = true;
  send_failed_ = true;
  loop_.buffers().Forget(this);
  out_.clear();
  out_sent_ = 0;
  // Dissolving the association sends a reset at once: where data ends with the connection, a FIN would say that it is
  // whole. Sockets that are not TCP know no reset.
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  if (::connect(fd_.get(), &nobody, sizeof nobody) != 0) ::shutdown(fd_.get(), SHUT_RDWR);
  if (wait_ != nullptr) wait_->Settle(Io::kAborted, loop_);
}

// ---- reading

IoResult Stream::Read(std::span<char> into) {
  if (aborted_) return {Io::kAborted};
  if (into.empty()) return {Io::kFull};
  if (const std::string_view have = buffered(); !have.empty()) {
    const std::size_t taken = std::min(have.size(), into.size());
    std::memcpy(into.data(), have.data(), taken);
    Consume(taken);
    return {Io::kOk, taken};
  }
  return ssl_ != nullptr ? ReceiveTls(into) : ReceivePlain(into);
}

IoResult Stream::Fill(std::size_t max_buffered) {
  if (aborted_) return {Io::kAborted};
  if (!GrowInput(max_buffered)) return {Io::kFull};
  const std::size_t room = std::min(input_capacity_ - input_end_, max_buffered - buffered().size());
  const std::span<char> into(input_ + input_end_, room);
  const IoResult result = ssl_ != nullptr ? ReceiveTls(into) : ReceivePlain(into);
  if (result.io != Io::kOk) {
    if (buffered().empty()) ReleaseInput();
    return result;
  }
  input_end_ += result.bytes;
  return result;
}

std::string_view Stream::buffered() const { return {input_ + input_begin_, input_end_ - input_begin_}; }

void Stream::Consume(std::size_t bytes) {
  input_begin_ += std::min(bytes, input_end_ - input_begin_);
  if (input_begin_ == input_end_) ReleaseInput();
}

// Room for at least one byte; false when `max_buffered` are there.
bool Stream::GrowInput(std::size_t max_buffered) {
  if (buffered().size() >= max_buffered) return false;
  if (input_ == nullptr) {
    input_ = loop_.buffers().TakeInput();
    input_capacity_ = IoBuffers::kInputBytes;
    return true;
  }
  if (input_end_ < input_capacity_) return true;
  const std::string_view have = buffered();
  if (input_begin_ > 0) {
    std::memmove(input_, have.data(), have.size());
    input_begin_ = 0;
    input_end_ = have.size();
    return true;
  }
  const std::size_t capacity = input_capacity_ * 2;
  char* const grown = new char[capacity];
  std::memcpy(grown, have.data(), have.size());
  const std::size_t size = have.size();
  ReleaseInput();
  input_ = grown;
  input_capacity_ = capacity;
  input_end_ = size;
  return true;
}

void Stream::ReleaseInput() {
  if (input_ == nullptr) return;
  if (input_capacity_ == IoBuffers::kInputBytes) {
    loop_.buffers().GiveInput(input_, input_end_);
  } else {
    explicit_bzero(input_, input_end_);
    delete[] input_;
  }
  input_ = nullptr;
  input_begin_ = input_end_ = input_capacity_ = 0;
}

std::size_t Stream::Receive(char* out, std::size_t size) {
  if (eof_ || read_end_ != Io::kOk) return 0;
  while (socket_readable_) {
    const ssize_t got = recv(fd_.get(), out, size, 0);
    if (got > 0) {
      // Drained: the next edge tells of more. After a hang-up no edge is left, so the end must be read out.
      if (static_cast<std::size_t>(got) < size && !hangup_) socket_readable_ = false;
      return static_cast<std::size_t>(got);
    }
    if (got == 0) {
      eof_ = true;
      return 0;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      socket_readable_ = false;
    } else {
      read_end_ = Io::kReset;
      return 0;
    }
  }
  starved_ = true;
  return 0;
}

IoResult Stream::ReceivePlain(std::span<char> into) {
  const std::size_t got = Receive(into.data(), into.size());
  if (got > 0) {
    starved_ = !socket_readable_;
    return {Io::kOk, got};
  }
  if (eof_) read_end_ = Io::kEof;
  return {read_end_ != Io::kOk ? read_end_ : Io::kAgain};
}

std::size_t Stream::TakeStash(char* out, std::size_t size) {
  const std::size_t taken = std::min(size, stash_.size() - stash_taken_);
  std::memcpy(out, stash_.data() + stash_taken_, taken);
  stash_taken_ += taken;
  if (stash_taken_ == stash_.size()) {
    explicit_bzero(stash_.data(), stash_.size());
    std::string().swap(stash_);
    stash_taken_ = 0;
  }
  return taken;
}

// ---- connecting and closing

base::Task<void> Stream::Close(Deadline deadline) {
  ReleaseInput();
  FinishWrites();
  if (read_end_ == Io::kTls) read_end_ = Io::kOk;  // what follows is raw: only its end matters
  const Io flushed = co_await Flush(deadline);
  if (flushed != Io::kOk) co_return;
  while (true) {
    const IoResult read = ReceivePlain({loop_.scratch(), Loop::kScratchBytes});
    if (read.io != Io::kOk && read.io != Io::kAgain) co_return;
    const Io io = co_await Readable(deadline);
    if (io != Io::kOk) co_return;
    if (loop_.now_ns() >= deadline.nanoseconds()) co_return;  // a peer that never stops sending
  }
}

base::Task<Io> Stream::Connected(Deadline deadline) {
  const Io io = co_await OneWait(this, kConnected, nullptr, 0, deadline);
  if (io != Io::kOk) co_return io;
  int error = 0;
  socklen_t size = sizeof error;
  const bool known = getsockopt(fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0;
  co_return known&& error == 0 ? Io::kOk : Io::kReset;
}

// ---- idling

void Stream::StartIdle(IdleOwner* owner, Deadline deadline) {
  idle_owner_ = owner;
  Arm(deadline);
}

bool Stream::StopIdle() {
  idle_owner_ = nullptr;
  Disarm();
  if (loop_.HasPendingEvent(this)) {  // in this very batch: it may be the end
    socket_readable_ = true;
    starved_ = false;
  }
  return !aborted_ && !send_failed_ && ProbeIdle();
}

bool Stream::ProbeIdle() {
  char byte;
  return Read({&byte, 1}).io == Io::kAgain;
}

void Stream::Trim() {
  Shrink(&stash_);
  Shrink(&out_);
  Shrink(&held_);
  TrimTls();
}

}  // namespace credbroker::net
