#include "edge/base_reader.h"

#include <algorithm>

#include "base/macros.h"
#include "base/text.h"
#include "edge/upstream_call.h"
#include "net/completion.h"
#include "wire/pack_commits.h"

namespace credbroker::edge {
namespace {

using base::ErrorCode;

constexpr std::size_t kMaxListBytes = std::size_t{16} << 20;  // the host's offer, the host's refs
constexpr std::size_t kMaxRefs = 100'000;
constexpr std::size_t kMaxTips = 1'000;     // that a commit's ancestry is shown from, branches first
constexpr std::size_t kMaxHistories = 16;   // commits that are no tip themselves: a question to the host each
constexpr std::size_t kMaxWanted = 1'000;   // objects of one fetch

absl::Status Undecided(std::string_view why) { return base::Error(ErrorCode::kContentRuleUndecided, why); }

// What the host answers amiss decides nothing; that it cannot be reached is another matter.
absl::Status Judged(absl::Status status) {
  const ErrorCode code = base::CodeOf(status);
  return code == ErrorCode::kUpstreamMalformed || code == ErrorCode::kBadGitRequest || code == ErrorCode::kBadPack ? Undecided("the host's answer")
                                                                                                               : status;
}

}  // namespace

BaseReader::BaseReader(Worker& worker, std::shared_ptr<const gate::Caller> caller, const gate::RequestInfo& info, const model::Facts& push)
    : worker_(worker), caller_(std::move(caller)), info_(info), facts_(push) {
  constexpr std::string_view kReceive = "/git-receive-pack";
  repository_path_ = push.path.substr(0, push.path.size() - kReceive.size());
  facts_.path = repository_path_ + "/git-upload-pack";
  facts_.method = "POST";
  facts_.git->operation = model::GitFacts::Operation::kReadBase;
  facts_.git->content = {};
}

BaseReader::~BaseReader() {
  if (!passage_) return;
  gate::Outcome outcome{gate::Outcome::Result::kDone, failed_, failed_ == ErrorCode::kNone ? 200 : base::Lookup(failed_).http_status, 0, bytes_down_};
  if (failed_ != ErrorCode::kNone) outcome.result = gate::Outcome::Result::kFailed;
  worker_.gate.Close(*passage_, outcome);
}

// The intent first, then what the host offers.
base::Task<absl::Status> BaseReader::Open() {
  if (passage_) co_return absl::OkStatus();
  gate::RequestInfo info = info_;
  info.request_id = worker_.gate.NewRequestId();
  info.query_names.clear();
  const net::Deadline deadline = worker_.loop.After(worker_.options.gate_wait);
  gate::Gate::Opening opening = co_await worker_.gate.Open(caller_, facts_, std::move(info), absl::Nanoseconds(deadline.nanoseconds()));
  if (const gate::Refusal* refusal = std::get_if<gate::Refusal>(&opening)) co_return base::Error(refusal->code, "reading the base");
  passage_.emplace(std::get<gate::Passage>(std::move(opening)));
  UpstreamAsk ask;
  ask.path = repository_path_ + "/info/refs";
  ask.query = "?service=git-upload-pack";
  ask.accept = "application/x-git-upload-pack-advertisement";
  ask.max_bytes = kMaxListBytes;
  std::string body;
  const std::function<absl::Status(std::string_view)> take = [&body](std::string_view piece) {
    body.append(piece);
    return absl::OkStatus();
  };
  CO_RETURN_IF_ERROR(Judged(co_await CallUpstream(worker_, *passage_, facts_, ask, take, &bytes_down_)));
  auto offer = wire::ReadHostOffer(body);
  if (!offer.ok()) co_return Judged(offer.status());
  offer_ = *offer;
  const bool same_format = (offer_.format == crypto::ObjectFormat::kSha256) == (facts_.git->changes.front().new_id.size() == 64);
  if (!offer_.refs || !offer_.shallow || !same_format) co_return Undecided("what the host offers");
  co_return absl::OkStatus();
}

base::Task<absl::Status> BaseReader::Call(std::string body, const std::function<absl::Status(std::string_view)>& take) {
  UpstreamAsk ask;
  ask.method = "POST";
  ask.path = facts_.path;
  ask.content_type = "application/x-git-upload-pack-request";
  ask.accept = "application/x-git-upload-pack-result";
  ask.body = std::move(body);
  const auto left = static_cast<int64_t>(worker_.options.max_spool) - bytes_down_;  // over all answers
  if (left <= 0) co_return base::Error(ErrorCode::kBodyTooLarge, "what the host gave for one push");
  ask.max_bytes = static_cast<uint64_t>(left);
  absl::Status status = Judged(co_await CallUpstream(worker_, *passage_, facts_, ask, take, &bytes_down_));
  if (!status.ok()) failed_ = base::CodeOf(status);
  co_return status;
}

base::Task<absl::Status> BaseReader::Gather(const std::string& body, std::string* out) {
  const std::function<absl::Status(std::string_view)> take = [out](std::string_view piece) {
    if (out->size() + piece.size() > kMaxListBytes) return Undecided("too many refs");
    out->append(piece);
    return absl::OkStatus();
  };
  co_return co_await Call(body, take);
}

base::Task<absl::Status> BaseReader::Prove(const std::set<std::string>& ids) {
  if (ids.empty()) co_return absl::OkStatus();
  CO_RETURN_IF_ERROR(co_await Open());
  std::string list;
  CO_RETURN_IF_ERROR(co_await Gather(wire::RefsRequest(offer_.format), &list));
  const auto refs = wire::ReadHostRefs(list, offer_.format, kMaxRefs);
  if (!refs.ok()) co_return Judged(refs.status());
  std::set<std::string> known;
  std::vector<std::string> tips, tags;
  for (const wire::HostRef& ref : *refs) {
    known.insert(ref.id);
    if (!ref.peeled.empty()) known.insert(ref.peeled);
    (ref.name.starts_with("refs/heads/") ? tips : tags).push_back(ref.peeled.empty() ? ref.id : ref.peeled);
  }
  tips.insert(tips.end(), tags.begin(), tags.end());
  std::set<std::string> once;
  std::erase_if(tips, [&](const std::string& tip) { return !once.insert(tip).second; });
  if (tips.size() > kMaxTips) tips.resize(kMaxTips);
  std::size_t histories = 0;
  for (const std::string& raw : ids) {
    const std::string id = base::HexEncode(raw);
    if (known.contains(id)) continue;
    if (tips.empty() || ++histories > kMaxHistories) co_return Undecided("too many commits to look for");
    CO_RETURN_IF_ERROR(co_await ProveOne(id, tips));
  }
  co_return absl::OkStatus();
}

// The host gives what the tips have and the commit has not: if one of them descends from it, each step between is there.
base::Task<absl::Status> BaseReader::ProveOne(const std::string& id, const std::vector<std::string>& tips) {
  wire::FetchReply reply;
  wire::PackCommits commits(offer_.format, {});
  std::string piece;
  const std::function<absl::Status(std::string_view)> take = [&](std::string_view bytes) {
    piece.clear();
    RETURN_IF_ERROR(reply.Feed(bytes, &piece));
    return commits.Feed(piece);
  };
  CO_RETURN_IF_ERROR(co_await Call(wire::HistoryRequest(offer_, tips, id), take));
  if (!reply.Finish().ok() || !commits.Finish().ok()) co_return Undecided("the host's history");
  for (const std::string& tip : tips) {
    if (commits.Descends(tip, id)) co_return absl::OkStatus();
  }
  co_return Undecided("a commit that no branch or tag of the host reaches");
}

base::Task<absl::Status> BaseReader::Fetch(const std::set<std::string>& ids) {
  CO_RETURN_IF_ERROR(co_await Open());
  if (ids.size() > kMaxWanted) co_return Undecided("too many objects to fetch");
  std::vector<std::string> wanted;
  for (const std::string& raw : ids) wanted.push_back(base::HexEncode(raw));
  Held held;
  ASSIGN_OR_CO_RETURN(held.spool, PushSpool::Create(worker_.options.spool_folder, worker_.options.max_spool));
  held.store = std::make_unique<wire::PackStore>(offer_.format, wire::PackStoreLimits());
  wire::FetchReply reply;
  std::string piece;
  const std::function<absl::Status(std::string_view)> take = [&](std::string_view bytes) {
    piece.clear();
    RETURN_IF_ERROR(reply.Feed(bytes, &piece));
    RETURN_IF_ERROR(held.spool->Append(piece));
    return held.store->Feed(piece);
  };
  CO_RETURN_IF_ERROR(co_await Call(wire::TreesRequest(offer_, wanted), take));
  if (!reply.Finish().ok() || !held.store->Finish().ok()) co_return Undecided("the host's trees");
  while (true) {
    const auto done = held.store->Resolve(*held.spool);
    if (!done.ok()) co_return Judged(done.status());
    if (*done) break;
    co_await net::NextBatch(worker_.loop);
  }
  packs_.push_back({held.store.get(), held.spool.get()});
  held_.push_back(std::move(held));
  co_return absl::OkStatus();
}

}  // namespace credbroker::edge
