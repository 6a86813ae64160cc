#include "control/edges.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"

namespace credbroker::control {
namespace {

std::chrono::microseconds Real(absl::Duration wait) {
  return std::chrono::microseconds(absl::ToInt64Microseconds(wait));
}

}  // namespace

EdgeHub::EdgeHub(EdgeKeys keys, const base::Clock& clock) : clock_(clock) { state_.keys = std::move(keys); }

uint64_t EdgeHub::SetPolicy(EdgePolicy policy) {
  const std::lock_guard lock(mutex_);
  state_.policy = std::make_shared<const EdgePolicy>(std::move(policy));
  state_.policy_serial = ++state_.serial;
  changed_.notify_all();
  return state_.serial;
}

uint64_t EdgeHub::Revoke(std::vector<EdgeRevocation> revocations) {
  const std::lock_guard lock(mutex_);
  for (EdgeRevocation& revocation : revocations)
    state_.revocations.emplace_back(++state_.serial, std::move(revocation));
  changed_.notify_all();
  return state_.serial;
}

void EdgeHub::OfferSocket(const std::string& session, std::shared_ptr<const base::Secret> token) {
  const std::lock_guard lock(mutex_);
  state_.sockets_serial = ++state_.serial;
  state_.sockets[session] = {state_.serial, std::move(token)};
  changed_.notify_all();
}

void EdgeHub::DropSocket(const std::string& session) {
  const std::lock_guard lock(mutex_);
  state_.sockets.erase(session);
}

uint64_t EdgeHub::serial() const {
  const std::lock_guard lock(mutex_);
  return state_.serial;
}

bool EdgeHub::wants_sockets() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(links_.begin(), links_.end(), [](const auto& entry) {
    return entry.second.view.connected && !entry.second.view.hello.sockets_folder.empty();
  });
}

void EdgeHub::Load(std::vector<EdgeRevocation> revocations) { Revoke(std::move(revocations)); }

void EdgeHub::Forget(absl::Time now) {
  const std::lock_guard lock(mutex_);
  std::erase_if(state_.revocations, [now](const auto& entry) { return entry.second.until < now; });
}

uint64_t EdgeHub::Connect(EdgeHello hello) {
  const std::lock_guard lock(mutex_);
  Link& link = links_[hello.edge];
  link.view = EdgeView{.hello = std::move(hello), .connected = true, .last_seen = clock_.Now()};
  link.feed = EdgeFeed();
  link.stream = ++streams_;
  link.shipped_ticket = 0;
  changed_.notify_all();
  return link.stream;
}

std::optional<EdgeMessage> EdgeHub::Next(std::string_view edge, uint64_t stream, absl::Duration wait) {
  std::unique_lock lock(mutex_);
  const auto deadline = std::chrono::steady_clock::now() + Real(wait);
  while (true) {
    const auto it = links_.find(edge);
    if (closed_ || it == links_.end() || it->second.stream != stream) return std::nullopt;
    if (std::optional<EdgeMessage> message = it->second.feed.Next(state_)) return message;
    if (changed_.wait_until(lock, deadline) == std::cv_status::timeout) {
      const auto again = links_.find(edge);
      if (closed_ || again == links_.end() || again->second.stream != stream) return std::nullopt;
      std::optional<EdgeMessage> message = again->second.feed.Next(state_);
      return message ? std::move(message) : again->second.feed.MakeHeartbeat();
    }
  }
}

void EdgeHub::Disconnect(std::string_view edge, uint64_t stream) {
  const std::lock_guard lock(mutex_);
  const auto it = links_.find(edge);
  if (it == links_.end() || it->second.stream != stream) return;
  it->second.view.connected = false;
  it->second.view.current = false;
  it->second.stream = 0;
  changed_.notify_all();
}

absl::Status EdgeHub::Report(std::string_view edge, const EdgeReport& report) {
  const std::lock_guard lock(mutex_);
  const auto it = links_.find(edge);
  if (it == links_.end() || !it->second.view.connected) return base::Error(base::ErrorCode::kEdgeNotFound, "report");
  it->second.view.report = report;
  it->second.view.last_seen = clock_.Now();
  it->second.view.current = it->second.view.current || report.serial > 0;
  changed_.notify_all();
  return absl::OkStatus();
}

void EdgeHub::Shipped(std::string_view edge, uint64_t ticket, uint64_t ledger_entries, uint64_t archived) {
  const std::lock_guard lock(mutex_);
  const auto it = links_.find(edge);
  if (it == links_.end()) return;
  it->second.view.last_seen = clock_.Now();
  if (archived >= ledger_entries) it->second.shipped_ticket = std::max(it->second.shipped_ticket, ticket);
  ++ships_;
  changed_.notify_all();
}

bool EdgeHub::AllConfirmed(uint64_t serial) const {
  return std::all_of(links_.begin(), links_.end(), [serial](const auto& entry) {
    return !entry.second.view.connected || entry.second.view.report.serial >= serial;
  });
}

int EdgeHub::WaitConfirmed(uint64_t serial, absl::Duration wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, Real(wait), [&] { return closed_ || AllConfirmed(serial); });
  return static_cast<int>(std::count_if(links_.begin(), links_.end(), [serial](const auto& entry) {
    return entry.second.view.connected && entry.second.view.report.serial >= serial;
  }));
}

bool EdgeHub::AllShipped(uint64_t ticket) const {
  return std::all_of(links_.begin(), links_.end(), [ticket](const auto& entry) {
    return !entry.second.view.connected || entry.second.shipped_ticket >= ticket;
  });
}

bool EdgeHub::ShipAll(absl::Duration wait) {
  std::unique_lock lock(mutex_);
  const uint64_t ticket = ++state_.ticket;
  changed_.notify_all();
  changed_.wait_for(lock, Real(wait), [&] { return closed_ || AllShipped(ticket); });
  return std::all_of(links_.begin(), links_.end(), [ticket](const auto& entry) {
    return entry.second.view.connected && entry.second.shipped_ticket >= ticket;
  });
}

void EdgeHub::WaitShipped(absl::Duration wait) {
  std::unique_lock lock(mutex_);
  const uint64_t seen = ships_;
  changed_.wait_for(lock, Real(wait), [&] { return closed_ || ships_ != seen; });
}

std::vector<EdgeView> EdgeHub::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<EdgeView> views;
  for (const auto& [edge, link] : links_) views.push_back(link.view);
  return views;
}

std::optional<EdgeView> EdgeHub::Find(std::string_view edge) const {
  const std::lock_guard lock(mutex_);
  const auto it = links_.find(edge);
  if (it == links_.end()) return std::nullopt;
  return it->second.view;
}

bool EdgeHub::ready() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(links_.begin(), links_.end(),
                     [](const auto& entry) { return entry.second.view.connected && entry.second.view.current; });
}

int EdgeHub::connected() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(
      std::count_if(links_.begin(), links_.end(), [](const auto& entry) { return entry.second.view.connected; }));
}

void EdgeHub::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace credbroker::control
