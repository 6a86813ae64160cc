#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/task.h"
#include "net/deadline.h"
#include "net/io.h"
#include "net/ip.h"
#include "net/loop.h"
#include "net/send_piece.h"
#include "net/stream_wait.h"
#include "net/tls.h"

struct ssl_ctx_st;
struct ssl_st;

namespace credbroker::net {

// One connected socket, plain or TLS, owned by a coroutine of `loop`. Reads and writes never block and never resume a
// coroutine; only the waits do. Destroying it closes the socket at once and drops what was not flushed.
//
//   for (;;) {
//     const IoResult read = stream.Fill(max_head);
//     if (read.io == Io::kAgain) {
//       if (const Io io = co_await stream.Readable(deadline); io != Io::kOk) co_return io;
//       continue;
//     }
//     ...
//
// Memory: a stream that waits idle holds no buffer of its own. Deadlines cost nothing unless they pass.
class Stream final : private EventHandler, private TimerNode {
 public:
  static constexpr std::size_t kMaxPending = 4 * 1024 * 1024;

  enum class Phase { kConnected, kConnecting };

  // Takes a non-blocking stream socket; kConnecting: connect() was called and has not ended (await Connected). `loop`
  // must outlive the stream.
  Stream(Loop& loop, base::Fd fd, Endpoint peer, Phase phase = Phase::kConnected);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Reads what is there into `into`, buffered bytes first. kOk means at least one byte; else kAgain, kEof, kTruncated,
  // kReset, kTls, kAborted.
  IoResult Read(std::span<char> into);
  // Reads into the stream's own buffer, behind what is buffered, up to `max_buffered` in all. Results as Read, or
  // kFull.
  IoResult Fill(std::size_t max_buffered);
  // What Fill has read and Consume has not taken. Stays where it is across waits, until the next Fill, Consume or Read.
  std::string_view buffered() const;
  // Drops the first `bytes` of buffered(). When nothing is left the buffer is wiped and given back to the loop.
  void Consume(std::size_t bytes);

  // Queues `bytes`; sent at 32 KiB, at Flush, or when the loop has done its batch. Writes of any size are taken, so a sender
  // awaits Flush between blocks, which holds it back while the peer is slow. kOk, kReset, kTls, kAborted.
  Io Write(std::string_view bytes);
  // The same with both parts in one TLS record and one send where they fit: a head and its first block.
  Io Write(std::string_view head, std::string_view body);
  // Written bytes that the kernel has not taken.
  std::size_t pending() const;

  OneWait Readable(Deadline deadline) { return OneWait(this, kReadable, nullptr, 0, deadline); }
  OneWait Flush(Deadline deadline) { return OneWait(this, kDrained, nullptr, 0, deadline); }
  OneWait Hangup(Deadline deadline) { return OneWait(this, kHangup, nullptr, 0, deadline); }
  // The end of a connect: kOk, kReset when it failed, kTimeout, kAborted.
  base::Task<Io> Connected(Deadline deadline);

  // Handshakes. Buffered bytes are the start of the peer's TLS (a ClientHello that came with CONNECT). kOk, or the
  // failure; for kTls see tls_error().
  base::Task<Io> StartTlsServer(std::shared_ptr<const TlsServerContext> context, Deadline deadline);
  // `host` is the name or IP literal (no brackets) to verify; `port` keeps sessions apart. Refuses (kTls) when the
  // peer sent bytes before TLS.
  base::Task<Io> StartTlsClient(std::shared_ptr<const TlsClientContext> context, std::string host, uint16_t port,
                                Deadline deadline);
  bool tls() const { return ssl_ != nullptr; }
  // Why TLS failed, for logs: "certificate: hostname mismatch". Empty when it did not.
  const std::string& tls_error() const { return tls_error_; }
  // The name that the TLS client asked for; empty without one.
  std::string server_name() const;
  bool resumed() const;

  // Ends our direction: close_notify if the peer still listens for it, then FIN once all is sent.
  void FinishWrites();
  // FinishWrites, then reads and drops until the peer closes or `deadline`: a peer that is still sending gets the
  // answer instead of a reset. Destroy the stream afterwards.
  base::Task<void> Close(Deadline deadline);

  // Ends all use at once, with a reset if it is TCP: the peer cannot take what it got for the whole. The waiter wakes
  // with kAborted (in a later batch, not inside this call), every later call says kAborted. From the loop's thread; for
  // other threads use Loop::Post.
  void Abort();
  bool aborted() const { return aborted_; }
  // The peer has closed its sending side or the connection is broken.
  bool hung_up() const { return hangup_ || read_end_ != Io::kOk || send_failed_; }

  const Endpoint& peer() const { return peer_; }
  Loop& loop() { return loop_; }
  int fd() const { return fd_.get(); }

  // For a pool: while idle, events and the deadline go to `owner` instead of a coroutine.
  class IdleOwner {
   public:
    // The stream ended, sent something unasked, or idled until its deadline. Shall destroy it.
    virtual void OnIdleEnd(Stream* stream) = 0;

   protected:
    ~IdleOwner() = default;
  };
  void StartIdle(IdleOwner* owner, Deadline deadline);
  // False when the connection has ended meanwhile: destroy it.
  bool StopIdle();

 private:
  friend class StreamWait;
  friend class IoBuffers;
  friend class TlsClientContext;
  struct TlsBio;
  struct HotNode : ListNode {
    Stream* stream = nullptr;
  };

  void OnEvents(uint32_t events) override;
  void OnTimer() override;
  unsigned Holds() const;  // the interests that hold now
  void Notify();
  void TouchHot();
  void Trim();  // gives back what an idle stream need not hold

  // Socket side (stream.cc, stream_write.cc).
  IoResult ReceivePlain(std::span<char> into);
  std::size_t Receive(char* out, std::size_t size);  // recv; 0: nothing now, or read_end_ says why
  std::size_t TakeStash(char* out, std::size_t size);
  void ReleaseInput();
  bool GrowInput(std::size_t max_buffered);
  void Emit(const char* bytes, std::size_t size);
  void SendShared();  // what the loop's send buffer holds of this stream
  void SentShared(std::string_view bytes, int result);  // all of it was tried: bytes taken or a negative errno
  void SendQueued();
  std::size_t SendNow(const char* bytes, std::size_t size);
  void Queue(const char* bytes, std::size_t size);
  void FinishSocket();
  void StashInput(std::string_view bytes) { stash_.append(bytes); }
  // False when the peer has closed or sent something; takes nothing that a healthy connection needs.
  bool ProbeIdle();

  // TLS side (stream_tls.cc).
  static void KeepSessions(ssl_ctx_st* ctx);  // new sessions of a client context go to its Sessions
  IoResult ReceiveTls(std::span<char> into);
  std::size_t ReadCipher(char* out, std::size_t size);  // 0: nothing now, or the end
  Io WriteTls(std::string_view bytes);
  base::Task<Io> Handshake(Deadline deadline);
  Io BeginTls(ssl_st* ssl);
  Io TlsFailure(int ssl_error);
  void NoteTlsError(std::string_view reason);
  void HoldTickets();
  void SendCloseNotify();
  void FreeTls();
  void TrimTls();

  Loop& loop_;
  base::Fd fd_;
  Endpoint peer_;
  StreamWait* wait_ = nullptr;
  IdleOwner* idle_owner_ = nullptr;
  HotNode hot_;
  SendPiece piece_{this};  // empty while out_ is not

  ssl_st* ssl_ = nullptr;
  std::shared_ptr<const TlsServerContext> server_context_;
  std::shared_ptr<const TlsClientContext> client_context_;
  std::string session_key_;
  std::string tls_error_;

  char* input_ = nullptr;  // from the loop's spare buffers; null while nothing is buffered
  std::size_t input_begin_ = 0, input_end_ = 0, input_capacity_ = 0;
  std::string stash_;  // received, not yet taken by TLS: in front of the loop's receive buffer
  std::size_t stash_taken_ = 0;
  std::string held_;  // session tickets, to leave with the first answer
  std::string out_;   // what the kernel did not take
  std::size_t out_sent_ = 0;

  bool socket_readable_ = true;  // a recv may give something
  bool starved_ = false;         // the last read said kAgain and nothing has come since
  bool connecting_ = false;
  Io read_end_ = Io::kOk;  // once reading has ended: how
  bool hangup_ = false, eof_ = false, send_failed_ = false, aborted_ = false;
  bool tls_failed_ = false, tls_done_ = false;
  bool finish_after_drain_ = false, finished_ = false;
  bool active_ = true;  // since the last sweep
};

}  // namespace credbroker::net
