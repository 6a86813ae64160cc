#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "net/list.h"
#include "net/loop.h"
#include "net/send_piece.h"
#include "net/send_ring.h"
#include "net/timer_wheel.h"

namespace credbroker::net {

class Stream;

// What all streams of a loop share, private to the room. One stream at a time owns the receive buffer; when another one
// needs it, what is left moves to its owner first. The send buffer holds pieces of many streams until the loop has done
// its batch: a send wakes its receiver, which may take the core, so sends in the middle of the work make all of it run
// on cold caches. The pieces leave by one system call (SendRing) where the kernel can. Now and then looks for streams that have gone quiet and has them give memory back.
class IoBuffers final : private TimerNode {
 public:
  static constexpr std::size_t kReceiveBytes = 256 * 1024;
  static constexpr std::size_t kSendBytes = 128 * 1024;
  static constexpr std::size_t kCork = 32 * 1024;
  static constexpr std::size_t kInputBytes = 16 * 1024;
  static constexpr std::size_t kJoinBytes = 16 * 1024;  // the plaintext of one TLS record

  IoBuffers(Loop& loop, Sends sends);
  ~IoBuffers();

  char* scratch() { return scratch_.get(); }
  char* join() { return join_.get(); }

  // Receive buffer: received bytes of `owner` that TLS has not taken.
  char* ClaimReceive(Stream* owner);
  void SetReceived(std::size_t size) { received_ = {receive_.get(), size}; }
  std::size_t TakeReceived(const Stream* owner, char* out, std::size_t size);
  bool HasReceived(const Stream* owner) const { return receive_owner_ == owner && !received_.empty(); }

  // Send buffer. Room for `size` more bytes of the piece (at most kSendBytes): sends what stands in the way.
  void MakeRoom(SendPiece* piece, std::size_t size);
  void Append(SendPiece* piece, const char* bytes, std::size_t size);
  std::string_view View(const SendPiece& piece) const { return {send_.get() + piece.begin, piece.size}; }
  // Empties the piece. Its bytes stay where they are until the next Append.
  void Release(SendPiece* piece);
  void Wipe(std::string_view sent);
  void SendAll();

  // A stream dies or aborts.
  void Forget(Stream* stream);

  // Input buffers of kInputBytes.
  char* TakeInput();
  // `used`: how many bytes were ever written, to be wiped.
  void GiveInput(char* buffer, std::size_t used);

  void AddHot(ListNode* node);
  void NoteHandshake();

 private:
  void OnTimer() override;
  void SendByRing();
  void ReleaseHeap();

  Loop& loop_;
  const Sends sends_;
  bool ring_tried_ = false;
  std::unique_ptr<SendRing> ring_;
  std::unique_ptr<char[]> receive_, send_, scratch_, join_;
  std::string_view received_;
  Stream* receive_owner_ = nullptr;
  ListNode pieces_;            // in the order of their places
  std::size_t send_end_ = 0;   // of the last piece
  std::vector<std::unique_ptr<char[]>> spare_inputs_;
  ListNode hot_;
  std::size_t handshakes_ = 0;         // since the last sweep
  std::size_t handshakes_before_ = 0;  // in the one before
  std::size_t handshakes_untrimmed_ = 0;
};

}  // namespace credbroker::net
