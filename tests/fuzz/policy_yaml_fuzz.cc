// Loads any text as a policy. What loads must decide, outline, list and compare without a fault, and with itself alike.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "policy/decide.h"
#include "policy/diff.h"
#include "policy/explain.h"
#include "policy/outline.h"
#include "policy/rule_set.h"
#include "policy/source.h"

namespace {

using namespace credbroker;  // NOLINT(google-build-using-namespace): a fuzz entry point

void Use(const std::shared_ptr<const policy::RuleSet>& rules) {
  const absl::Time now = absl::FromUnixSeconds(1'796'083'200);
  for (const auto& [name, scope] : rules->scopes()) {
    const model::Grant grant = policy::SampleGrant(name, model::Phase::kAgent, model::Label::kAgent);
    (void)policy::OutlineOf(grant, *rules, now);
    for (const auto& [service_name, service] : rules->services()) {
      const std::string host = service.hosts.empty() ? "x.test" : service.hosts.front().pattern.Text();
      for (const char* path : {"/", "/o/r.git/git-upload-pack", "/repos/o/r/issues", "/v1/x%20y"}) {
        (void)policy::Explain({.method = "POST", .url = "https://" + host + path}, grant, rules, now);
      }
      (void)policy::Explain({.git = "push", .repo = "https://" + host + "/o/r", .ref = "refs/heads/a/b"}, grant, rules,
                            now);
    }
  }
  (void)policy::AllHosts(*rules, now);
  const policy::Diff same = policy::DiffRules(*rules, *rules);
  if (!same.lines.empty() || same.widens) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  policy::PolicySource source;
  source.documents.push_back({"policy.yaml", std::string(reinterpret_cast<const char*>(data), size)});
  const auto rules = policy::RuleSet::Load(source, 1, "digest");
  if (rules.ok()) Use(*rules);
  (void)policy::Parse(source.documents.front().text);
  return 0;
}
