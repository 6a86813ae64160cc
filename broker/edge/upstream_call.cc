#include "edge/upstream_call.h"

#include "base/macros.h"
#include "edge/body.h"
#include "edge/heads.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using net::Io;

ErrorCode CodeOf(Io io) { return io == Io::kTimeout ? ErrorCode::kUpstreamTimeout : ErrorCode::kUpstreamClosed; }

// Writes the request. The credential is in it, so it is wiped.
absl::Status WriteAsk(const gate::Passage& passage, const model::Facts& target, const UpstreamAsk& ask, net::Stream& stream) {
  Request request;
  request.facts.scheme = target.scheme;
  request.facts.authority = target.authority;
  request.facts.method = ask.method;
  request.facts.path = ask.path;
  request.query = ask.query;
  wire::RequestHead head;
  head.method = ask.method;
  head.headers.Add({"user-agent", "git/credbroker"});
  head.headers.Add({"accept", ask.accept});
  head.headers.Add({"git-protocol", "version=2"});
  if (!ask.content_type.empty()) head.headers.Add({"content-type", ask.content_type});
  if (passage.lease() == nullptr) head.headers.Add({"accept-encoding", "identity"});
  BodyPlan plan;
  if (ask.method == "POST") {
    plan.framing = wire::Framing::kLength;
    plan.length = ask.body.size();
  }
  std::string text;
  const absl::Status written = AppendUpstreamHead(head, request, passage, plan, &text);
  if (written.ok()) {
    stream.Write(text);
    stream.Write(ask.body);
  }
  base::WipeString(text);
  return written;
}

base::Task<absl::Status> ReadAnswerHead(Worker& worker, net::Stream& stream, const UpstreamAsk& ask, std::optional<BodySource>* body, bool* keeps) {
  wire::ResponseHead head;
  const wire::HeadLimits limits;
  while (true) {
    const wire::ParseResult parsed = wire::ParseResponseHead(stream.buffered(), ask.method, limits, &head);
    if (parsed.failed()) co_return base::Error(ErrorCode::kUpstreamMalformed, "head");
    if (parsed.complete() && !head.interim()) {
      const bool right = head.status == 200 && head.FindHeader("content-type").value_or("") == ask.accept &&
                         head.FindHeader("content-encoding").value_or("identity") == "identity";
      *keeps = head.keep_alive && head.framing != wire::Framing::kUntilClose;
      const wire::Framing framing = head.framing;
      const uint64_t length = head.content_length;
      stream.Consume(parsed.consumed);
      if (!right) co_return base::Error(ErrorCode::kUpstreamMalformed, "status or type");
      body->emplace(stream, framing, length, wire::ChunkedDecoder::Side::kResponse, worker.options.body_block);
      co_return absl::OkStatus();
    }
    if (parsed.complete()) {
      stream.Consume(parsed.consumed);
      continue;
    }
    Io io = stream.Fill(limits.max_head_bytes + 1).io;
    if (io == Io::kAgain) io = co_await stream.Readable(worker.loop.After(worker.options.base_wait));
    if (io != Io::kOk) co_return base::Error(io == Io::kFull ? ErrorCode::kUpstreamMalformed : CodeOf(io), "head");
  }
}

}  // namespace

base::Task<absl::Status> CallUpstream(Worker& worker, const gate::Passage& passage, const model::Facts& target, const UpstreamAsk& ask,
                                      const std::function<absl::Status(std::string_view)>& take, int64_t* bytes_down) {
  ASSIGN_OR_CO_RETURN(Upstreams::Connection connection, co_await worker.upstreams.Connect(passage.allow(), target, Upstreams::Reuse::kFresh));
  net::Stream& stream = *connection.stream;
  CO_RETURN_IF_ERROR(WriteAsk(passage, target, ask, stream));
  if (const Io io = co_await stream.Flush(worker.loop.After(worker.options.base_wait)); io != Io::kOk) {
    co_return base::Error(CodeOf(io), "sending");
  }
  std::optional<BodySource> body;
  bool keeps = false;
  CO_RETURN_IF_ERROR(co_await ReadAnswerHead(worker, stream, ask, &body, &keeps));
  uint64_t taken = 0;
  while (true) {
    std::string_view piece;
    const ContentSource::Step step = body->Next(&piece);
    if (step == ContentSource::Step::kFailed) co_return base::Error(body->error(), "body");
    if (step == ContentSource::Step::kEnd) break;
    if (step == ContentSource::Step::kWait) {
      const Io io = co_await stream.Readable(worker.loop.After(worker.options.base_wait));
      if (io != Io::kOk && io != Io::kReset) co_return base::Error(CodeOf(io), "body");
      continue;
    }
    taken += piece.size();
    *bytes_down += static_cast<int64_t>(piece.size());
    if (!passage.Move(static_cast<int64_t>(piece.size()))) co_return base::Error(ErrorCode::kByteLimit);
    if (taken > ask.max_bytes) co_return base::Error(ErrorCode::kBodyTooLarge, "the host's answer");
    CO_RETURN_IF_ERROR(take(piece));
    body->Take();
  }
  if (keeps && stream.buffered().empty()) worker.upstreams.Release(target.authority, std::move(connection));
  co_return absl::OkStatus();
}

}  // namespace credbroker::edge
