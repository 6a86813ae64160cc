#include "edge/session_sockets.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "gate/gate.h"

namespace credbroker::edge {
namespace {

constexpr char kSocketName[] = "edge.sock";
constexpr mode_t kForEveryUser = 0666;  // a sandbox runs under a user of its own
constexpr std::size_t kMaxName = 64;

// It becomes a file's name here, so it is looked at once more.
bool IsPlainName(std::string_view session) {
  return !session.empty() && session.size() <= kMaxName && std::all_of(session.begin(), session.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

}  // namespace

absl::Status SessionSockets::Offer(const std::string& session, std::string_view token) {
  if (!IsPlainName(session)) return base::Error(base::ErrorCode::kBadArgument, "a session's name that is no file's name");
  ASSIGN_OR_RETURN(std::shared_ptr<const gate::Caller> caller, gate_.Identify(token), "the token of a session's socket");
  if (caller->grant.session != session) return base::Error(base::ErrorCode::kTokenMismatch);
  Open& open = open_[session];
  if (open.socket == nullptr) open.socket = std::make_shared<SessionSocket>();
  open.socket->session = session;
  open.socket->caller = std::move(caller);
  if (open.listener != nullptr) return absl::OkStatus();
  const absl::Status listening = Listen(session, &open);
  if (!listening.ok()) open_.erase(session);
  return listening;
}

absl::Status SessionSockets::Listen(const std::string& session, Open* open) {
  RETURN_IF_ERROR(base::MakeFolder(folder_, 0700));
  const std::string folder = base::StrCat(folder_, "/", session);
  RETURN_IF_ERROR(base::MakeFolder(folder, 0755));
  ASSIGN_OR_RETURN(open->listener, net::Listener::Unix(loop_, base::StrCat(folder, "/", kSocketName), kForEveryUser,
                                                       [this, socket = open->socket](net::Accepted accepted) {
                                                         on_accept_(std::move(accepted), socket);
                                                       }));
  return absl::OkStatus();
}

void SessionSockets::Sweep() {
  const gate::RevocationSet& revoked = *gate_.state().revocations;
  std::vector<std::string> ended;
  for (const auto& [session, open] : open_) {
    if (revoked.HitsSession(session)) ended.push_back(session);
  }
  for (const std::string& session : ended) {
    open_.erase(session);  // the listener removes its file
    RemoveFolder(session);
  }
  if (!std::exchange(cleaned_, true)) RemoveLeftovers();
}

void SessionSockets::RemoveFolder(const std::string& session) {
  const std::string folder = base::StrCat(folder_, "/", session);
  unlink(base::StrCat(folder, "/", kSocketName).c_str());
  rmdir(folder.c_str());
}

void SessionSockets::RemoveLeftovers() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(folder_.c_str()), closedir);
  if (folder == nullptr) return;
  std::vector<std::string> left;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (IsPlainName(name) && !open_.contains(name)) left.push_back(name);
  }
  for (const std::string& session : left) RemoveFolder(session);
}

}  // namespace credbroker::edge
