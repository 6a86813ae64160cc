#pragma once

#include <memory>
#include <string>

#include "base/task.h"
#include "edge/api_body.h"
#include "edge/body.h"
#include "edge/describe.h"
#include "edge/git_body.h"
#include "edge/lfs_call.h"
#include "edge/push_spool.h"
#include "edge/relay.h"
#include "edge/reply.h"
#include "edge/worker.h"
#include "net/stream.h"
#include "wire/http_head.h"

namespace credbroker::edge {

// One request, from its parsed head to the end of its answer. Every request of a kept-open connection is a new exchange
// and is judged anew.
class Exchange {
 public:
  // `caller` is the one that opened the tunnel, or null at doors where each request brings its own token. `head` stands in
  // the stream's buffer, `head_bytes` long. Everything outlives the exchange.
  Exchange(Worker& worker, OpenConnection& connection, const Door& door, std::shared_ptr<const gate::Caller> caller, wire::RequestHead& head,
           std::size_t head_bytes);
  ~Exchange();

  // True when the connection can take another request.
  base::Task<bool> Serve();

 private:
  absl::Status FindCaller();
  absl::Status Adopt(std::string_view token);
  base::ErrorCode CheckCredentials(const model::Facts& facts);
  base::Task<base::ErrorCode> ReadGit();
  base::Task<base::ErrorCode> ReadLfs();
  std::string LfsBase() const;
  const Request& Target() const;
  base::Task<base::ErrorCode> CheckPush(policy::PushNeeds needs);
  base::Task<base::ErrorCode> ReadApi(policy::BodyRule rule);
  void LearnNodes(const gate::Passage& passage, std::string_view answer);
  base::Task<bool> Forward(gate::Passage passage);
  base::Task<Relay::Result> SendOnce(const gate::Passage& passage, Upstreams::Reuse reuse);
  base::Task<void> CarrySwitched(const gate::Passage& passage, net::Stream& upstream, Relay::Result* result);
  BodyPlan PlanBody() const;
  gate::RequestInfo Info() const;
  base::Task<bool> Refuse(gate::Refusal refusal);
  void AppendPushRefusal(const gate::Refusal& refusal, bool keep, std::string* out) const;
  base::Task<bool> Drain(std::size_t limit);
  bool IsPush() const;
  void KeepHead();
  void FinishHead();

  Worker& worker_;
  OpenConnection& connection_;
  net::Stream& client_;
  const Door& door_;
  std::shared_ptr<const gate::Caller> caller_;
  wire::RequestHead& head_;
  std::size_t head_bytes_;  // 0 once the head is out of the stream's buffer
  std::string kept_head_;   // the head's bytes when the body is read before or while it is used
  std::string request_id_;
  Request request_;
  BodySource body_;
  std::unique_ptr<GitBody> git_;       // a git body that is read before the decision
  std::unique_ptr<LfsCall> lfs_;       // an LFS request
  std::unique_ptr<ApiBody> api_;       // the body of an API request that is read before the decision
  std::unique_ptr<PushSpool> spool_;   // its pack, when a rule must read it
};

}  // namespace credbroker::edge
