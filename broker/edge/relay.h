#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "base/task.h"
#include "edge/body.h"
#include "edge/heads.h"
#include "edge/options.h"
#include "gate/passage.h"
#include "net/stream.h"
#include "rewrite/scrub.h"
#include "wire/advertisement.h"
#include "wire/websocket.h"

namespace credbroker::edge {

// What the client's side of an exchange is like.
struct ClientSide {
  net::Stream& stream;
  std::string_view method;      // outlives the relay
  bool http_1_0 = false;        // no chunked answers
  bool keep_alive = true;
};

// The request body on its way: bytes read ahead first, then the rest from `source`.
struct UpBody {
  BodyPlan plan;
  std::string ahead;            // decoded content that was read before the decision
  ContentSource* source = nullptr; // null: `ahead` is all
};

// Carries one request's body up and its answer down at the same time, in bounded memory: it stops reading from a side while
// the other is slow. The request's head was written to `upstream` before. Interim answers pass; the final one is written
// anew, its content scrubbed of the lease's secret. Nothing is retried here.
class Relay {
 public:
  struct Result {
    base::ErrorCode error = base::ErrorCode::kNone;
    int status = -1;              // of the answer that was begun
    bool answered = false;        // some of the final answer has gone to the client: errors can only cut it
    bool cut_shows = true;         // an answer that is cut looks cut to the client, by its framing
    bool client_reusable = false;
    bool upstream_reusable = false;
    bool switched = false;        // the answer was 101: both connections carry a WebSocket now
    bool upstream_silent = true;  // not a byte came back: a safe request may be tried again on another connection
    int64_t bytes_up = 0, bytes_down = 0;
  };

  Relay(ClientSide client, net::Stream& upstream, UpBody body, const gate::Passage& passage, const EdgeOptions& options);
  // Edits git's push advertisement on its way (wire/advertisement.h).
  void EditAdvertisement(const wire::AdvertisementEdits& edits) { edits_ = edits; }
  // Holds a 200 answer's content back, at most `max_bytes` (then kUpstreamMalformed), and sends what `edit` makes of it.
  using Edit = std::function<absl::StatusOr<std::string>(std::string_view)>;
  void EditContent(Edit edit, std::size_t max_bytes) {
    edit_ = std::move(edit);
    max_held_ = max_bytes;
  }
  // Writes what `edit` makes of a Location field in its place; nothing where that is empty.
  void EditLocation(std::function<std::string(std::string_view)> edit) { edit_location_ = std::move(edit); }
  // Takes a 101 that fits `ask`, which outlives the relay; otherwise each 101 is a fault of the upstream.
  void AllowSwitch(const wire::WebSocketAsk& ask) { ask_ = &ask; }

  // Keeps a copy of the answer's content, as it goes to the client, of at most `limit` bytes; a longer one is not kept at all.
  void KeepCopy(std::string* copy, std::size_t limit) { copy_ = copy, copy_limit_ = limit; }

  base::Task<Result> Run();

 private:
  enum class Progress { kMoved, kWait, kFinished, kFailed };
  Progress StepUp();
  void WriteUp(std::string_view piece);
  Progress StepDown();
  Progress ReadHead();
  bool BeginAnswer(const wire::ResponseHead& head);
  void Switch(const wire::ResponseHead& head);
  Progress StepBody();
  bool SendDown(std::string_view content);
  bool SendHeld();
  bool FinishDown();
  Progress Fail(base::ErrorCode code);
  unsigned ClientInterest() const;
  unsigned UpstreamInterest() const;

  ClientSide client_;
  net::Stream& upstream_;
  UpBody body_;
  const gate::Passage& passage_;
  const EdgeOptions& options_;
  std::optional<wire::AdvertisementEdits> edits_;
  const wire::WebSocketAsk* ask_ = nullptr;
  Edit edit_;
  std::function<std::string(std::string_view)> edit_location_;
  std::size_t max_held_ = 0;
  bool holds_ = false;
  std::string held_;  // content for edit_

  std::string* copy_ = nullptr;
  std::size_t copy_limit_ = 0;

  Result result_;
  bool up_done_ = false;
  bool up_broken_ = false;     // the upstream does not take more; its answer may still come
  bool down_done_ = false;
  bool over_limit_ = false;    // the session has moved what its scope allows
  int interim_answers_ = 0;
  bool event_stream_ = false;
  bool upstream_keeps_ = false;
  ReplyPlan reply_;
  std::string head_;           // the client's head until the first content comes
  std::optional<BodySource> reply_source_;
  std::optional<rewrite::Scrubber> scrubber_;
  std::optional<wire::AdvertisementFilter> advertisement_;
};

}  // namespace credbroker::edge
