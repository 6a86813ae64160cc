#include "client/environment.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "base/str.h"
#include "base/text.h"
#include "credbroker/credbroker.h"
#include "model/authority.h"

namespace credbroker::client {
namespace {

constexpr std::string_view kHttp = "http://";

// SSL_CERT_FILE, CURL_CA_BUNDLE and the like replace the system's roots, so the bundle holds those too.
constexpr std::array kCaNames = {"SSL_CERT_FILE",
                                 "GIT_SSL_CAINFO",
                                 "CURL_CA_BUNDLE",
                                 "REQUESTS_CA_BUNDLE",
                                 "PIP_CERT",
                                 "NODE_EXTRA_CA_CERTS",
                                 "npm_config_cafile",
                                 "CARGO_HTTP_CAINFO",
                                 "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
                                 "AWS_CA_BUNDLE",
                                 "DENO_CERT",
                                 "HTTPLIB2_CA_CERTS",
                                 "NIX_SSL_CERT_FILE",
                                 "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE"};

constexpr std::array<std::string_view, 40> kCredentialNames = {"SSH_AUTH_SOCK",
                                                               "SSH_AGENT_PID",
                                                               "SSH_ASKPASS",
                                                               "GIT_ASKPASS",
                                                               "GIT_SSH",
                                                               "GIT_SSH_COMMAND",
                                                               "GPG_AGENT_INFO",
                                                               "GH_CONFIG_DIR",
                                                               "GH_HOST",
                                                               "KUBECONFIG",
                                                               "NETRC",
                                                               "PGPASSFILE",
                                                               "PGPASSWORD",
                                                               "MYSQL_PWD",
                                                               "DOCKER_AUTH_CONFIG",
                                                               "DOCKER_CONFIG",
                                                               "NPM_CONFIG_USERCONFIG",
                                                               "npm_config_userconfig",
                                                               "NPM_CONFIG__AUTH",
                                                               "npm_config__auth",
                                                               "AWS_PROFILE",
                                                               "AWS_DEFAULT_PROFILE",
                                                               "AWS_CONFIG_FILE",
                                                               "AWS_SHARED_CREDENTIALS_FILE",
                                                               "AWS_ACCESS_KEY_ID",
                                                               "AWS_ROLE_ARN",
                                                               "AWS_WEB_IDENTITY_TOKEN_FILE",
                                                               "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                                               "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                                               "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                                                               "AZURE_CLIENT_CERTIFICATE_PATH",
                                                               "AZURE_FEDERATED_TOKEN_FILE",
                                                               "AZURE_CONFIG_DIR",
                                                               "CLOUDSDK_CONFIG",
                                                               "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE",
                                                               "VAULT_ADDR",
                                                               "DATABASE_URL",
                                                               "KRB5CCNAME",
                                                               kAccessVariable,
                                                               "CREDENTIALS_DIRECTORY"};

constexpr std::array<std::string_view, 16> kCredentialEndings = {
    "TOKEN",  "API_KEY",    "APIKEY",      "SECRET",     "SECRET_KEY",  "SECRET_ACCESS_KEY", "ACCESS_KEY", "PASSWORD",
    "PASSWD", "PASSPHRASE", "CREDENTIALS", "CREDENTIAL", "PRIVATE_KEY", "AUTH_KEY",          "OAUTH",      "PAT"};

absl::StatusOr<std::string> AuthorityOf(std::string_view url) {
  if (!url.starts_with(kHttp)) return base::Error(base::ErrorCode::kInternal, "the edge's address is no http URL");
  std::string_view text = url.substr(kHttp.size());
  while (text.ends_with('/')) text.remove_suffix(1);
  const auto authority = model::ParseAuthority(text, 80);
  if (!authority.ok()) return base::Error(base::ErrorCode::kInternal, "the edge's address cannot be read");
  return authority->Text();
}

bool FitsUrl(std::string_view token) {
  return !token.empty() && token.size() <= 4000 && std::all_of(token.begin(), token.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  });
}

bool IsPlainName(std::string_view name) {
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::string ShellQuoted(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// git's own settings by variable (git 2.31 and later), as they come last and so win over files: its user's helpers and
// headers are put aside, ours answers, and ssh addresses of granted hosts become https ones.
void AddGit(const EnvironmentSource& source, Variables* variables) {
  Variables entries = {{"credential.helper", ""},
                       {"http.extraHeader", ""}};
  if (!source.by_socket) {
    entries.insert(entries.begin() + 1, {"credential.helper", base::StrCat("!", ShellQuoted(source.program), " git-credential")});
  }
  for (const std::string& host : std::set<std::string>(source.git_hosts.begin(), source.git_hosts.end())) {
    const std::string key = base::StrCat("url.https://", host, "/.insteadOf");
    const std::string name = host.substr(0, host.find(':'));
    entries.emplace_back(key, base::StrCat("git@", name, ":"));
    entries.emplace_back(key, base::StrCat("ssh://git@", name, "/"));
  }
  variables->emplace_back("GIT_HTTP_PROXY_AUTHMETHOD", "basic");  // else git waits for a 407 first
  variables->emplace_back("GIT_TERMINAL_PROMPT", "0");
  variables->emplace_back("GIT_CONFIG_COUNT", base::StrCat(entries.size()));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    variables->emplace_back(base::StrCat("GIT_CONFIG_KEY_", i), entries[i].first);
    variables->emplace_back(base::StrCat("GIT_CONFIG_VALUE_", i), entries[i].second);
  }
}

void AddPlaceholders(const EnvironmentSource& source, Variables* variables) {
  for (const auto& [name, placeholder] : source.placeholders) {
    const bool ours = std::any_of(variables->begin(), variables->end(), [&, &wanted = name](const auto& v) { return v.first == wanted; });
    if (!ours && IsPlainName(name)) variables->emplace_back(name, placeholder);
  }
}

}  // namespace

Variables CaVariables(const std::string& ca_file) {
  Variables variables;
  for (const char* name : kCaNames) variables.emplace_back(name, ca_file);
  return variables;
}

absl::StatusOr<Variables> MakeVariables(const EnvironmentSource& source) {
  const bool by_socket = source.by_socket;
  if (!by_socket && !FitsUrl(source.token)) return base::Error(base::ErrorCode::kBadToken);
  const auto proxy = AuthorityOf(source.proxy_url);
  if (!proxy.ok()) return proxy.status();
  const auto gateway = AuthorityOf(source.gateway_url);
  if (!gateway.ok()) return gateway.status();
  // Both user and password: with a user alone git asks on the terminal, and requests and Node send nothing.
  const std::string login = base::StrCat(kHttp, by_socket ? "" : base::StrCat(kTokenUser, ":", source.token, "@"), *proxy);

  Variables variables;
  if (!by_socket) variables = {{kTokenVariable, source.token}, {kAddressVariable, source.address}};
  variables.emplace_back(kProxyVariable, base::StrCat(kHttp, *proxy));
  variables.emplace_back(kGatewayVariable, base::StrCat(kHttp, *gateway));
  if (!by_socket && !source.api_ca_file.empty()) variables.emplace_back(kApiCaVariable, source.api_ca_file);
  for (const char* name : {"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"}) {
    variables.emplace_back(name, login);
  }
  variables.emplace_back("NO_PROXY", "");
  variables.emplace_back("no_proxy", "");
  variables.emplace_back("NODE_USE_ENV_PROXY", "1");
  for (auto& variable : CaVariables(source.ca_file)) variables.push_back(std::move(variable));
  AddGit(source, &variables);
  AddPlaceholders(source, &variables);
  return variables;
}

std::string ShellExports(const Variables& variables) {
  std::string text;
  for (const auto& [name, value] : variables) base::StrAppend(&text, "export ", name, "=", ShellQuoted(value), "\n");
  return text;
}

bool IsCredentialVariable(std::string_view name) {
  if (std::find(kCredentialNames.begin(), kCredentialNames.end(), name) != kCredentialNames.end()) return true;
  std::string upper(name);
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  return std::any_of(kCredentialEndings.begin(), kCredentialEndings.end(), [&](std::string_view ending) {
    if (!upper.ends_with(ending)) return false;
    return upper.size() == ending.size() || upper[upper.size() - ending.size() - 1] == '_';
  });
}

Environment ChildEnvironment(const Environment& parent, const Variables& variables,
                             const std::vector<std::string>& keep) {
  const auto kept = [&](const std::string& name) { return std::find(keep.begin(), keep.end(), name) != keep.end(); };
  Environment child;
  for (const auto& [name, value] : parent) {
    if (kept(name) || !IsCredentialVariable(name)) child[name] = value;
  }
  // Settings for git that the parent gave by variable would go on counting behind ours.
  std::erase_if(child, [](const auto& entry) { return entry.first.starts_with("GIT_CONFIG_"); });
  for (const auto& [name, value] : variables) {
    if (!kept(name)) child[name] = value;
  }
  return child;
}

}  // namespace credbroker::client
