#include "net/loop.h"

#include <gtest/gtest.h>

#include <optional>
#include <thread>
#include <vector>

#include "harness.h"
#include "net/completion.h"

namespace credbroker::net {
namespace {

constexpr absl::Duration kNoWait = absl::ZeroDuration();

base::Task<void> Note(Loop* loop, absl::Duration wait, std::vector<int>* seen, int what) {
  co_await Delay(*loop, wait);
  seen->push_back(what);
}

TEST(LoopTest, DelaysEndInOrderAndNeverEarly) {
  base::FakeClock clock;
  Loop loop(clock);
  std::vector<int> seen;
  loop.Spawn(Note(&loop, absl::Seconds(3), &seen, 3));
  loop.Spawn(Note(&loop, absl::Milliseconds(150), &seen, 1));
  loop.Spawn(Note(&loop, absl::Minutes(5), &seen, 300));  // several turns of the wheel
  loop.RunOnce(kNoWait);
  EXPECT_TRUE(seen.empty());
  clock.Advance(absl::Milliseconds(149));
  loop.RunOnce(kNoWait);
  EXPECT_TRUE(seen.empty());
  clock.Advance(absl::Milliseconds(101));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(seen, (std::vector<int>{1}));
  clock.Advance(absl::Seconds(3));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(seen, (std::vector<int>{1, 3}));
  for (int i = 0; i < 290; ++i) {
    clock.Advance(absl::Seconds(1));
    loop.RunOnce(kNoWait);
  }
  EXPECT_EQ(seen.size(), 2u);
  clock.Advance(absl::Seconds(10));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(seen, (std::vector<int>{1, 3, 300}));
  EXPECT_EQ(loop.task_count(), 0u);
}

TEST(LoopTest, AJumpOfTheClockFiresAllThatIsDue) {
  base::FakeClock clock;
  Loop loop(clock);
  std::vector<int> seen;
  for (int i = 1; i <= 200; ++i) loop.Spawn(Note(&loop, absl::Seconds(i), &seen, i));
  clock.Advance(absl::Hours(1));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(seen.size(), 200u);
}

TEST(LoopTest, TimerMovesLaterEarlierAndAway) {
  base::FakeClock clock;
  Loop loop(clock);
  int fired = 0;
  Timer timer(loop, [&] { ++fired; });
  timer.Arm(loop.After(absl::Seconds(1)));
  timer.Arm(loop.After(absl::Seconds(5)));
  clock.Advance(absl::Seconds(2));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(fired, 0);
  timer.Arm(loop.After(absl::Seconds(1)));
  clock.Advance(absl::Milliseconds(1200));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(fired, 1);
  EXPECT_FALSE(timer.armed());
  timer.Arm(loop.After(absl::Seconds(1)));
  timer.Disarm();
  clock.Advance(absl::Minutes(2));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(fired, 1);
}

TEST(LoopTest, TimerMayDestroyItselfAndOthersOfItsSlot) {
  base::FakeClock clock;
  Loop loop(clock);
  std::vector<std::unique_ptr<Timer>> timers;
  int fired = 0;
  for (int i = 0; i < 3; ++i) {
    timers.push_back(std::make_unique<Timer>(loop, [&] {
      ++fired;
      timers.clear();
    }));
    timers.back()->Arm(loop.After(absl::Seconds(1)));
  }
  clock.Advance(absl::Seconds(2));
  loop.RunOnce(kNoWait);
  EXPECT_EQ(fired, 1);
}

TEST(LoopTest, PostFromAnotherThreadRunsOnTheLoop) {
  Loop loop(base::SystemClock());
  std::thread::id ran_on;
  std::thread other([&] {
    loop.Post([&] {
      ran_on = std::this_thread::get_id();
      loop.Stop();
    });
  });
  loop.Run();
  other.join();
  EXPECT_EQ(ran_on, std::this_thread::get_id());
}

TEST(LoopTest, StopFromAnotherThreadEndsRun) {
  Loop loop(base::SystemClock());
  std::thread runner([&] { loop.Run(); });
  loop.Stop();
  runner.join();
  loop.Stop();
  loop.Run();  // sticky until Run has returned
}

struct Destroyed {
  explicit Destroyed(bool* flag) : flag_(flag) {}
  ~Destroyed() { *flag_ = true; }
  bool* flag_;
};

base::Task<void> HoldForEver(Loop* loop, bool* destroyed) {
  const Destroyed held(destroyed);
  co_await Delay(*loop, Deadline::Never());
}

TEST(LoopTest, DestroyingTheLoopDestroysItsTasksAndDropsPosts) {
  bool destroyed = false;
  bool ran = false;
  std::shared_ptr<Mailbox> mailbox;
  {
    Loop loop(base::SystemClock());
    mailbox = loop.mailbox();
    loop.Spawn(HoldForEver(&loop, &destroyed));
    EXPECT_EQ(loop.task_count(), 1u);
    loop.Post([&] { ran = true; });
  }
  EXPECT_TRUE(destroyed);
  EXPECT_FALSE(ran);
  EXPECT_FALSE(mailbox->Post([&] { ran = true; }));
}

base::Task<void> Await(Loop* loop, Completion<int>* done, absl::Duration limit, std::optional<int>* out, bool* ended) {
  *out = co_await done->Wait(loop->After(limit));
  *ended = true;
}

TEST(CompletionTest, ValueFromAnotherThreadResumesTheWaiter) {
  Loop loop(base::SystemClock());
  Completion<int> done(loop);
  std::optional<int> value;
  bool ended = false;
  loop.Spawn(Await(&loop, &done, absl::Seconds(30), &value, &ended));
  std::thread other([setter = done.setter()] {
    setter.Set(7);
    setter.Set(8);
  });
  EXPECT_TRUE(RunAll(loop));
  other.join();
  EXPECT_EQ(value, 7);
}

TEST(CompletionTest, AValueThatIsThereDoesNotSuspend) {
  Loop loop(base::SystemClock());
  Completion<int> done(loop);
  done.setter().Set(1);
  std::optional<int> value;
  bool ended = false;
  loop.Spawn(Await(&loop, &done, absl::Seconds(30), &value, &ended));
  EXPECT_TRUE(ended);
  EXPECT_EQ(value, 1);
}

TEST(CompletionTest, DeadlineGivesNothingAndALateValueIsDropped) {
  base::FakeClock clock;
  Loop loop(clock);
  Completion<int> done(loop);
  std::optional<int> value = 5;
  bool ended = false;
  loop.Spawn(Await(&loop, &done, absl::Seconds(1), &value, &ended));
  clock.Advance(absl::Seconds(2));
  loop.RunOnce(kNoWait);
  EXPECT_TRUE(ended);
  EXPECT_EQ(value, std::nullopt);
  done.setter().Set(9);
  loop.RunOnce(kNoWait);
}

TEST(CompletionTest, SetterOutlivesWaiterAndLoop) {
  std::optional<int> value;
  bool ended = false;
  std::optional<Completion<int>::Setter> setter, other;
  {
    Loop loop(base::SystemClock());
    Completion<int> done(loop);
    setter = done.setter();
    other = done.setter();
    loop.Spawn(Await(&loop, &done, absl::Seconds(30), &value, &ended));
    setter->Set(3);  // posted, and the loop ends before it runs
  }
  other->Set(4);
  EXPECT_FALSE(ended);
}

}  // namespace
}  // namespace credbroker::net
