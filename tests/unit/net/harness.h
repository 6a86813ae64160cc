#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/task.h"
#include "net/loop.h"
#include "net/stream.h"

namespace credbroker::net {

// Runs `loop` until `done`, at most 60 s.
inline bool RunUntil(Loop& loop, const std::function<bool()>& done) {
  const absl::Duration end = base::SystemClock().Monotonic() + absl::Seconds(60);
  while (!done()) {
    if (base::SystemClock().Monotonic() > end) return false;
    loop.RunOnce(absl::Milliseconds(20));
  }
  return true;
}

// All top-level tasks end.
inline bool RunAll(Loop& loop) {
  return RunUntil(loop, [&] { return loop.task_count() == 0; });
}

inline std::pair<base::Fd, base::Fd> SocketPair() {
  int fds[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
  return {base::Fd(fds[0]), base::Fd(fds[1])};
}

inline Endpoint TestPeer() {
  Endpoint peer;
  peer.unix_path = "test";
  return peer;
}

// Two connected streams of one loop.
struct StreamPair {
  explicit StreamPair(Loop& loop) {
    auto [one, two] = SocketPair();
    a = std::make_unique<Stream>(loop, std::move(one), TestPeer());
    b = std::make_unique<Stream>(loop, std::move(two), TestPeer());
  }
  std::unique_ptr<Stream> a, b;
};

inline int OpenDescriptors() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

inline Deadline Soon(Loop& loop) { return loop.After(absl::Seconds(30)); }

// Reads until `size` bytes are there or reading ends; what came and how it ended.
struct Received {
  std::string bytes;
  Io end = Io::kOk;
};
inline base::Task<Received> ReadExactly(Stream* stream, std::size_t size) {
  Received received;
  while (received.bytes.size() < size) {
    char block[1000];
    const IoResult read = stream->Read({block, std::min(sizeof block, size - received.bytes.size())});
    if (read.io == Io::kOk) {
      received.bytes.append(block, read.bytes);
      continue;
    }
    received.end = read.io;
    if (read.io != Io::kAgain) co_return received;
    received.end = co_await stream->Readable(Soon(stream->loop()));
    if (received.end != Io::kOk) co_return received;
  }
  co_return received;
}

inline base::Task<Io> WriteAll(Stream* stream, std::string bytes) {
  const Io io = stream->Write(bytes);
  if (io != Io::kOk) co_return io;
  const Io flushed = co_await stream->Flush(Soon(stream->loop()));
  co_return flushed;
}

}  // namespace credbroker::net
