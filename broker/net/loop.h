#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>

#include "absl/time/time.h"
#include "base/clock.h"
#include "base/task.h"
#include "net/deadline.h"
#include "net/list.h"
#include "net/timer_wheel.h"

namespace credbroker::net {

class IoBuffers;
class Mailbox;
class Stream;

// What the loop calls when a registered descriptor has events. `events` are epoll bits. The handler may destroy
// itself; events of it that are still in the same batch are dropped then.
class EventHandler {
 public:
  virtual void OnEvents(uint32_t events) = 0;

 protected:
  ~EventHandler() = default;
};

// A coroutine that waits for something other than its own return. Its destructor takes it out of every list.
class Waiter : public ListNode {
 public:
  std::coroutine_handle<> handle;
};

// How what a batch has written leaves.
enum class Sends {
  kAtOnce,     // by one io_uring call where the kernel allows it
  kOneByOne,   // by send(2)
};

// One thread's engine: edge-triggered epoll, a timer wheel, posted functions, top-level coroutines and the I/O
// buffers that its streams share. A process runs one loop per core and shares nothing between them.
// All methods belong to the thread that runs the loop (or to the owner before and after it runs), except
// Post, Stop and mailbox.
class Loop final : public base::Executor {
 public:
  // `clock` must outlive the loop. With a FakeClock the loop looks at it at least every 100 ms of real time.
  explicit Loop(const base::Clock& clock, Sends sends = Sends::kAtOnce);
  // Destroys the tasks that are left, then drops what is posted.
  ~Loop() override;

  // Runs until Stop; may be called again later.
  void Run();
  // One batch: waits at most `max_wait` for events, handles them, timers and posted functions. For tests and mains
  // that interleave.
  void RunOnce(absl::Duration max_wait);
  // Makes Run return after its batch. Thread-safe, sticky until Run has returned.
  void Stop();

  // Runs `function` on the loop's thread in a later batch. Thread-safe. After the loop's end it is dropped by
  // mailbox(); Post itself needs a living loop.
  void Post(std::function<void()> function) override;
  // The queue behind Post, for those that may outlive the loop.
  std::shared_ptr<Mailbox> mailbox() const { return mailbox_; }

  // Owns and starts a top-level task at once, up to its first wait; frees it after the batch in which it ends.
  void Spawn(base::Task<void> task);
  // Tasks that have not ended.
  std::size_t task_count() const { return task_count_; }

  // Monotonic time, read once a batch.
  int64_t now_ns() const { return now_ns_; }
  absl::Duration Now() const { return absl::Nanoseconds(now_ns_); }
  Deadline After(absl::Duration duration) const;
  const base::Clock& clock() const { return clock_; }
  TimerWheel& wheel() { return wheel_; }

  // Scratch memory of the thread, 64 KiB: its content is lost at the next wait and at the next call on any stream.
  char* scratch();
  static constexpr std::size_t kScratchBytes = 64 * 1024;

  // Engine side, for handlers of this room. Registered once; kEdge means edge-triggered in and out.
  enum class Trigger { kEdge, kLevelRead, kLevelWrite, kLevelBoth, kNone };
  void Register(int fd, EventHandler* handler, Trigger trigger);
  void Modify(int fd, EventHandler* handler, Trigger trigger);
  // Before the handler dies or the descriptor is closed. Also drops its events of the running batch.
  void Unregister(int fd, EventHandler* handler);
  bool HasPendingEvent(const EventHandler* handler) const;
  // Resumes `waiter` after the events at hand have been served, unless it dies first.
  void Defer(Waiter* waiter) { ready_.PushBack(waiter); }
  // For waits that need not wait: true when the running coroutine has had its share and should yield.
  bool OverBudget() { return ++spent_ > kBudget; }
  IoBuffers& buffers() { return *buffers_; }

 private:
  struct Root;
  struct Events;
  class Sweeper;
  static constexpr int kBudget = 64;

  static Root RunRoot(Loop* loop, base::Task<void> task);
  int EpollTimeout(absl::Duration max_wait) const;
  void ReadClock();
  void AfterDispatch();
  void RunPosted();
  void RunReady();
  void FreeFinished();

  const base::Clock& clock_;
  int64_t now_ns_ = 0;
  int epoll_ = -1;
  int spent_ = 0;
  std::size_t task_count_ = 0;
  std::shared_ptr<Mailbox> mailbox_;
  std::unique_ptr<Events> events_;
  TimerWheel wheel_;
  std::unique_ptr<IoBuffers> buffers_;
  ListNode ready_;
  ListNode live_;
  ListNode finished_;
};

// Posted functions of a loop, kept apart so that other threads may hold it longer than the loop lives. Thread-safe.
class Mailbox {
 public:
  Mailbox();
  ~Mailbox();
  // False (and the function is dropped) once the loop has ended.
  bool Post(std::function<void()> function);

 private:
  friend class Loop;
  struct State;
  std::unique_ptr<State> state_;
};

// co_await NextBatch(loop); lets all that has something to do now do it, without a trip to the kernel.
class [[nodiscard]] NextBatch final : private Waiter {
 public:
  explicit NextBatch(Loop& loop) : loop_(loop) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) {
    handle = waiting;
    loop_.Defer(this);
  }
  void await_resume() const noexcept {}

 private:
  Loop& loop_;
};

// A callback at a deadline, for owners that are no coroutine (sweeps, retries). The destructor disarms it.
class Timer final : public TimerNode {
 public:
  Timer(Loop& loop, std::function<void()> callback) : TimerNode(loop.wheel()), callback_(std::move(callback)) {}

 private:
  void OnTimer() override {
    const auto callback = callback_;  // a copy: it may destroy the timer
    callback();
  }
  std::function<void()> callback_;
};

// co_await Delay(loop, absl::Seconds(1));
class [[nodiscard]] Delay final : private TimerNode {
 public:
  Delay(Loop& loop, absl::Duration duration) : Delay(loop, loop.After(duration)) {}
  Delay(Loop& loop, Deadline deadline) : TimerNode(loop.wheel()), deadline_(deadline) {}

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    Arm(deadline_);
  }
  void await_resume() const noexcept {}

 private:
  void OnTimer() override { handle_.resume(); }
  Deadline deadline_;
  std::coroutine_handle<> handle_;
};

}  // namespace credbroker::net
