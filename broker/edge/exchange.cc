#include "edge/exchange.h"

#include "base/macros.h"
#include "base/str.h"
#include "base/text.h"
#include "edge/git_body.h"
#include "edge/identity.h"
#include "edge/websocket.h"
#include "token/claims.h"
#include "wire/hop.h"
#include "wire/push_refusal.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;
using gate::Refusal;
using model::GitFacts;
using wire::Framing;

constexpr std::size_t kMaxLfsAnswer = std::size_t{8} << 20;  // of a batch: 1,000 objects

bool IsSafe(std::string_view method) { return method == "GET" || method == "HEAD" || method == "OPTIONS"; }

// Where one reader saw a fault another may see a second request: nothing more is read from such a connection.
bool IsFramingFault(ErrorCode code) { return static_cast<int>(code) >= 3001 && static_cast<int>(code) < 3100; }

// git prints the reason of a refused push only from a report that it asked for.
bool CanReport(const wire::PushRequest& push) {
  return !push.commands.empty() && (push.Has("report-status") || push.Has("report-status-v2") || push.Has("side-band-64k"));
}

bool GoesIntoQuery(const model::Allow& allow) {
  return allow->credential != nullptr && allow->credential->placement.kind == model::Placement::Kind::kQuery;
}

bool NamesCredential(const Request& request, const model::Allow& allow) {
  for (const std::string& name : request.query_names) {
    const bool granted = GoesIntoQuery(allow) && name == allow->credential->placement.name;
    if (!granted && wire::IsCredentialQueryName(name)) return true;
  }
  return false;
}

}  // namespace

Exchange::Exchange(Worker& worker, OpenConnection& connection, const Door& door, std::shared_ptr<const gate::Caller> caller,
                   wire::RequestHead& head, std::size_t head_bytes)
    : worker_(worker),
      connection_(connection),
      client_(connection.stream()),
      door_(door),
      caller_(std::move(caller)),
      head_(head),
      head_bytes_(head_bytes),
      request_id_(worker.gate.NewRequestId()),
      body_(client_, head.framing, head.content_length, wire::ChunkedDecoder::Side::kRequest, worker.options.body_block) {}

Exchange::~Exchange() = default;

// Who, where, what, whether, and then the effect: top to bottom.
base::Task<bool> Exchange::Serve() {
  auto described = Describe(head_, door_);
  const ErrorCode malformed = base::CodeOf(described.status());
  if (described.ok()) request_ = *std::move(described);
  if (request_.facts.authority.host.empty()) request_.facts.authority = door_.target;
  request_.facts.method = head_.method;
  const ErrorCode unknown = base::CodeOf(FindCaller());
  if (unknown != ErrorCode::kNone) co_return co_await Refuse(worker_.gate.Refuse(caller_.get(), request_.facts, Info(), unknown));
  if (malformed != ErrorCode::kNone) co_return co_await Refuse(worker_.gate.Refuse(caller_.get(), request_.facts, Info(), malformed));
  if (const ErrorCode code = CheckCredentials(request_.facts); code != ErrorCode::kNone) {
    co_return co_await Refuse(worker_.gate.Refuse(caller_.get(), request_.facts, Info(), code));
  }
  connection_.Serves(caller_);
  if (request_.facts.git) {
    const ErrorCode code = co_await ReadGit();
    if (code != ErrorCode::kNone) co_return co_await Refuse(worker_.gate.Refuse(caller_.get(), request_.facts, Info(), code));
  }
  if (const policy::BodyRule rule = worker_.gate.BodyRuleOf(request_.facts); rule != policy::BodyRule::kNone) {
    const ErrorCode code = co_await ReadApi(rule);
    if (code != ErrorCode::kNone) co_return co_await Refuse(worker_.gate.Refuse(caller_.get(), request_.facts, Info(), code));
  }
  const net::Deadline deadline = worker_.loop.After(worker_.options.gate_wait);
  gate::Gate::Opening opening = co_await worker_.gate.Open(caller_, request_.facts, Info(), absl::Nanoseconds(deadline.nanoseconds()));
  if (Refusal* refusal = std::get_if<Refusal>(&opening)) co_return co_await Refuse(std::move(*refusal));
  co_return co_await Forward(std::get<gate::Passage>(std::move(opening)));
}

gate::RequestInfo Exchange::Info() const {
  return {request_id_, ChannelName(door_.kind), connection_.peer_text(), request_.query_names};
}

// The proxy's listener wants its own login; inside a tunnel the CONNECT's caller counts, and a token shown again must be of
// the same session; at the gateway the request brings the token.
absl::Status Exchange::FindCaller() {
  if (door_.kind == Door::Kind::kProxy) {
    ASSIGN_OR_RETURN(const std::string text, ProxyToken(head_));
    if (text.empty() && door_.socket == nullptr) return base::Error(ErrorCode::kNoToken);
    if (!text.empty()) RETURN_IF_ERROR(Adopt(text));
  }
  const std::string_view sole = SoleCredentialField(head_);
  if (auto known = connection_.Remembered(sole); known != nullptr) {
    caller_ = std::move(known);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::string text, RequestToken(head_));
  const bool in_common_field = !text.empty();
  if (!in_common_field) {
    ASSIGN_OR_RETURN(text, PlacedToken(head_, request_.query, worker_.gate.Places(request_.facts.authority)));
  }
  if (text.empty()) return caller_ == nullptr ? base::Error(ErrorCode::kNoToken) : absl::OkStatus();
  RETURN_IF_ERROR(Adopt(text));
  if (in_common_field) connection_.Remember(sole, caller_);
  return absl::OkStatus();
}

// A token that is shown beside a caller who is known already must be of the same session. It is the narrower promise of the
// two: a derived one that a tool was given.
absl::Status Exchange::Adopt(std::string_view token) {
  ASSIGN_OR_RETURN(std::shared_ptr<const gate::Caller> shown, worker_.gate.Identify(token));
  if (caller_ != nullptr && shown->grant.session != caller_->grant.session) return base::Error(ErrorCode::kTokenMismatch);
  caller_ = std::move(shown);
  return absl::OkStatus();
}

ErrorCode Exchange::CheckCredentials(const model::Facts& facts) {
  if (HasMisplacedToken(head_, request_.query, {}) && HasMisplacedToken(head_, request_.query, worker_.gate.Places(facts.authority))) {
    return ErrorCode::kTokenMisplaced;
  }
  if (request_.query_names.empty()) return ErrorCode::kNone;
  const bool token_in_query = head_.target.find(token::kTokenPrefix) != std::string_view::npos;
  bool suspicious = token_in_query;
  for (const std::string& name : request_.query_names) suspicious = suspicious || wire::IsCredentialQueryName(name);
  if (!suspicious) return ErrorCode::kNone;
  const auto allow = worker_.gate.Preview(*caller_, facts);
  // In the query it stays unless ours takes its place.
  if (token_in_query && !(allow && GoesIntoQuery(*allow))) return ErrorCode::kTokenMisplaced;
  return allow && (*allow)->managed && NamesCredential(request_, *allow) ? ErrorCode::kForeignCredential : ErrorCode::kNone;
}

base::Task<Relay::Result> Exchange::SendOnce(const gate::Passage& passage, Upstreams::Reuse reuse) {
  Relay::Result result;
  auto connected = co_await worker_.upstreams.Connect(passage.allow(), Target().facts, reuse);
  if (!connected.ok()) {
    result.error = base::CodeOf(connected.status());
    result.upstream_silent = false;  // a second try would not help
    co_return result;
  }
  UpBody up{PlanBody(), {}, &body_};
  std::string head;
  const absl::Status written = AppendUpstreamHead(head_, Target(), passage, up.plan, &head, lfs_ == nullptr ? OwnFields() : lfs_->fields());
  if (written.ok()) connected->stream->Write(head);
  base::WipeString(head);
  if (!written.ok()) {
    result.error = base::CodeOf(written);
    co_return result;
  }
  if (api_ != nullptr) {
    up.ahead = api_->Take();
    up.source = nullptr;
  }
  if (git_ != nullptr && lfs_ != nullptr) {
    up.ahead = lfs_->body();
    up.source = nullptr;
  } else if (git_ != nullptr) {
    up.ahead = git_->TakeAhead();
    if (spool_ != nullptr) up.source = spool_.get();
    if (git_->coded() && spool_ == nullptr) up.source = nullptr;
  }
  Relay relay({client_, head_.method, head_.minor_version == 0, head_.keep_alive}, *connected->stream, std::move(up), passage, worker_.options);
  if (request_.facts.git && request_.facts.git->operation == GitFacts::Operation::kDiscoverPush) {
    relay.EditAdvertisement({.remove_push_options = true, .add_no_thin = passage.allow()->reads_content});
  }
  if (request_.facts.git && request_.facts.git->operation == GitFacts::Operation::kDiscoverFetch) {
    relay.EditAdvertisement({.service = wire::AdvertisementEdits::Service::kUploadPack});
  }
  if (lfs_ != nullptr && lfs_->edits_answer()) {
    relay.EditContent([this](std::string_view answer) { return lfs_->EditAnswer(answer, worker_.gate); }, kMaxLfsAnswer);
  }
  if (lfs_ != nullptr) relay.EditLocation([this](std::string_view location) { return lfs_->EditLocation(location, worker_.gate); });
  std::string answer;
  const bool graphql = request_.facts.body != nullptr && request_.facts.body->graphql;
  if (graphql) relay.KeepCopy(&answer, worker_.options.max_api_body);
  if (request_.websocket) relay.AllowSwitch(*request_.websocket);
  result = co_await relay.Run();
  if (result.error == ErrorCode::kNone && result.status == 200) LearnNodes(passage, answer);
  if (result.switched) co_await CarrySwitched(passage, *connected->stream, &result);
  result.upstream_silent = result.upstream_silent && connected->reused;
  if (result.upstream_reusable) worker_.upstreams.Release(Target().facts.authority, *std::move(connected));
  co_return result;
}

// The connection is a WebSocket from here on, for as long as this very request would still be allowed.
base::Task<void> Exchange::CarrySwitched(const gate::Passage& passage, net::Stream& upstream, Relay::Result* result) {
  FinishHead();  // what stands behind it are frames
  connection_.Belongs(caller_, request_.facts);
  // News may have come between the decision and now: no sweep will tell of them again.
  if (!connection_.StillAllowed(worker_.gate)) client_.Abort();
  const auto meter = [&passage](int64_t bytes) { return passage.Move(bytes); };
  const WebSocketEnd end = co_await CarryWebSocket(client_, upstream, passage.lease(), meter, worker_.options);
  result->error = end.error;
  result->bytes_up = end.bytes_up;
  result->bytes_down = end.bytes_down;
  result->client_reusable = result->upstream_reusable = false;
}

base::Task<bool> Exchange::Forward(gate::Passage passage) {
  if (request_.websocket && passage.allow()->managed) std::erase_if(request_.websocket->protocols, wire::IsCredentialProtocol);
  // A body that is still to come stands behind the head.
  const bool bodyless = head_.framing == Framing::kNone;
  if (!bodyless) KeepHead();
  connection_.Runs(caller_.get(), &request_.facts, &passage.allow());
  Relay::Result result = co_await SendOnce(passage, Upstreams::Reuse::kPooled);
  // A pooled connection that the upstream had closed in the same moment: only what is safe and has no body is sent again.
  if (result.error == ErrorCode::kUpstreamClosed && result.upstream_silent && bodyless && IsSafe(head_.method)) {
    result = co_await SendOnce(passage, Upstreams::Reuse::kFresh);
  }
  connection_.Rests();
  gate::Outcome outcome{gate::Outcome::Result::kDone, result.error, result.status, result.bytes_up, result.bytes_down};
  if (result.error != ErrorCode::kNone) outcome.result = gate::Outcome::Result::kFailed;
  if (result.error != ErrorCode::kNone && !result.answered) outcome.status = base::Lookup(result.error).http_status;
  const Refusal failure{result.error, passage.allow()->rule, request_id_, {}};
  worker_.gate.Close(passage, outcome);
  if (result.error == ErrorCode::kNone) {
    FinishHead();
    // A client that is still sending must get the answer, not a reset (B41).
    if (!result.client_reusable) co_await client_.Close(worker_.loop.After(worker_.options.linger_wait));
    co_return result.client_reusable;
  }
  if (result.answered && result.cut_shows && !client_.aborted()) {
    co_await client_.Close(worker_.loop.After(worker_.options.linger_wait));  // what came arrives, and is seen to be cut
    co_return false;
  }
  if (result.answered || client_.aborted()) {
    client_.Abort();  // an answer that is cut must not look whole
    co_return false;
  }
  co_return co_await Refuse(failure);
}

void Exchange::FinishHead() {
  if (head_bytes_ != 0) client_.Consume(head_bytes_);
  head_bytes_ = 0;
}

// Reads the rest of the request's body and drops it. False when it is too long, broken or too slow.
base::Task<bool> Exchange::Drain(std::size_t limit) {
  const net::Deadline deadline = worker_.loop.After(worker_.options.drain_wait);
  const uint64_t start = body_.taken();
  std::string_view piece;
  while (body_.taken() - start <= limit) {
    switch (body_.Next(&piece)) {
      case ContentSource::Step::kEnd: co_return true;
      case ContentSource::Step::kFailed: co_return false;
      case ContentSource::Step::kPiece: body_.Take(); break;
      case ContentSource::Step::kWait: {
        const net::Io io = co_await client_.Readable(deadline);
        if (io != net::Io::kOk) co_return false;
      }
    }
  }
  co_return false;
}

base::Task<bool> Exchange::Refuse(Refusal refusal) {
  const bool head_only = head_.method == "HEAD";
  const bool continues = head_.expect_continue && git_ == nullptr && api_ == nullptr;  // the client waits for a word before its body
  const bool report = IsPush() && git_ != nullptr && CanReport(git_->push()) && !IsLoginRefusal(refusal.code);
  bool keep = head_.keep_alive && !continues && !IsFramingFault(refusal.code);
  const bool lfs = request_.facts.git && request_.facts.git->lfs.part != model::LfsFacts::Part::kNone;
  const bool discovery = request_.facts.git && head_.method == "GET" && !lfs;
  if (keep || report) KeepHead();
  if (keep || report) keep = co_await Drain(report ? worker_.options.max_drained : worker_.options.max_refusal_drain) && keep;
  std::string answer;
  if (report) {
    AppendPushRefusal(refusal, keep, &answer);
  } else {
    const Challenge challenge = door_.kind == Door::Kind::kProxy     ? Challenge::kProxy
                                : door_.kind == Door::Kind::kGateway ? Challenge::kOrigin
                                                                     : Challenge::kNone;
    AppendRefusal(refusal, discovery ? Audience::kGitText : lfs ? Audience::kLfs : Audience::kJson, challenge, keep ? wire::Persist::kKeep : wire::Persist::kClose,
                  head_only, &answer);
  }
  client_.Write(answer);
  if (keep) co_return true;
  co_await client_.Close(worker_.loop.After(worker_.options.linger_wait));
  co_return false;
}

// 200 with a report, since git shows no reason for anything else on this request (facts.md 3.3).
void Exchange::AppendPushRefusal(const Refusal& refusal, bool keep, std::string* out) const {
  const base::ErrorEntry& entry = base::Lookup(refusal.code);
  std::vector<std::string> reasons;
  for (const wire::PushCommand& command : git_->push().commands) {
    const bool culprit = refusal.ref.empty() || command.ref == refusal.ref;
    std::string reason;
    if (culprit) reason = base::StrCat(entry.text, refusal.path.empty() ? "" : ": ", base::EscapeText(refusal.path, 200), " [", static_cast<int>(entry.code), "]");
    reasons.push_back(std::move(reason));
  }
  const std::string report = wire::RefusalReport(git_->push(), RefusalText(refusal), reasons);
  wire::AppendResponse(200, "application/x-git-receive-pack-result", report, keep ? wire::Persist::kKeep : wire::Persist::kClose,
                       "cache-control: no-cache\r\n", out);
}

}  // namespace credbroker::edge
