#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "edge/options.h"
#include "gate/passage.h"
#include "net/stream.h"
#include "rewrite/scrub.h"
#include "wire/websocket.h"

namespace credbroker::edge {

// Takes a lease's secret out of the frames of a server, without a change of any length. The payloads of all data frames
// are one text to it, so that a secret is found across fragments and messages; a control frame is looked at by itself.
//
// What may be the start of a secret is held back until the message is whole, no longer: somebody waits for it. A part that
// tells nothing (below 8 bytes and half of the secret) is then passed on, a longer one covered, and either way the rest of
// the secret is still covered when it comes. Holds at most one secret and kMaxWaiting bytes of frames behind it.
class FrameScrubber {
 public:
  static constexpr std::size_t kMaxWaiting = 4096;

  explicit FrameScrubber(std::shared_ptr<const rewrite::ScrubSet> set) : set_(set), scrubber_(std::move(set)) {}
  ~FrameScrubber() { base::WipeString(recent_); }
  FrameScrubber(const FrameScrubber&) = delete;
  FrameScrubber& operator=(const FrameScrubber&) = delete;

  // Takes whole steps from the start of `in` and appends what may be passed on. How many bytes were taken goes to
  // `consumed`; the rest, shorter than a control frame, must be given again. False when these are no frames of a server.
  bool Feed(std::string_view in, std::size_t* consumed, std::string* out);
  // To be called when nothing more is at hand.
  void Pause(std::string* out);
  // At the end of the stream.
  void Finish(std::string* out) { Settle(out); }

  bool closing() const { return frames_.closing(); }

 private:
  // A header or a control frame that must not overtake payload that is held.
  struct Waiting {
    uint64_t at;  // behind so many bytes of payload
    std::string bytes;
  };
  void Insert(std::string bytes, std::string* out);
  void Payload(std::string_view piece, std::string* out);
  void Place(std::string_view payload, std::string* out);
  void Settle(std::string* out);

  const std::shared_ptr<const rewrite::ScrubSet> set_;
  wire::ServerFrames frames_;
  rewrite::Scrubber scrubber_;
  uint64_t given_ = 0;      // payload bytes that came
  uint64_t placed_ = 0;     // payload bytes that were passed on
  uint64_t scrubbed_ = 0;   // payload bytes that the scrubber has given back; fewer than `placed_` after a Settle
  std::string recent_;      // the last payload bytes, as many as a part that tells nothing can have
  std::vector<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
};

// What became of a WebSocket after its handshake.
struct WebSocketEnd {
  base::ErrorCode error = base::ErrorCode::kNone;  // kUpstreamMalformed, kUpstreamClosed, kUpstreamTimeout, kClientClosed, kTokenRevoked, kByteLimit
  int64_t bytes_up = 0, bytes_down = 0;            // of frames, with their headers
};

// Counts bytes as they are carried; false ends the connection with kByteLimit.
using Meter = absl::FunctionRef<bool(int64_t bytes)>;

// Carries bytes both ways from the end of the handshake, those that are buffered behind the heads first. Stops reading from
// a side while the other is slow (high_water). Without a lease nothing is read of the frames. Ends when both sides have
// ended, when nothing moves for stream_idle, or for close_wait once one side has ended, and when `client` is aborted. The
// caller closes both streams. Everything outlives the task.
base::Task<WebSocketEnd> CarryWebSocket(net::Stream& client, net::Stream& upstream, const gate::Lease* lease, Meter meter, const EdgeOptions& options);

}  // namespace credbroker::edge
