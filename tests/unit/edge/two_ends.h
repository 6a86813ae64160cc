#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "edge/options.h"
#include "net/loop.h"
#include "net/stream.h"

namespace credbroker::edge {

// A client's and an upstream's connection whose other ends the test holds, on a loop with a clock of the test.
class TwoEnds : public testing::Test {
 protected:
  TwoEnds() {
    client_ = Connect(&client_end_);
    upstream_ = Connect(&upstream_end_);
  }
  ~TwoEnds() override { Turn(); }

  std::unique_ptr<net::Stream> Connect(base::Fd* other) {
    int fds[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    *other = base::Fd(fds[0]);
    net::Endpoint peer;
    peer.unix_path = "test";
    return std::make_unique<net::Stream>(loop_, base::Fd(fds[1]), peer);
  }
  void Turn() {
    for (int i = 0; i < 20; ++i) loop_.RunOnce(absl::ZeroDuration());
  }
  void Pass(absl::Duration time) {
    clock_.Advance(time);
    Turn();
  }
  void Say(const base::Fd& end, std::string_view bytes) {
    EXPECT_EQ(send(end.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
    Turn();
  }
  // All that waits there; "<end>" behind it if the edge has ended its direction.
  std::string Hear(const base::Fd& end) {
    std::string out(100000, '\0');
    std::string heard;
    for (ssize_t got; (got = recv(end.get(), out.data(), out.size(), 0)) >= 0;) {
      if (got == 0) return heard + "<end>";
      heard.append(out, 0, static_cast<std::size_t>(got));
    }
    return heard;
  }

  base::FakeClock clock_;
  EdgeOptions options_;
  net::Loop loop_{clock_};
  base::Fd client_end_, upstream_end_;
  std::unique_ptr<net::Stream> client_, upstream_;
};

}  // namespace credbroker::edge
