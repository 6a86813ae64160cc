#include "net/stream_wait.h"

#include <cstdio>
#include <cstdlib>

#include "net/stream.h"

namespace credbroker::net {

StreamWait::StreamWait(Stream* first, unsigned first_interest, Stream* second, unsigned second_interest,
                       Deadline deadline)
    : streams_{first, second}, interests_{first_interest, second_interest}, deadline_(deadline) {}

StreamWait::~StreamWait() { Detach(); }

bool StreamWait::await_ready() {
  Loop& loop = streams_[0]->loop_;
  if (ReadyNow()) return !loop.OverBudget();
  if (deadline_.nanoseconds() > loop.now_ns()) return false;
  result_ = Io::kTimeout;
  return true;
}

void StreamWait::await_suspend(std::coroutine_handle<> awaiting) {
  handle = awaiting;
  if (ReadyNow()) {  // over budget: others first
    streams_[0]->loop_.Defer(this);
    return;
  }
  Attach();
}

unsigned StreamWait::Seen(int index) const {
  return streams_[index] == nullptr ? 0 : streams_[index]->Holds() & interests_[index];
}

bool StreamWait::ReadyNow() {
  bool ready = false;
  for (int i = 0; i < 2; ++i) {
    Stream* stream = streams_[i];
    if (stream == nullptr) continue;
    if (stream->aborted_) {
      result_ = Io::kAborted;
      return true;
    }
    if ((interests_[i] & kDrained) != 0) stream->SendShared();
    ready = ready || Seen(i) != 0;
  }
  const bool flush_only = streams_[1] == nullptr && interests_[0] == kDrained;
  result_ = flush_only && streams_[0]->send_failed_ ? Io::kReset : Io::kOk;
  return ready;
}

void StreamWait::Attach() {
  for (int i = 0; i < 2; ++i) {
    Stream* stream = streams_[i];
    if (stream == nullptr) continue;
    if (stream->wait_ != nullptr) {
      std::fputs("two coroutines wait on one stream\n", stderr);
      std::abort();
    }
    stream->wait_ = this;
  }
  attached_ = true;
  static_cast<TimerNode*>(streams_[0])->Arm(deadline_);
}

void StreamWait::Detach() {
  if (!attached_) return;
  attached_ = false;
  for (Stream* stream : streams_) {
    if (stream != nullptr) stream->wait_ = nullptr;
  }
  if (streams_[0] != nullptr) static_cast<TimerNode*>(streams_[0])->Disarm();
}

void StreamWait::Fire(Io io) {
  Detach();
  result_ = io;
  handle.resume();
}

void StreamWait::Settle(Io io, Loop& loop) {
  Detach();
  result_ = io;
  loop.Defer(this);
}

void StreamWait::StreamDied(const Stream* stream) {
  Loop& loop = stream->loop_;
  Detach();
  for (Stream*& mine : streams_) {
    if (mine == stream) mine = nullptr;
  }
  result_ = Io::kAborted;
  loop.Defer(this);
}

}  // namespace credbroker::net
