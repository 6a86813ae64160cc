#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/file.h"

struct io_uring_sqe;
struct io_uring_cqe;

namespace credbroker::net {

// Sends on many sockets by one system call (io_uring(7), IORING_OP_SEND). A send wakes its receiver, and between two calls
// the receiver may take the core: at 64 busy connections on one core that was every other request. Private to the room; one
// thread, the one that creates it.
class SendRing {
 public:
  static constexpr unsigned kMaxBatch = 64;

  // Null where the kernel has no io_uring or forbids it (seccomp, kernel.io_uring_disabled): then send(2) does.
  static std::unique_ptr<SendRing> Create();
  ~SendRing();
  SendRing(const SendRing&) = delete;
  SendRing& operator=(const SendRing&) = delete;

  struct Send {
    int fd;
    std::string_view bytes;
    int result;  // bytes taken, or a negative errno
  };
  // Tries each of at most kMaxBatch sends on non-blocking sockets once, and fills in their results. After it the kernel
  // holds none of the bytes.
  void Run(std::span<Send> sends);

 private:
  // One of the rings shared with the kernel.
  struct Ring {
    uint32_t* head = nullptr;
    uint32_t* tail = nullptr;
    uint32_t mask = 0;
  };
  struct Unmap {
    std::size_t size;
    void operator()(void* at) const;
  };
  using Mapping = std::unique_ptr<void, Unmap>;

  explicit SendRing(base::Fd fd) : fd_(std::move(fd)) {}
  static Mapping Map(int fd, std::size_t size, std::size_t what);
  void Put(uint64_t number, Send* send);
  uint32_t Unseen() const;  // entries that the kernel has not taken
  uint32_t Reap(std::span<Send> sends);
  void Abandon(std::span<Send> sends);

  base::Fd fd_;
  Mapping rings_{nullptr, Unmap{0}}, entries_{nullptr, Unmap{0}};
  Ring submissions_, completions_;
  io_uring_sqe* sqes_ = nullptr;
  const io_uring_cqe* cqes_ = nullptr;
};

}  // namespace credbroker::net
