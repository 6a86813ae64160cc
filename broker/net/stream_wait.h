#pragma once

#include <coroutine>

#include "net/deadline.h"
#include "net/io.h"
#include "net/loop.h"

namespace credbroker::net {

class Stream;

// What a wait looks for.
enum Interest : unsigned {
  kReadable = 1,   // a read would not say kAgain
  kDrained = 2,    // all that was written has gone to the kernel
  kHangup = 4,     // the peer has closed (at least its sending side), whether or not there are bytes to read before it
  kConnected = 8,  // a connect has ended, well or not
};

// The base of waits on one or two streams. A stream is waited on by one coroutine at a time.
class StreamWait : private Waiter {
 public:
  StreamWait(Stream* first, unsigned first_interest, Stream* second, unsigned second_interest, Deadline deadline);
  ~StreamWait();
  bool await_ready();
  void await_suspend(std::coroutine_handle<> awaiting);

 protected:
  Io result() const { return result_; }
  unsigned Seen(int index) const;  // of the interest, what holds now

 private:
  friend class Stream;
  void Fire(Io io);                // resumes; the wait may be gone afterwards
  void Settle(Io io, Loop& loop);  // resumes in a later batch
  void StreamDied(const Stream* stream);
  void Attach();
  void Detach();
  bool ReadyNow();

  Stream* streams_[2];
  unsigned interests_[2];
  Deadline deadline_;
  Io result_ = Io::kOk;
  bool attached_ = false;
};

// co_await of one interest: kOk, kTimeout, kAborted; kDrained also gives kReset when the connection broke.
class [[nodiscard]] OneWait final : public StreamWait {
 public:
  using StreamWait::StreamWait;
  Io await_resume() const { return result(); }
};

// co_await of two streams at once, for relays: io as above (of either stream), and what holds on each.
struct EitherReady {
  Io io;
  unsigned first;
  unsigned second;
};
class [[nodiscard]] EitherWait final : public StreamWait {
 public:
  using StreamWait::StreamWait;
  EitherReady await_resume() const { return {result(), Seen(0), Seen(1)}; }
};
inline EitherWait WaitEither(Stream& first, unsigned first_interest, Stream& second, unsigned second_interest,
                             Deadline deadline) {
  return EitherWait(&first, first_interest, &second, second_interest, deadline);
}

}  // namespace credbroker::net
