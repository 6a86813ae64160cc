#include "net/loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "net/io_buffers.h"

namespace credbroker::net {
namespace {

// Only for calls that fail by our own mistake or when the machine is out of descriptors at start.
void CheckSystem(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::abort();
}

uint32_t EpollBits(Loop::Trigger trigger) {
  switch (trigger) {
    case Loop::Trigger::kEdge:
      return EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
    case Loop::Trigger::kLevelRead:
      return EPOLLIN;
    case Loop::Trigger::kLevelWrite:
      return EPOLLOUT;
    case Loop::Trigger::kLevelBoth:
      return EPOLLIN | EPOLLOUT;
    case Loop::Trigger::kNone:
      return 0;
  }
  return 0;
}

}  // namespace

struct Mailbox::State {
  std::mutex mu;
  std::vector<std::function<void()>> queue;  // guarded by mu
  bool closed = false;                       // guarded by mu
  std::atomic<bool> pending{false};
  int event_fd = -1;
};

Mailbox::Mailbox() : state_(std::make_unique<State>()) {
  state_->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  CheckSystem(state_->event_fd >= 0, "eventfd");
}

Mailbox::~Mailbox() { close(state_->event_fd); }

bool Mailbox::Post(std::function<void()> function) {
  const std::lock_guard lock(state_->mu);
  if (state_->closed) return false;
  state_->queue.push_back(std::move(function));
  if (!state_->pending.exchange(true)) eventfd_write(state_->event_fd, 1);
  return true;
}

struct Loop::Events final : EventHandler {
  static constexpr std::size_t kBatch = 128;
  std::array<epoll_event, kBatch> batch;
  int count = 0;
  int index = 0;
  int wake_fd = -1;
  std::atomic<bool> stop{false};

  void OnEvents(uint32_t) override {  // the mailbox's eventfd; its queue is looked at after every batch
    eventfd_t ignored;
    eventfd_read(wake_fd, &ignored);
  }
};

// The frame that owns a top-level task and reports its end.
struct Loop::Root {
  struct promise_type : ListNode, base::Pooled {
    promise_type(Loop* of, base::Task<void>&) : loop(of) {}
    Root get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      void await_suspend(std::coroutine_handle<promise_type> done) noexcept {
        promise_type& promise = done.promise();
        promise.Unlink();
        promise.loop->finished_.PushBack(&promise);
        --promise.loop->task_count_;
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_void() {}
    [[noreturn]] void unhandled_exception() { std::abort(); }
    Loop* loop;
  };

  static void DestroyAll(ListNode* list) {
    while (list->linked()) {
      auto* promise = static_cast<promise_type*>(list->next());
      promise->Unlink();
      std::coroutine_handle<promise_type>::from_promise(*promise).destroy();
    }
  }

  std::coroutine_handle<promise_type> handle;
};

Loop::Root Loop::RunRoot(Loop*, base::Task<void> task) { co_await task; }

Loop::Loop(const base::Clock& clock, Sends sends)
    : clock_(clock),
      now_ns_(absl::ToInt64Nanoseconds(clock.Monotonic())),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      mailbox_(std::make_shared<Mailbox>()),
      events_(std::make_unique<Events>()),
      wheel_(now_ns_),
      buffers_(std::make_unique<IoBuffers>(*this, sends)) {
  CheckSystem(epoll_ >= 0, "epoll_create1");
  events_->wake_fd = mailbox_->state_->event_fd;
  Register(events_->wake_fd, events_.get(), Trigger::kLevelRead);
}

Loop::~Loop() {
  Root::DestroyAll(&live_);
  FreeFinished();
  std::vector<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mailbox_->state_->mu);
    mailbox_->state_->closed = true;
    dropped.swap(mailbox_->state_->queue);
  }
  dropped.clear();
  close(epoll_);
}

void Loop::Run() {
  while (!events_->stop.load(std::memory_order_acquire)) RunOnce(absl::InfiniteDuration());
  events_->stop.store(false, std::memory_order_release);
}

void Loop::RunOnce(absl::Duration max_wait) {
  Events& events = *events_;
  const int got = epoll_wait(epoll_, events.batch.data(), Events::kBatch, EpollTimeout(max_wait));
  ReadClock();
  events.count = std::max(got, 0);
  for (events.index = 0; events.index < events.count; ++events.index) {
    const epoll_event& event = events.batch[static_cast<std::size_t>(events.index)];
    auto* handler = static_cast<EventHandler*>(event.data.ptr);
    if (handler == nullptr) continue;
    handler->OnEvents(event.events);
    AfterDispatch();
  }
  events.count = 0;
  wheel_.Advance(now_ns_);
  AfterDispatch();
  RunPosted();
  RunReady();
  buffers_->SendAll();
  FreeFinished();
}

void Loop::Stop() {
  events_->stop.store(true, std::memory_order_release);
  Post([] {});
}

void Loop::Post(std::function<void()> function) { mailbox_->Post(std::move(function)); }

void Loop::Spawn(base::Task<void> task) {
  const Root root = RunRoot(this, std::move(task));
  live_.PushBack(&root.handle.promise());
  ++task_count_;
  root.handle.resume();
}

Deadline Loop::After(absl::Duration duration) const {
  return Deadline::At(absl::Nanoseconds(now_ns_) + std::max(duration, absl::ZeroDuration()));
}

char* Loop::scratch() { return buffers_->scratch(); }

void Loop::Register(int fd, EventHandler* handler, Trigger trigger) {
  epoll_event event{.events = EpollBits(trigger), .data = {.ptr = handler}};
  CheckSystem(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl add");
}

void Loop::Modify(int fd, EventHandler* handler, Trigger trigger) {
  epoll_event event{.events = EpollBits(trigger), .data = {.ptr = handler}};
  CheckSystem(epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) == 0, "epoll_ctl mod");
}

void Loop::Unregister(int fd, EventHandler* handler) {
  epoll_event unused{};
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, &unused);
  for (int i = events_->index + 1; i < events_->count; ++i) {
    epoll_event& event = events_->batch[static_cast<std::size_t>(i)];
    if (event.data.ptr == handler) event.data.ptr = nullptr;
  }
}

bool Loop::HasPendingEvent(const EventHandler* handler) const {
  for (int i = events_->index + 1; i < events_->count; ++i) {
    if (events_->batch[static_cast<std::size_t>(i)].data.ptr == handler) return true;
  }
  return false;
}

int Loop::EpollTimeout(absl::Duration max_wait) const {
  if (ready_.linked()) return 0;
  const int64_t tick_ns = wheel_.UntilNextTick(now_ns_);
  int64_t wait_ns = tick_ns < 0 ? -1 : tick_ns;
  if (max_wait != absl::InfiniteDuration()) {
    const int64_t max_ns = absl::ToInt64Nanoseconds(max_wait);
    wait_ns = wait_ns < 0 ? max_ns : std::min(wait_ns, max_ns);
  }
  if (wait_ns < 0) return -1;
  return static_cast<int>((wait_ns + 999'999) / 1'000'000);
}

void Loop::ReadClock() { now_ns_ = absl::ToInt64Nanoseconds(clock_.Monotonic()); }

void Loop::AfterDispatch() { spent_ = 0; }

void Loop::RunPosted() {
  Mailbox::State& box = *mailbox_->state_;
  if (!box.pending.load(std::memory_order_acquire)) return;
  std::vector<std::function<void()>> functions;
  {
    const std::lock_guard lock(box.mu);
    box.pending.store(false, std::memory_order_release);
    functions.swap(box.queue);
  }
  for (auto& function : functions) {
    function();
    function = nullptr;
    AfterDispatch();
  }
}

void Loop::RunReady() {
  ListNode now;
  ready_.MoveAllTo(&now);
  while (now.linked()) {
    auto* waiter = static_cast<Waiter*>(now.next());
    waiter->Unlink();
    waiter->handle.resume();
    AfterDispatch();
  }
}

void Loop::FreeFinished() { Root::DestroyAll(&finished_); }

}  // namespace credbroker::net
