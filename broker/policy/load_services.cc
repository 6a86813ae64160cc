#include <algorithm>
#include <array>

#include "base/str.h"
#include "base/text.h"
#include "policy/loader.h"

namespace credbroker::policy {
namespace {

struct PresetInfo {
  std::string_view name;
  Preset preset;
  std::array<std::string_view, 2> hosts;  // the vendor's own; empty: `hosts` must be given
  std::string_view vendor_prefix;         // API prefix on an `api.` host
  std::string_view prefix;                // API prefix on a host that carries both
  std::string_view git_user;              // facts.md 3.4, last table
  std::string_view api_prefix_word;       // in front of the token in Authorization
};
constexpr PresetInfo kPresets[] = {
    {"github", Preset::kGithub, {"github.com", "api.github.com"}, "", "/api/v3", "x-access-token", "Bearer "},
    {"gitea", Preset::kGitea, {}, "/api/v1", "/api/v1", "git", "token "},
    {"gitlab", Preset::kGitlab, {"gitlab.com", ""}, "/api/v4", "/api/v4", "oauth2", "Bearer "},
    {"bitbucket",
     Preset::kBitbucket,
     {"bitbucket.org", "api.bitbucket.org"},
     "/2.0",
     "/rest/api/1.0",
     "x-token-auth",
     "Bearer "},
};

// Keys of a credential by provider. Only `static` can be lent today; the others are read so that a mistake in them
// shows, and then refused.
struct ProviderInfo {
  std::string_view name;
  std::vector<std::string_view> required;
  std::vector<std::string_view> optional;
};
const std::vector<ProviderInfo>& Providers() {
  static const std::vector<ProviderInfo> providers = {
      {"static", {"secret"}, {}},
      {"github_app", {"app_id", "installation_id", "private_key"}, {"permissions"}},
      {"aws_sigv4", {"access_key_id", "secret", "region", "aws_service"}, {"session_token"}},
      {"oauth2", {"token_url", "client_id", "client_secret"}, {"scopes", "refresh_token"}},
      {"gcp_service_account", {"key"}, {"scopes"}},
      {"vault_kv", {"address", "path", "field", "token"}, {}},
      {"exec", {"command"}, {"ttl"}},
  };
  return providers;
}

bool IsTokenText(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

bool IsPrintable(std::string_view text, std::size_t max) {
  return text.size() <= max && std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F; });
}

// Headers that frame the message, name its target or belong to the hop: a secret in them breaks or redirects the
// request.
bool IsReservedHeader(std::string_view name) {
  static constexpr std::string_view kReserved[] = {"host",        "content-length", "transfer-encoding",
                                                   "connection",  "keep-alive",     "te",
                                                   "trailer",     "upgrade",        "expect",
                                                   "cookie",      "content-type",   "content-encoding",
                                                   "range",       "forwarded",      "via",
                                                   "git-protocol"};
  return name.starts_with("proxy-") || name.starts_with("x-forwarded-") ||
         std::find(std::begin(kReserved), std::end(kReserved), name) != std::end(kReserved);
}

bool IsEnvironmentName(std::string_view text) {
  return !text.empty() && text.size() <= 64 && (text.front() < '0' || text.front() > '9') &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; });
}

const PresetInfo* FindPreset(Preset preset) {
  for (const PresetInfo& info : kPresets) {
    if (info.preset == preset) return &info;
  }
  return nullptr;
}

}  // namespace

void Loader::LoadService(const YamlNode& name, const YamlNode& node) {
  MapReader map(node, base::StrCat("service ", QuotedText(name.text)),
                {"preset", "hosts", "api_prefix", "addresses", "upstream_ca", "plain_http", "lfs_hosts"}, &problems_);
  Service service;
  service.name = name.text;
  if (const std::optional<std::string> preset = map.Text("preset")) {
    const auto* info =
        std::find_if(std::begin(kPresets), std::end(kPresets), [&](const auto& row) { return row.name == *preset; });
    if (info == std::end(kPresets)) {
      problems_.Add(*map.Find("preset"), base::StrCat("the preset ", QuotedText(*preset), " is not known"),
                    NearestHint(*preset, {"github", "gitea", "gitlab", "bitbucket"}));
      return;
    }
    service.preset = info->preset;
  }
  service.plain_http = map.Allow("plain_http", false);
  service.upstream = Upstream(map, base::StrCat("service ", name.text));
  service.lfs_hosts = Hosts(map, false, "lfs_hosts");
  AddServiceHosts(map, &service);
  ClaimHosts(name, service);
  parts_.services.emplace(name.text, std::move(service));
}

void Loader::AddServiceHosts(const MapReader& map, Service* service) {
  const PresetInfo* preset = FindPreset(service->preset);
  std::vector<model::HostPattern> patterns = Hosts(map, service->plain_http);
  if (map.Find("hosts") == nullptr && preset != nullptr && !preset->hosts[0].empty()) {
    for (const std::string_view host : preset->hosts) {
      if (!host.empty()) patterns.push_back(*model::HostPattern::Parse(host));
    }
  } else if (map.Find("hosts") == nullptr) {
    (void)map.Need("hosts");
  }
  const std::optional<std::string> prefix = map.Text("api_prefix");
  if (prefix && preset == nullptr)
    problems_.Add(*map.Find("api_prefix"), "`api_prefix` has no meaning without a preset");
  if (prefix && !prefix->empty() && *prefix != "/" &&
      (!PathPattern::Parse(*prefix).ok() || prefix->find('*') != std::string::npos || prefix->ends_with('/'))) {
    problems_.Add(*map.Find("api_prefix"), base::StrCat(QuotedText(*prefix), " is not a path prefix"),
                  "write /api/v3, or / for the root");
  }
  const auto is_api = [](const model::HostPattern& p) { return p.authority().host.starts_with("api."); };
  const bool split = std::any_of(patterns.begin(), patterns.end(), is_api);
  for (const model::HostPattern& pattern : patterns) {
    ServiceHost host;
    host.pattern = pattern;
    if (preset != nullptr) {
      if (pattern.wildcard())
        problems_.Add(*map.Find("hosts"), base::StrCat("the forge host ", pattern.Text(), " is a wildcard"),
                      "name each host");
      host.api = !split || is_api(pattern);
      host.git = !split || !is_api(pattern);
      host.api_prefix =
          prefix ? (*prefix == "/" ? "" : *prefix) : std::string(split ? preset->vendor_prefix : preset->prefix);
      host.root_api_too = !prefix && !split && service->preset == Preset::kGithub;
    }
    service->hosts.push_back(std::move(host));
  }
}

void Loader::ClaimHosts(const YamlNode& name, const Service& service) {
  for (const ServiceHost& host : service.hosts) {
    const auto [found, added] = claimed_hosts_.emplace(host.pattern.Text(), service.name);
    if (!added) {
      problems_.Add(name,
                    base::StrCat("service ", QuotedText(service.name), " claims the host ", host.pattern.Text(),
                                 ", as service ", QuotedText(found->second), " does"),
                    "a host belongs to one service");
    }
  }
}

void Loader::LoadCredential(const YamlNode& name, const YamlNode& node) {
  Credential credential;
  credential.name = name.text;
  // The provider decides which keys there are, so it is looked at first.
  const YamlNode* provider_node = node.Find("provider");
  credential.provider =
      provider_node != nullptr && provider_node->kind == YamlNode::Kind::kScalar ? provider_node->text : "";
  const auto provider = std::find_if(Providers().begin(), Providers().end(),
                                     [&](const auto& row) { return row.name == credential.provider; });
  std::vector<std::string_view> keys = {"service", "provider", "place", "placeholder_env"};
  for (const ProviderInfo& info : Providers()) {
    if (provider != Providers().end() && &info != &*provider) continue;
    keys.insert(keys.end(), info.required.begin(), info.required.end());
    keys.insert(keys.end(), info.optional.begin(), info.optional.end());
  }
  MapReader map(node, base::StrCat("credential ", QuotedText(name.text)), keys, &problems_);
  credential.service = UsedService(map);
  if (map.Need("provider") != nullptr) CheckProvider(map, credential.provider);
  if (credential.provider == "static") credential.secret = SecretName(map, "secret");
  for (const YamlNode* item : map.Texts("placeholder_env", MapReader::Empty::kFine)) {
    if (!IsEnvironmentName(item->text)) {
      problems_.Add(*item, base::StrCat(QuotedText(item->text), " is not a variable's name"),
                    "use A-Z, 0-9 and underscore");
    }
    credential.placeholder_env.push_back(item->text);
  }
  Place(map, &credential);
  parts_.credentials.emplace(name.text, std::move(credential));
}

void Loader::CheckProvider(const MapReader& map, std::string_view provider) {
  const YamlNode& node = *map.Find("provider");
  for (const ProviderInfo& info : Providers()) {
    if (info.name != provider) continue;
    for (const std::string_view key : info.required) {
      if (key != "secret" || provider != "static") (void)map.Need(key);
    }
    if (provider != "static")
      problems_.Add(node, base::StrCat("provider ", provider, " is not available in this version"),
                    "use provider: static");
    return;
  }
  std::vector<std::string_view> known;
  for (const ProviderInfo& info : Providers()) known.push_back(info.name);
  problems_.Add(node, base::StrCat("the provider ", QuotedText(provider), " is not known"),
                NearestHint(provider, known));
}

std::string Loader::SecretName(const MapReader& map, std::string_view key) {
  const std::string text = map.NeedText(key);
  std::string_view name = text;
  if (name.starts_with("secret:")) name.remove_prefix(7);
  if (!text.empty() && !IsName(name)) {
    // The text itself is not shown: somebody may have written the secret's value here.
    problems_.Add(*map.Find(key), base::StrCat("`", key, "` is not the name of a secret"),
                  "write secret:NAME, and give the value with `credbroker secret put NAME`");
  }
  return std::string(name);
}

void Loader::Place(const MapReader& map, Credential* credential) {
  const PresetInfo* preset = credential->service == nullptr ? nullptr : FindPreset(credential->service->preset);
  model::Placement git{.kind = model::Placement::Kind::kBasic,
                       .name = {},
                       .prefix = {},
                       .username = std::string(preset == nullptr ? "git" : preset->git_user)};
  model::Placement api;
  if (preset != nullptr) api.prefix = preset->api_prefix_word;
  if (const YamlNode* place = map.Find("place")) {
    ReadPlacement(*place, &api);
    git = api;
  }
  credential->git = {credential->name, credential->secret, git};
  credential->api = {credential->name, credential->secret, api};
}

void Loader::ReadPlacement(const YamlNode& node, model::Placement* place) {
  MapReader map(node, "`place`", {"basic", "header", "query", "cookie"}, &problems_);
  if (node.kind != YamlNode::Kind::kMap) return;
  if (node.members.size() != 1) {
    problems_.Add(node, "`place` names one place", "write one of basic, header, query, cookie");
    return;
  }
  const auto& [key, value] = node.members.front();
  *place = {.kind = model::Placement::Kind::kHeader, .name = {}, .prefix = {}, .username = {}};
  if (key.text == "basic") {
    place->kind = model::Placement::Kind::kBasic;
    MapReader basic(value, "`basic`", {"username"}, &problems_);
    place->username = basic.NeedText("username");
    if (!IsPrintable(place->username, 128) || place->username.find(':') != std::string::npos) {
      problems_.Add(value, "`username` is not one that Basic can carry",
                    "use printable ASCII without a colon, at most 128 characters");
    }
    return;
  }
  const bool header = key.text == "header";
  if (header) place->kind = model::Placement::Kind::kHeader;
  if (key.text == "query") place->kind = model::Placement::Kind::kQuery;
  if (key.text == "cookie") place->kind = model::Placement::Kind::kCookie;
  MapReader inner(value, QuotedText(key.text),
                  header ? std::vector<std::string_view>{"name", "prefix"} : std::vector<std::string_view>{"name"},
                  &problems_);
  place->name = inner.NeedText("name");
  if (!place->name.empty() && !IsTokenText(place->name)) {
    problems_.Add(*inner.Find("name"), base::StrCat("the name ", QuotedText(place->name), " is not allowed"),
                  "use letters, digits, dash, dot and underscore");
  }
  if (!header) return;
  place->name = base::AsciiLower(place->name);
  place->prefix = inner.Text("prefix").value_or("");
  if (IsReservedHeader(place->name))
    problems_.Add(*inner.Find("name"),
                  base::StrCat("the header ", QuotedText(place->name), " cannot carry a credential"));
  if (!IsPrintable(place->prefix, 64)) problems_.Add(value, "`prefix` must be printable ASCII, at most 64 characters");
}

const Service* Loader::UsedService(const MapReader& map) {
  const std::string name = map.NeedText("service");
  if (name.empty()) return nullptr;
  const auto found = parts_.services.find(name);
  if (found != parts_.services.end()) return &found->second;
  std::vector<std::string_view> known;
  for (const auto& [key, service] : parts_.services) known.push_back(key);
  problems_.Add(*map.Find("service"), base::StrCat("there is no service ", QuotedText(name)), NearestHint(name, known));
  return nullptr;
}

const Credential* Loader::UsedCredential(const MapReader& map, const Service* service) {
  const std::optional<std::string> name = map.Text("credential");
  if (!name) return nullptr;
  const auto found = parts_.credentials.find(*name);
  if (found == parts_.credentials.end()) {
    std::vector<std::string_view> known;
    for (const auto& [key, credential] : parts_.credentials) known.push_back(key);
    problems_.Add(*map.Find("credential"), base::StrCat("there is no credential ", QuotedText(*name)),
                  NearestHint(*name, known));
    return nullptr;
  }
  if (service != nullptr && found->second.service != nullptr && found->second.service != service) {
    problems_.Add(
        *map.Find("credential"),
        base::StrCat("the credential ", QuotedText(*name), " is for service ", QuotedText(found->second.service->name)),
        base::StrCat("name one of service ", QuotedText(service->name)));
  }
  return &found->second;
}

}  // namespace credbroker::policy
