#include "client/policy_source.h"

#include "base/macros.h"
#include "base/str.h"
#include "client/broker.h"
#include "credbroker/v1/policy.pb.h"

namespace credbroker::client {

absl::StatusOr<std::shared_ptr<const policy::RuleSet>> FetchRules(Broker& broker, int64_t version) {
  v1::GetPolicyRequest request;
  v1::GetPolicyReply reply;
  request.set_version(version);
  RETURN_IF_ERROR(broker.GetPolicy(request, &reply));
  policy::PolicySource source;
  for (const auto& file : reply.source().documents()) source.documents.push_back({file.name(), file.text()});
  for (const auto& file : reply.source().attachments()) source.attachments.push_back({file.name(), file.text()});
  return policy::RuleSet::Load(source, reply.version().version(), reply.version().digest());
}

absl::StatusOr<std::shared_ptr<const policy::RuleSet>> LoadRules(const std::string& path) {
  ASSIGN_OR_RETURN(const policy::PolicySource source, policy::ReadPolicySource(path), base::StrCat("reading ", path));
  return policy::RuleSet::Load(source, 0, "");
}

}  // namespace credbroker::client
