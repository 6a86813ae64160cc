#include <arpa/inet.h>

#include <algorithm>

#include "base/duration.h"
#include "base/error.h"
#include "base/str.h"
#include "base/text.h"
#include "policy/loader.h"

namespace credbroker::policy {
namespace {

constexpr std::size_t kMaxScopes = 10'000;
constexpr std::size_t kMaxEntries = 20'000;  // services, credentials, exceptions

// An address or a CIDR in one form, `10.0.0.0/8`; empty when it is neither. Bits behind the prefix must be zero.
std::string CanonicalCidr(std::string_view text, int* prefix, bool* v6) {
  const std::size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  unsigned char bytes[16] = {};
  if (address.find('\0') != std::string::npos) return {};
  *v6 = address.find(':') != std::string::npos;
  const int family = *v6 ? AF_INET6 : AF_INET;
  const int bits = *v6 ? 128 : 32;
  if (inet_pton(family, address.c_str(), bytes) != 1) return {};
  *prefix = bits;
  if (slash != std::string_view::npos && !base::ParseInt(text.substr(slash + 1), prefix)) return {};
  if (*prefix < 0 || *prefix > bits) return {};
  for (int bit = *prefix; bit < bits; ++bit) {
    if ((bytes[bit / 8] >> (7 - bit % 8)) & 1) return {};
  }
  char buffer[INET6_ADDRSTRLEN];
  return base::StrCat(std::string_view(inet_ntop(family, bytes, buffer, sizeof buffer)), "/", *prefix);
}

}  // namespace

std::string QuotedText(std::string_view text) { return base::StrCat("`", base::EscapeText(text, 80), "`"); }

std::string DetailOf(const absl::Status& status) {
  std::string_view text = base::View(status.message());
  const std::size_t at = text.find(base::StrCat(base::Lookup(base::CodeOf(status)).text, ": "));
  if (at == std::string_view::npos) return std::string(text);
  return std::string(text.substr(at + base::Lookup(base::CodeOf(status)).text.size() + 2));
}

RuleSet::Parts Loader::Run() {
  ParseDocuments();
  std::map<std::string, const YamlNode*> services, credentials, scopes;
  if (scopes_.size() > kMaxScopes) problems_.Add(*scopes_[kMaxScopes].first, "more than 10000 scopes");
  if (std::max({services_.size(), credentials_.size(), exceptions_.size()}) > kMaxEntries) {
    problems_.AddText("policy:1:1: more than 20000 services, credentials or exceptions");
  }
  if (!problems_.empty()) return {};
  for (const auto& [name, node] : services_) {
    if (Claim(&services, *name, "service")) LoadService(*name, *node);
  }
  for (const auto& [name, node] : credentials_) {
    if (Claim(&credentials, *name, "credential")) LoadCredential(*name, *node);
  }
  for (const auto& [name, node] : scopes_) {
    if (Claim(&scopes, *name, "scope")) LoadScope(*name, *node);
  }
  for (const YamlNode* node : exceptions_) LoadException(*node);
  for (const std::string& id : exceptions_off_) {
    // One that is not there any more is off anyway.
    if (const auto found = parts_.exceptions.find(id); found != parts_.exceptions.end()) found->second.enabled = false;
  }
  parts_.warnings = problems_.TakeWarnings();
  return std::move(parts_);
}

void Loader::ParseDocuments() {
  if (source_.documents.empty()) problems_.AddText("policy:1:1: there is no document");
  roots_.reserve(source_.documents.size());
  for (const SourceFile& file : source_.documents) {
    YamlNode& root = roots_.emplace_back();
    root.file = file.name;
    YamlProblem problem;
    if (!base::IsUtf8(file.text)) {
      problems_.Add(root, "the text is not UTF-8");
    } else if (!ParseYaml(file.name, file.text, &root, &problem)) {
      root.line = problem.line;
      root.column = problem.column;
      problems_.Add(root, problem.what);
    } else {
      root.file = file.name;
      MapReader map(root, "the policy", {"apiVersion", "services", "credentials", "scopes", "exceptions", "exceptions_off"}, &problems_);
      const std::string version = map.NeedText("apiVersion");
      if (!version.empty() && version != "credbroker/v1") {
        problems_.Add(*map.Find("apiVersion"), base::StrCat("apiVersion ", QuotedText(version), " is not known"),
                      "write credbroker/v1");
      }
      CollectMap(root, "services", &services_);
      CollectMap(root, "credentials", &credentials_);
      CollectMap(root, "scopes", &scopes_);
      for (const YamlNode* item : map.List("exceptions")) exceptions_.push_back(item);
      for (const YamlNode* item : map.Texts("exceptions_off", MapReader::Empty::kFine)) exceptions_off_.push_back(item->text);
    }
  }
}

void Loader::CollectMap(const YamlNode& root, std::string_view key, Section* section) {
  const YamlNode* value = root.Find(key);
  if (value == nullptr || value->kind == YamlNode::Kind::kNull) return;
  if (value->kind != YamlNode::Kind::kMap) {
    problems_.Add(*value, base::StrCat("`", key, "` is ", KindName(value->kind), ", not a map"),
                  "write NAME: {...} for each entry");
    return;
  }
  for (const auto& [name, node] : value->members) section->emplace_back(&name, &node);
}

bool Loader::Claim(std::map<std::string, const YamlNode*>* seen, const YamlNode& name, std::string_view what) {
  if (!IsName(name.text)) {
    problems_.Add(name, base::StrCat("the ", what, "'s name ", QuotedText(name.text), " is not allowed"),
                  "use a-z, 0-9, dot, dash and underscore, at most 64 characters");
    return false;
  }
  const auto [found, added] = seen->emplace(name.text, &name);
  if (added) return true;
  const YamlNode& first = *found->second;
  problems_.Add(name, base::StrCat("the ", what, " ", QuotedText(name.text), " is defined twice"),
                base::StrCat("the first is at ", base::EscapeText(first.file, 256), ":", first.line));
  return false;
}

std::vector<model::HostPattern> Loader::Hosts(const MapReader& map, bool plain_http, std::string_view key) {
  std::vector<model::HostPattern> out;
  for (const YamlNode* item : map.Texts(key)) {
    const auto pattern = model::HostPattern::Parse(item->text);
    if (!pattern.ok()) {
      problems_.Add(*item,
                    base::StrCat("the host ", QuotedText(item->text), " cannot be read: ", DetailOf(pattern.status())),
                    "write host, host:port or *.suffix, without scheme and path");
      continue;
    }
    out.push_back(*pattern);
    const auto at_80 = model::HostPattern::Parse(item->text, 80);
    if (plain_http && at_80.ok() && at_80->Text() != pattern->Text()) out.push_back(*at_80);
  }
  return out;
}

model::Upstream Loader::Upstream(const MapReader& map, std::string id) {
  model::Upstream out;
  out.id = std::move(id);
  for (const YamlNode* item : map.Texts("addresses", MapReader::Empty::kFine)) {
    int prefix = 0;
    bool v6 = false;
    const std::string cidr = CanonicalCidr(item->text, &prefix, &v6);
    if (cidr.empty()) {
      problems_.Add(*item, base::StrCat(QuotedText(item->text), " is not a network"),
                    "write 10.1.0.0/16, 192.0.2.7 or fd00::/8");
      continue;
    }
    if (prefix < 8)
      problems_.Warn(*item, base::StrCat("`", cidr, "` opens most addresses, private and metadata ones included"));
    out.addresses.push_back(cidr);
  }
  const std::optional<std::string> file = map.Text("upstream_ca");
  if (file) out.extra_ca_pem = Attachment(*map.Find("upstream_ca"));
  return out;
}

std::string Loader::Attachment(const YamlNode& name) {
  for (const SourceFile& file : source_.attachments) {
    if (file.name != name.text) continue;
    if (file.text.find("-----BEGIN CERTIFICATE-----") == std::string::npos) {
      problems_.Add(name, base::StrCat(QuotedText(name.text), " holds no PEM certificate"));
    } else if (file.text.find("PRIVATE KEY") != std::string::npos) {
      problems_.Add(name, base::StrCat(QuotedText(name.text), " holds a private key"),
                    "leave only the certificates in it");
    }
    return file.text;
  }
  problems_.Add(name, base::StrCat("the file ", QuotedText(name.text), " was not read with the policy"),
                "put it beside the document");
  return {};
}

std::vector<std::string> Loader::Methods(const MapReader& map) {
  static constexpr std::string_view kMethods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};
  std::vector<std::string> out;
  for (const YamlNode* item : map.Texts("methods")) {
    if (std::find(std::begin(kMethods), std::end(kMethods), item->text) == std::end(kMethods)) {
      problems_.Add(*item, base::StrCat("the method ", QuotedText(item->text), " is not known"),
                    NearestHint(base::EqualsIgnoreCase(item->text, "GET") ? "GET" : item->text,
                                {std::begin(kMethods), std::end(kMethods)}));
      continue;
    }
    out.push_back(item->text);
  }
  return out;
}

Mask Loader::Phases(const MapReader& map) {
  if (map.Find("phases") == nullptr) return kAny;
  Mask mask = 0;
  for (const YamlNode* item : map.Texts("phases")) {
    const auto phase = model::ParsePhase(item->text);
    if (phase.ok()) mask |= Bit(*phase);
    if (!phase.ok())
      problems_.Add(*item, base::StrCat("the phase ", QuotedText(item->text), " is not known"), "write setup or agent");
  }
  return mask;
}

Mask Loader::Labels(const MapReader& map) {
  if (map.Find("labels") == nullptr) return kAny;
  Mask mask = 0;
  for (const YamlNode* item : map.Texts("labels")) {
    const auto label = model::ParseLabel(item->text);
    if (label.ok()) mask |= Bit(*label);
    if (!label.ok())
      problems_.Add(*item, base::StrCat("the label ", QuotedText(item->text), " is not known"),
                    "write agent, tool or setup");
  }
  return mask;
}

void Loader::LoadException(const YamlNode& node) {
  MapReader map(node, "an exception",
                {"id", "kind", "hosts", "reason", "owner", "approved_by", "expires", "enabled", "addresses",
                 "upstream_ca", "scopes"},
                &problems_);
  Exception out;
  out.id = map.NeedText("id");
  if (!out.id.empty() && !IsName(base::AsciiLower(out.id))) {
    problems_.Add(*map.Find("id"), base::StrCat("the id ", QuotedText(out.id), " is not allowed"),
                  "use letters, 0-9, dot, dash and underscore, at most 64 characters");
  }
  out.kind = map.NeedText("kind");
  if (!out.kind.empty() && out.kind != "tunnel") {
    problems_.Add(*map.Find("kind"), base::StrCat("the kind ", QuotedText(out.kind), " is not known"), "write tunnel");
  }
  if (map.Need("hosts") != nullptr) out.hosts = Hosts(map, false);
  out.reason = map.NeedText("reason");
  out.owner = map.NeedText("owner");
  out.approved_by = map.NeedText("approved_by");
  if (!out.owner.empty() && base::EqualsIgnoreCase(out.owner, out.approved_by)) {
    problems_.Add(*map.Find("approved_by"), "the owner approves the exception", "somebody else must");
  }
  const std::string expires = map.NeedText("expires");
  const auto time = base::ParseTime(expires);
  if (time.ok()) out.expires = *time;
  if (!time.ok() && !expires.empty()) {
    problems_.Add(*map.Find("expires"), base::StrCat(QuotedText(expires), " is not a time"),
                  "write 2027-01-31 or 2027-01-31T12:00:00Z");
  }
  out.enabled = map.Bool("enabled", true);
  out.upstream = Upstream(map, base::StrCat("exception ", out.id));
  for (const YamlNode* item : map.Texts("scopes")) {
    if (!parts_.scopes.contains(item->text))
      problems_.Add(*item, base::StrCat("there is no scope ", QuotedText(item->text)));
    out.scopes.push_back(item->text);
  }
  for (const model::HostPattern& host : out.hosts) {
    if (claimed_hosts_.contains(host.Text())) {
      problems_.Warn(node, base::StrCat("the exception never acts on ", host.Text(), ": service ",
                                        claimed_hosts_[host.Text()], " claims it"));
    }
  }
  const std::string id = out.id;
  if (!parts_.exceptions.emplace(id, std::move(out)).second && !id.empty()) {
    problems_.Add(*map.Find("id"), base::StrCat("the exception ", QuotedText(id), " is defined twice"));
  }
}

}  // namespace credbroker::policy
