#include "edge/broker_link.h"

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "absl/time/time.h"
#include "audit/reader.h"
#include "base/macros.h"
#include "base/str.h"
#include "credbroker/v1/edge.grpc.pb.h"
#include "crypto/seal.h"
#include "edge/unsent_uses.h"
#include "policy/source.h"

namespace credbroker::edge {

BrokerLink::~BrokerLink() = default;

namespace {

using base::ErrorCode;
namespace pb = credbroker::v1;

constexpr std::size_t kCallers = 2;               // threads for leases and certificates
constexpr std::size_t kMaxQueued = 1024;          // calls that wait; more are refused
constexpr std::size_t kShipBytes = 512 * 1024;
constexpr int kFrameBytes = 256 * 1024;            // a shipment in a few writes; gRPC's default makes dozens
constexpr auto kCallWait = std::chrono::seconds(10);
constexpr auto kReportEvery = std::chrono::seconds(1);
constexpr auto kShipEvery = std::chrono::milliseconds(500);

absl::Time FromProto(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

void ToProto(absl::Time time, google::protobuf::Timestamp* out) {
  const int64_t ns = absl::ToUnixNanos(time);
  out->set_seconds(ns / 1'000'000'000);
  out->set_nanos(static_cast<int32_t>(ns % 1'000'000'000));
}

// The catalogue's number travels in the trailing metadata; a failure without one is the link's.
absl::Status FromGrpc(const grpc::Status& status, const grpc::ClientContext& context) {
  if (status.ok()) return absl::OkStatus();
  const auto& trailing = context.GetServerTrailingMetadata();
  const auto found = trailing.find("credbroker-error");
  int number = 0;
  if (found != trailing.end() && base::ParseInt(std::string_view(found->second.data(), found->second.size()), &number)) {
    return base::Error(base::Lookup(static_cast<ErrorCode>(number)).code, status.error_message());
  }
  return base::Error(ErrorCode::kProviderDown, status.error_message());
}

class SocketLink final : public BrokerLink {
 public:
  SocketLink(base::Fd socket, Options options, gate::StateBoard& board, audit::Ledger& ledger, const base::Clock& clock)
      : options_(std::move(options)), board_(board), ledger_(ledger), clock_(clock), box_(crypto::BoxKey::Generate()) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(16 << 20);  // a policy may be larger than gRPC's default
    arguments.SetInt(GRPC_ARG_HTTP2_WRITE_BUFFER_SIZE, kFrameBytes);
    const auto channel = grpc::CreateCustomInsecureChannelFromFd("broker", socket.Release(), arguments);
    stub_ = pb::EdgeService::NewStub(channel);
    state_ = std::make_shared<gate::EdgeState>(*board.Current());
  }
  ~SocketLink() override { Stop(); }

  void Start(Hooks hooks) override {
    hooks_ = std::move(hooks);
    threads_.emplace_back([this] { Watch(); });
    threads_.emplace_back([this] { ReportLoop(); });
    threads_.emplace_back([this] { ShipLoop(); });
    for (std::size_t i = 0; i < kCallers; ++i) threads_.emplace_back([this] { CallLoop(); });
  }

  void Stop() override {
    {
      const std::lock_guard lock(mu_);
      if (stopping_) return;
      stopping_ = true;
      ship_now_ = true;
    }
    changed_.notify_all();
    watch_context_.TryCancel();
    for (std::thread& thread : threads_) thread.join();
    for (const auto& call : calls_) call(false);
  }

  void Lend(std::string session, std::string credential, int64_t policy_version, std::string intent_id,
            std::function<void(absl::StatusOr<Lent>)> done) override {
    pb::LendRequest request;
    request.set_edge(options_.edge);
    request.set_session(std::move(session));
    request.set_credential(std::move(credential));
    request.set_policy_version(policy_version);
    request.set_intent_id(std::move(intent_id));
    Queue([this, request = std::move(request), done](bool live) { done(live ? CallLend(request) : Gone()); },
          [done] { done(Gone()); });
  }

  void SignLeaf(std::string host, std::string public_key_der, std::function<void(absl::StatusOr<std::string>)> done) override {
    pb::SignLeafRequest request;
    request.set_edge(options_.edge);
    request.set_host(std::move(host));
    request.set_public_key(std::move(public_key_der));
    Queue([this, request = std::move(request), done](bool live) { done(live ? CallSignLeaf(request) : Gone()); },
          [done] { done(Gone()); });
  }

 private:
  static absl::Status Gone() { return base::Error(ErrorCode::kProviderDown, "the broker link is down or busy"); }
  static void SetDeadline(grpc::ClientContext& context) { context.set_deadline(std::chrono::system_clock::now() + kCallWait); }

  absl::StatusOr<Lent> CallLend(const pb::LendRequest& request) {
    grpc::ClientContext context;
    SetDeadline(context);
    pb::LendReply reply;
    RETURN_IF_ERROR(FromGrpc(stub_->Lend(&context, request, &reply), context), "borrowing a lease");
    ASSIGN_OR_RETURN(base::Secret secret, crypto::OpenSealed(box_, reply.sealed_lease()), "opening a lease");
    if (secret.empty()) return base::Error(ErrorCode::kCredentialNotSet);
    return Lent{std::move(secret), FromProto(reply.expires_at()), reply.secret_version()};
  }

  absl::StatusOr<std::string> CallSignLeaf(const pb::SignLeafRequest& request) {
    grpc::ClientContext context;
    SetDeadline(context);
    pb::SignLeafReply reply;
    RETURN_IF_ERROR(FromGrpc(stub_->SignLeaf(&context, request, &reply), context), "asking for a certificate");
    return std::move(*reply.mutable_chain_pem());
  }

  void Queue(std::function<void(bool)> call, const std::function<void()>& refused) {
    {
      const std::lock_guard lock(mu_);
      if (!stopping_ && !lost_ && calls_.size() < kMaxQueued) {
        calls_.push_back(std::move(call));
        changed_.notify_all();
        return;
      }
    }
    refused();
  }

  void CallLoop() {
    std::unique_lock lock(mu_);
    while (true) {
      changed_.wait(lock, [&] { return stopping_ || !calls_.empty(); });
      if (stopping_) return;
      const std::function<void(bool)> call = std::move(calls_.front());
      calls_.pop_front();
      lock.unlock();
      call(true);
      lock.lock();
    }
  }

  void Watch() {
    pb::WatchRequest request;
    request.set_edge(options_.edge);
    request.set_sealing_key(box_.public_key());
    request.set_ledger_vkey(ledger_.key_text());
    request.set_version(options_.version);
    for (const std::string& listener : options_.listeners) request.add_listeners(listener);
    request.set_proxy_url(options_.proxy_url);
    request.set_gateway_url(options_.gateway_url);
    request.set_sockets_folder(options_.sockets_folder);
    const auto reader = stub_->Watch(&watch_context_, request);
    pb::EdgeUpdate update;
    while (reader->Read(&update)) Apply(update);
    reader->Finish().ok();
    const std::lock_guard lock(mu_);
    lost_ = true;
    if (!stopping_) hooks_.on_lost();
  }

  void Apply(const pb::EdgeUpdate& update) {
    switch (update.update_case()) {
      case pb::EdgeUpdate::kPolicy: ApplyPolicy(update.policy()); break;
      case pb::EdgeUpdate::kKeys: ApplyKeys(update.keys()); break;
      case pb::EdgeUpdate::kRevocations: ApplyRevocations(update.revocations()); break;
      case pb::EdgeUpdate::kShipNow: {
        const std::lock_guard lock(mu_);
        ship_ticket_ = update.ship_now().ticket();
        ship_now_ = true;
        changed_.notify_all();
        break;
      }
      default: break;
    }
    board_.NoteHeard(clock_.Monotonic());
    const bool complete = update.serial() != serial_seen_;
    serial_seen_ = update.serial();
    if (complete || update.has_sockets()) board_.Publish(std::make_shared<gate::EdgeState>(*state_));
    for (const pb::SessionSocket& socket : update.sockets().sockets()) hooks_.on_socket(socket.session(), socket.token());
    if (!complete) return;
    hooks_.on_change([this, serial = update.serial()] {
      const std::lock_guard lock(mu_);
      serial_done_ = std::max(serial_done_, serial);
      report_now_ = true;
      changed_.notify_all();
    });
  }

  // A policy that does not load here must not leave the old one in force while the broker believes otherwise.
  void ApplyPolicy(const pb::PolicyUpdate& update) {
    const auto load = [&]() -> absl::StatusOr<std::shared_ptr<const policy::RuleSet>> {
      if (update.version() == 0) return policy::RuleSet::Empty();
      ASSIGN_OR_RETURN(const policy::PolicySource source, policy::Parse(update.source()));
      return policy::RuleSet::Load(source, update.version(), update.digest());
    };
    auto rules = load();
    state_->rules = rules.ok() ? *std::move(rules) : policy::RuleSet::Empty();
  }

  void ApplyKeys(const pb::KeysUpdate& update) {
    std::vector<crypto::VerifyKey> keys;
    for (const std::string& bytes : update.verify_keys()) {
      auto key = crypto::VerifyKey::FromBytes(bytes);
      if (key.ok()) keys.push_back(*std::move(key));
    }
    state_->verifier = std::make_shared<token::Verifier>(token::KeySet(keys), update.audience(), update.implicit_assertion());
    state_->ca_pem = update.ca_pem();
  }

  void ApplyRevocations(const pb::RevocationsUpdate& update) {
    auto set = update.whole() ? std::make_shared<gate::RevocationSet>() : std::make_shared<gate::RevocationSet>(*state_->revocations);
    for (const pb::Revocation& revocation : update.revocations()) {
      if (revocation.kind() == "lease") {
        hooks_.on_lease_drop(revocation.value());
        continue;
      }
      set->Add({revocation.kind(), revocation.value(), FromProto(revocation.at())});
    }
    state_->revocations = std::move(set);
  }

  void ReportLoop() {
    std::unique_lock lock(mu_);
    while (!stopping_) {
      changed_.wait_for(lock, kReportEvery, [&] { return stopping_ || report_now_; });
      if (stopping_) return;
      report_now_ = false;
      pb::ReportRequest request;
      request.set_serial(serial_done_);
      lock.unlock();
      unsent_.Add(hooks_.take_uses());
      const gate::Gate::Uses uses = unsent_.Batch();
      FillReport(uses, &request);
      grpc::ClientContext context;
      SetDeadline(context);
      pb::ReportReply reply;
      const bool arrived = stub_->Report(&context, request, &reply).ok();
      if (arrived) unsent_.Forget(uses);  // else the next one says it again
      lock.lock();
      report_now_ = report_now_ || (arrived && !unsent_.empty());
    }
  }

  void FillReport(const gate::Gate::Uses& uses, pb::ReportRequest* request) {
    const audit::LedgerHealth health = ledger_.health();
    request->set_edge(options_.edge);
    request->set_policy_version(board_.Current()->rules->version());
    request->set_ledger_ok(health.writable);
    request->set_ledger_entries(health.size);
    for (const auto& [session, use] : uses.sessions) {
      pb::SessionUse* row = request->add_sessions();
      row->set_session(session);
      ToProto(use.last, row->mutable_last_used_at());
    }
    for (const auto& [id, use] : uses.exceptions) {
      pb::ExceptionUse* row = request->add_exceptions();
      row->set_id(id);
      row->set_uses(use.count);
      ToProto(use.last, row->mutable_last_use());
    }
  }

  void ShipLoop() {
    std::unique_lock lock(mu_);
    while (true) {
      changed_.wait_for(lock, kShipEvery, [&] { return stopping_ || ship_now_; });
      const bool asked = std::exchange(ship_now_, false);
      const bool last = stopping_;
      const uint64_t ticket = ship_ticket_;
      lock.unlock();
      if (asked) ledger_.Flush().IgnoreError();  // what cannot be flushed now is shipped when it can
      ShipNew(asked, ticket);
      lock.lock();
      if (last) return;
    }
  }

  // Everything that is durable. `always`: also an empty batch, since the broker waits for an answer.
  void ShipNew(bool always, uint64_t ticket) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    bool first = always || !follower_;
    while (std::chrono::steady_clock::now() < give_up) {
      const audit::LedgerHealth health = ledger_.health();
      pb::ShipRequest request;
      request.set_edge(options_.edge);
      request.set_ledger_entries(health.durable_size);
      request.set_checkpoint(ledger_.checkpoint());
      request.set_ticket(ticket);
      if (follower_ && follower_->next() < health.durable_size) {
        auto lines = follower_->Next(kShipBytes);
        if (!lines.ok()) return;
        request.set_first_index(lines->first_index);
        request.set_lines(std::move(lines->bytes));
        if (lines->count == 0) return;
      } else {
        if (!first) return;
        request.set_first_index(follower_ ? follower_->next() : 0);
      }
      first = false;
      grpc::ClientContext context;
      SetDeadline(context);
      pb::ShipReply reply;
      if (!stub_->Ship(&context, request, &reply).ok()) {
        follower_.reset();  // ask the broker anew where it stands
        return;
      }
      if (!follower_ || follower_->next() != reply.next_index()) follower_.emplace(ledger_.folder(), reply.next_index());
    }
  }

  const Options options_;
  gate::StateBoard& board_;
  audit::Ledger& ledger_;
  const base::Clock& clock_;
  const crypto::BoxKey box_;
  std::unique_ptr<pb::EdgeService::Stub> stub_;
  Hooks hooks_;
  grpc::ClientContext watch_context_;
  std::vector<std::thread> threads_;

  // Watch thread only.
  std::shared_ptr<gate::EdgeState> state_;
  uint64_t serial_seen_ = 0;
  // Report thread only.
  UnsentUses unsent_;
  // Ship thread only.
  std::optional<audit::Follower> follower_;

  std::mutex mu_;
  std::condition_variable changed_;
  std::deque<std::function<void(bool)>> calls_;
  uint64_t serial_done_ = 0;
  uint64_t ship_ticket_ = 0;  // of the newest ShipNow
  bool stopping_ = false, lost_ = false, report_now_ = false, ship_now_ = false;
};

}  // namespace

std::unique_ptr<BrokerLink> BrokerLink::OverSocket(base::Fd socket, Options options, gate::StateBoard& board, audit::Ledger& ledger,
                                                   const base::Clock& clock) {
  return std::make_unique<SocketLink>(std::move(socket), std::move(options), board, ledger, clock);
}

}  // namespace credbroker::edge
