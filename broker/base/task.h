#pragma once

#include <coroutine>
#include <cstdlib>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/pooled.h"

namespace credbroker::base {

// A coroutine that starts when awaited and gives its result to the one that awaits it. Move-only; destroying an
// unfinished task destroys its frame and everything in it (that is how a connection is cancelled). Control passes by
// symmetric transfer, so a chain of tasks uses no stack. Exceptions must not leave a task: they abort.
//
// Parameters of a coroutine are values, or references to things that outlive the await; never a view of a temporary.
template <typename T = void>
class [[nodiscard]] Task;

namespace internal {

template <typename T>
struct TaskPromiseBase : Pooled {
  std::coroutine_handle<> continuation = std::noop_coroutine();

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <typename P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> done) noexcept {
      return done.promise().continuation;
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
  [[noreturn]] void unhandled_exception() { std::abort(); }
};

template <typename T>
struct TaskPromise : TaskPromiseBase<T> {
  std::optional<T> value;
  Task<T> get_return_object();
  template <typename U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  T Result() { return *std::move(value); }
};

template <>
struct TaskPromise<void> : TaskPromiseBase<void> {
  Task<void> get_return_object();
  void return_void() {}
  void Result() {}
};

}  // namespace internal

template <typename T>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().continuation = awaiting;
    return handle_;
  }
  T await_resume() { return handle_.promise().Result(); }

  // For the owner of a top-level task (a loop, a test): runs it up to its first wait.
  void Start() { handle_.resume(); }
  bool done() const { return handle_ == nullptr || handle_.done(); }
  // The result of a task that is done; call once.
  T Take() { return handle_.promise().Result(); }

 private:
  Handle handle_;
};

namespace internal {
template <typename T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
}  // namespace internal

// Where a waiting coroutine goes on. `Post` may be called from any thread; the function runs once, soon, on the
// executor's own thread, never inside the call. Functions that are still queued when the executor ends are dropped.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual void Post(std::function<void()> function) = 0;
};

}  // namespace credbroker::base
