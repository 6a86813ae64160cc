#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "policy/reader.h"
#include "policy/rule_set.h"
#include "policy/source.h"

namespace credbroker::policy {

// Reads the YAML trees of a policy into parts. Used once, by RuleSet::Load. Every method reports what is wrong to the
// problems and goes on; the parts count only when there are none.
class Loader {
 public:
  Loader(const PolicySource& source, Problems* problems) : source_(source), problems_(*problems) {}
  RuleSet::Parts Run();

 private:
  // A section's members of all documents: name node, value node.
  using Section = std::vector<std::pair<const YamlNode*, const YamlNode*>>;

  // load.cc
  void ParseDocuments();
  void CollectMap(const YamlNode& root, std::string_view key, Section* section);
  bool Claim(std::map<std::string, const YamlNode*>* seen, const YamlNode& name, std::string_view what);
  std::vector<model::HostPattern> Hosts(const MapReader& map, bool plain_http, std::string_view key = "hosts");
  model::Upstream Upstream(const MapReader& map, std::string id);
  std::string Attachment(const YamlNode& name);
  std::vector<std::string> Methods(const MapReader& map);
  Mask Phases(const MapReader& map);
  Mask Labels(const MapReader& map);
  void LoadDangerous(const MapReader& map, RepositoryRule* rule);
  void LoadException(const YamlNode& node);

  // load_services.cc
  void LoadService(const YamlNode& name, const YamlNode& node);
  void AddServiceHosts(const MapReader& map, Service* service);
  void ClaimHosts(const YamlNode& name, const Service& service);
  void LoadCredential(const YamlNode& name, const YamlNode& node);
  void CheckProvider(const MapReader& map, std::string_view provider);
  std::string SecretName(const MapReader& map, std::string_view key);
  void Place(const MapReader& map, Credential* credential);
  void ReadPlacement(const YamlNode& node, model::Placement* place);
  const Service* UsedService(const MapReader& map);
  const Credential* UsedCredential(const MapReader& map, const Service* service);

  // load_scopes.cc
  void LoadScope(const YamlNode& name, const YamlNode& node);
  void WarnOfUnprotected(const Scope& scope, const RepositoryRule& rule, const YamlNode& at);
  void LoadLimits(const MapReader& map, Limits* limits);
  void LoadRepository(const YamlNode& node, Scope* scope);
  void LoadGit(const MapReader& map, RepositoryRule* rule);
  void LoadPush(const YamlNode& node, PushRule* push);
  std::vector<RefPattern> Refs(const MapReader& map, std::string_view key);
  void LoadClasses(const MapReader& map, RepositoryRule* rule);
  void LoadEndpoint(const YamlNode& node, Scope* scope);
  std::vector<EndpointRow> Rows(const MapReader& map, std::string_view key, PathPattern::Comparison comparison);
  void LoadEgress(const YamlNode& node, Scope* scope);

  const PolicySource& source_;
  Problems& problems_;
  std::vector<YamlNode> roots_;
  Section services_, credentials_, scopes_;
  std::vector<const YamlNode*> exceptions_;
  std::vector<std::string> exceptions_off_;
  std::map<std::string, std::string> claimed_hosts_;  // host text -> service
  RuleSet::Parts parts_;
};

// `acme/web` and the like as error texts show them: escaped, cut, in backquotes.
std::string QuotedText(std::string_view text);

// What a status says beside the catalogue's text.
std::string DetailOf(const absl::Status& status);

}  // namespace credbroker::policy
