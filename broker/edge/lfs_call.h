#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "edge/describe.h"
#include "edge/heads.h"
#include "edge/lfs_links.h"
#include "gate/gate.h"
#include "wire/lfs.h"

namespace credbroker::edge {

// One LFS request: what of it goes upstream, and what of the answer comes back. Bodies that ask are read and written anew;
// links are opened; a batch's answer gets links in place of the host's addresses and fields. Loop thread only.
class LfsCall {
 public:
  // `session` owns the links; `request` is the described one; `client_base` the address of the LFS server as the client has
  // it (`https://host/owner/repo.git/info/lfs`). All outlive the call.
  LfsCall(const LfsLinks& links, std::string_view session, std::string client_base, Request& request, absl::Time now);

  ~LfsCall() { base::WipeString(target_.query); }
  LfsCall(const LfsCall&) = delete;
  LfsCall& operator=(const LfsCall&) = delete;

  // Does the request have a body that must be read first?
  bool ReadsBody() const;
  // Takes that body and fills the facts in. Fails kBadGitRequest.
  base::ErrorCode TakeBody(std::string_view body);
  // Opens a link and fills the facts in; `length` is the request's body. Fails kLfsNotAllowed, kBadGitRequest.
  base::ErrorCode OpenLink(std::string_view method, std::optional<uint64_t> length);

  const std::string& body() const { return body_; }
  // Where the request really goes, for links; null: as it says.
  const Request* target() const { return grant_ ? &target_ : nullptr; }
  // Fields that the host gave for it.
  OwnFields fields() const;
  bool edits_answer() const { return batch_.has_value(); }
  // The client's form of a batch's answer. `storage` says which hosts may hold objects. Fails kUpstreamMalformed.
  absl::StatusOr<std::string> EditAnswer(std::string_view answer, gate::Gate& gate) const;
  // A link in place of the address to which a download is sent on, which may be a signed one; empty when there can be none.
  std::string EditLocation(std::string_view location, gate::Gate& gate) const;

 private:
  std::string Binding() const;
  absl::StatusOr<std::string> Link(const wire::LfsObject& object, const wire::LfsAction& action, std::string_view ref, absl::Duration life,
                                   gate::Gate& gate) const;

  const LfsLinks& links_;
  const std::string_view session_;
  const std::string client_base_;
  Request& request_;
  const absl::Time now_;
  std::string body_;
  std::optional<wire::LfsBatch> batch_;
  std::optional<LfsGrant> grant_;
  Request target_;
};

}  // namespace credbroker::edge
