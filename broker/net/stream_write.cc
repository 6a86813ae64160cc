#include <string.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "net/io_buffers.h"
#include "net/stream.h"

namespace credbroker::net {
namespace {

// Below this an empty queue's memory is not worth giving back.
constexpr std::size_t kKeptQueue = 4096;

}  // namespace

Io Stream::Write(std::string_view bytes) {
  if (aborted_) return Io::kAborted;
  if (send_failed_ || finished_) return Io::kReset;
  if (bytes.empty()) return Io::kOk;
  if (ssl_ != nullptr) return WriteTls(bytes);
  Emit(bytes.data(), bytes.size());
  return send_failed_ ? Io::kReset : Io::kOk;
}

Io Stream::Write(std::string_view head, std::string_view body) {
  const std::size_t size = head.size() + body.size();
  if (ssl_ == nullptr || body.empty() || head.size() >= IoBuffers::kJoinBytes) {
    if (const Io io = Write(head); io != Io::kOk) return io;
    return Write(body);
  }
  // One record for the head and as much of the body as fits beside it.
  char* const join = loop_.buffers().join();
  const std::size_t joined = std::min(size, IoBuffers::kJoinBytes);
  std::memcpy(join, head.data(), head.size());
  std::memcpy(join + head.size(), body.data(), joined - head.size());
  const Io io = Write(std::string_view(join, joined));
  explicit_bzero(join, head.size());  // a head may hold the credential
  if (io != Io::kOk) return io;
  return Write(body.substr(joined - head.size()));
}

std::size_t Stream::pending() const {
  return out_.size() - out_sent_ + piece_.size;
}

void Stream::Emit(const char* bytes, std::size_t size) {
  if (send_failed_) return;
  if (!held_.empty()) {
    const std::string held = std::exchange(held_, std::string());
    Emit(held.data(), held.size());
  }
  if (size > IoBuffers::kSendBytes) {
    SendShared();
    const std::size_t sent = out_.empty() ? SendNow(bytes, size) : 0;
    Queue(bytes + sent, size - sent);
    return;
  }
  IoBuffers& shared = loop_.buffers();
  if (out_.empty()) shared.MakeRoom(&piece_, size);
  if (!out_.empty()) {  // the kernel is full: nothing may overtake what waits
    Queue(bytes, size);
    return;
  }
  shared.Append(&piece_, bytes, size);
  if (piece_.size >= IoBuffers::kCork) SendShared();
}

void Stream::SendShared() {
  if (piece_.size == 0) return;
  IoBuffers& shared = loop_.buffers();
  const std::string_view bytes = shared.View(piece_);
  shared.Release(&piece_);
  const std::size_t sent = SendNow(bytes.data(), bytes.size());
  Queue(bytes.data() + sent, bytes.size() - sent);
  if (ssl_ == nullptr) shared.Wipe(bytes);  // plain bytes may hold a credential
}

void Stream::SentShared(std::string_view bytes, int result) {
  IoBuffers& shared = loop_.buffers();
  shared.Release(&piece_);
  if (result == -EINTR) {
    result = static_cast<int>(SendNow(bytes.data(), bytes.size()));
  } else if (result < 0 && result != -EAGAIN) {
    send_failed_ = true;
  }
  const std::size_t sent = static_cast<std::size_t>(std::max(result, 0));
  Queue(bytes.data() + sent, bytes.size() - sent);
  if (ssl_ == nullptr) shared.Wipe(bytes);  // plain bytes may hold a credential
}

// How many bytes are done with: taken by the kernel, or lost with the connection.
std::size_t Stream::SendNow(const char* bytes, std::size_t size) {
  if (send_failed_) return size;
  while (true) {
    const ssize_t sent = send(fd_.get(), bytes, size, MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);  // short: the kernel is full and an edge will follow
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
    send_failed_ = true;
    return size;
  }
}

void Stream::Queue(const char* bytes, std::size_t size) {
  if (size == 0 || send_failed_) return;
  // A sender that awaits Flush never comes near; a peer that makes TLS answer without reading would.
  if (out_.size() - out_sent_ + size > kMaxPending) {
    send_failed_ = true;
    return;
  }
  out_.append(bytes, size);
}

void Stream::SendQueued() {
  out_sent_ += SendNow(out_.data() + out_sent_, out_.size() - out_sent_);
  if (send_failed_) out_sent_ = out_.size();
  if (out_sent_ < out_.size()) return;
  out_.clear();
  out_sent_ = 0;
  if (out_.capacity() > kKeptQueue) std::string().swap(out_);
  if (finish_after_drain_) FinishSocket();
}

void Stream::FinishWrites() {
  if (std::exchange(finished_, true)) return;
  if (ssl_ != nullptr) SendCloseNotify();
  SendShared();
  if (out_.empty()) {
    FinishSocket();
  } else {
    finish_after_drain_ = true;
  }
}

void Stream::FinishSocket() {
  finish_after_drain_ = false;
  ::shutdown(fd_.get(), SHUT_WR);
}

}  // namespace credbroker::net
