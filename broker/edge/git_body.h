#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "base/task.h"
#include "edge/body.h"
#include "edge/options.h"
#include "edge/push_check.h"
#include "edge/push_spool.h"
#include "model/facts.h"
#include "wire/inflate.h"
#include "wire/receive_pack.h"
#include "wire/upload_pack.h"

namespace credbroker::edge {

// The start of a git request's body, read and decoded before the decision, in bounded memory. What was read is kept in
// `ahead` and goes upstream first, decoded.
class GitBody {
 public:
  // `content_encoding` is the head's value. `source` and `stream` outlive this.
  GitBody(net::Stream& stream, BodySource& source, std::string_view content_encoding, const EdgeOptions& options);

  // Reads the command list of a push and gives its changes. Fails as wire/receive_pack.h, kGitNotSupported
  // for push options, kUnsupportedCoding, kBodyTooLarge, kClientClosed. After a failure `push()` holds what was read.
  base::Task<base::ErrorCode> ReadPush(std::vector<model::RefChange>* changes);
  // Reads the command of a fetch. Fails as wire/upload_pack.h.
  base::Task<base::ErrorCode> ReadFetch(std::string_view git_protocol);

  const wire::PushRequest& push() const { return parser_.request(); }
  bool coded() const { return coding_ != wire::Coding::kIdentity; }
  std::string TakeAhead() { return std::move(ahead_); }
  std::string_view ahead() const { return ahead_; }
  // Reads a coded body to its end, at most options.max_decoded: what is sent on is what was judged.
  base::Task<base::ErrorCode> ReadAll();
  // Reads a push to its end into a spool, and shows each piece of the pack to `check`.
  base::Task<base::ErrorCode> Spool(PushSpool& spool, PushCheck& check);

 private:
  // The next decoded content, waiting for it.
  base::Task<base::ErrorCode> ReadMore(std::string* out, bool* end);

  net::Stream& stream_;
  BodySource& source_;
  const EdgeOptions& options_;
  wire::Coding coding_ = wire::Coding::kIdentity;
  bool known_coding_ = true;
  std::unique_ptr<wire::Inflater> inflater_;
  wire::ReceivePackParser parser_;
  std::string ahead_;
  std::size_t pack_at_ = 0;  // where the pack begins in ahead_
};

}  // namespace credbroker::edge
