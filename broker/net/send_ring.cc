#include "net/send_ring.h"

#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>

namespace credbroker::net {
namespace {

constexpr int kSendFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
constexpr int kPending = INT_MIN;  // no errno

base::Fd SetUp(io_uring_params* params) {
  // With one submitter that needs no interrupt for completions (Linux 6.0); older kernels do without.
  for (const uint32_t flags : {IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_COOP_TASKRUN, 0U}) {
    *params = {.flags = flags};
    base::Fd fd(static_cast<int>(syscall(SYS_io_uring_setup, SendRing::kMaxBatch, params)));
    if (fd.ok() || errno != EINVAL) return fd;
  }
  return base::Fd();
}

int CallSend(const SendRing::Send& send) {
  const ssize_t sent = ::send(send.fd, send.bytes.data(), send.bytes.size(), kSendFlags);
  return sent >= 0 ? static_cast<int>(sent) : -errno;
}

uint32_t Load(uint32_t* shared) { return std::atomic_ref(*shared).load(std::memory_order_acquire); }
void Store(uint32_t* shared, uint32_t value) { std::atomic_ref(*shared).store(value, std::memory_order_release); }

}  // namespace

void SendRing::Unmap::operator()(void* at) const { munmap(at, size); }

SendRing::Mapping SendRing::Map(int fd, std::size_t size, std::size_t what) {
  void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, static_cast<off_t>(what));
  return Mapping(at == MAP_FAILED ? nullptr : at, Unmap{size});
}

SendRing::~SendRing() = default;

std::unique_ptr<SendRing> SendRing::Create() {
  io_uring_params params;
  base::Fd fd = SetUp(&params);
  // One mapping for both rings (Linux 5.4), sends (5.6), and no completion lost (5.5).
  constexpr uint32_t kNeeded = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP | IORING_FEAT_FAST_POLL;
  if (!fd.ok() || (params.features & kNeeded) != kNeeded) return nullptr;
  std::unique_ptr<SendRing> ring(new SendRing(std::move(fd)));
  const std::size_t rings_size = std::max(params.sq_off.array + params.sq_entries * sizeof(uint32_t),
                                          params.cq_off.cqes + params.cq_entries * sizeof(io_uring_cqe));
  ring->rings_ = Map(ring->fd_.get(), rings_size, IORING_OFF_SQ_RING);
  ring->entries_ = Map(ring->fd_.get(), params.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
  if (ring->rings_ == nullptr || ring->entries_ == nullptr) return nullptr;

  char* const base = static_cast<char*>(ring->rings_.get());
  const auto at = [&](uint32_t offset) { return reinterpret_cast<uint32_t*>(base + offset); };
  ring->submissions_ = {at(params.sq_off.head), at(params.sq_off.tail), *at(params.sq_off.ring_mask)};
  ring->completions_ = {at(params.cq_off.head), at(params.cq_off.tail), *at(params.cq_off.ring_mask)};
  ring->sqes_ = static_cast<io_uring_sqe*>(ring->entries_.get());
  ring->cqes_ = reinterpret_cast<const io_uring_cqe*>(base + params.cq_off.cqes);
  // Entry i always stands in place i.
  for (uint32_t i = 0; i < params.sq_entries; ++i) at(params.sq_off.array)[i] = i;
  return ring;
}

uint32_t SendRing::Unseen() const { return *submissions_.tail - Load(submissions_.head); }

void SendRing::Put(uint64_t number, Send* send) {
  send->result = kPending;
  const uint32_t tail = *submissions_.tail;
  io_uring_sqe& entry = sqes_[tail & submissions_.mask];
  std::memset(&entry, 0, sizeof entry);
  entry.opcode = IORING_OP_SEND;
  entry.fd = send->fd;
  entry.addr = reinterpret_cast<uint64_t>(send->bytes.data());
  entry.len = static_cast<uint32_t>(send->bytes.size());
  entry.msg_flags = kSendFlags;
  entry.user_data = number;
  Store(submissions_.tail, tail + 1);
}

uint32_t SendRing::Reap(std::span<Send> sends) {
  uint32_t head = *completions_.head;
  const uint32_t begin = head;
  for (const uint32_t tail = Load(completions_.tail); head != tail; ++head) {
    const io_uring_cqe& done = cqes_[head & completions_.mask];
    sends[done.user_data].result = done.res;
  }
  Store(completions_.head, head);
  return head - begin;
}

void SendRing::Run(std::span<Send> sends) {
  if (!fd_.ok()) {
    for (Send& send : sends) send.result = CallSend(send);
    return;
  }
  for (std::size_t i = 0; i < sends.size(); ++i) Put(i, &sends[i]);
  uint32_t left = static_cast<uint32_t>(sends.size());
  while (left > 0) {
    const long entered = syscall(SYS_io_uring_enter, fd_.get(), Unseen(), left, IORING_ENTER_GETEVENTS, nullptr, 0);
    const int error = entered < 0 ? errno : 0;
    left -= Reap(sends);
    if (error != 0 && error != EINTR) return Abandon(sends);
  }
}

// The kernel takes no more, for example without memory: what it has not seen goes by send(2), now and from now on.
void SendRing::Abandon(std::span<Send> sends) {
  const std::span<Send> unseen = sends.last(Unseen());
  for (Send& send : sends) {
    if (send.result == kPending) send.result = -EIO;
  }
  for (Send& send : unseen) send.result = CallSend(send);
  fd_ = base::Fd();
}

}  // namespace credbroker::net
