#include "wire/hop.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "wire/chars.h"
#include "wire/http_head.h"

namespace credbroker::wire {
namespace {

// Which first letters the names of a length have. Nearly every field is in none of the lists, and this says so at once.
constexpr std::size_t kLongestName = 63;
using FirstLetters = std::array<std::uint32_t, kLongestName + 1>;

constexpr std::uint32_t LetterBit(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return 1U << (lower >= 'a' && lower <= 'z' ? lower - 'a' : 26);
}

template <std::size_t N>
class NameList {
 public:
  constexpr explicit NameList(const std::string_view (&names)[N]) : names_(names) {
    for (const std::string_view name : names) first_letters_[name.size()] |= LetterBit(name.front());
  }
  bool Has(std::string_view name) const {
    if (name.empty() || name.size() > kLongestName || (first_letters_[name.size()] & LetterBit(name.front())) == 0) return false;
    return std::any_of(std::begin(names_), std::end(names_), [name](std::string_view entry) { return EqualsToken(name, entry); });
  }

 private:
  const std::string_view (&names_)[N];
  FirstLetters first_letters_{};
};

bool HasPrefix(std::string_view name, std::string_view prefix) {
  return name.size() >= prefix.size() && EqualsToken(name.substr(0, prefix.size()), prefix);
}

constexpr std::string_view kHopByHop[] = {"connection", "keep-alive",        "proxy-connection", "te",
                                          "trailer",    "transfer-encoding", "upgrade",          "http2-settings"};

// Names under which some service takes a credential. Longer than any one service needs: a key of another owner that
// rides along turns our grant into a way out for data.
constexpr std::string_view kCredentialHeaders[] = {"authorization",
                                                   "proxy-authorization",
                                                   "cookie",
                                                   "cookie2",
                                                   "authentication",
                                                   "authorisation",
                                                   "x-authorization",
                                                   "x-original-authorization",
                                                   "x-forwarded-authorization",
                                                   "x-amzn-authorization",
                                                   "x-auth",
                                                   "x-auth-token",
                                                   "x-auth-key",
                                                   "x-auth-email",
                                                   "x-auth-user",
                                                   "x-auth-username",
                                                   "x-authentication-token",
                                                   "x-access-token",
                                                   "access-token",
                                                   "x-session-token",
                                                   "x-user-token",
                                                   "x-token",
                                                   "token",
                                                   "auth-token",
                                                   "x-identity-token",
                                                   "x-id-token",
                                                   "x-bearer-token",
                                                   "x-jwt-assertion",
                                                   "x-jwt-token",
                                                   "x-csrf-token",
                                                   "x-api-key",
                                                   "api-key",
                                                   "apikey",
                                                   "x-apikey",
                                                   "x-api-token",
                                                   "api-token",
                                                   "x-api-secret",
                                                   "x-api-auth",
                                                   "x-app-key",
                                                   "x-app-token",
                                                   "x-application-key",
                                                   "x-client-secret",
                                                   "x-secret",
                                                   "x-secret-key",
                                                   "x-service-token",
                                                   "x-functions-key",
                                                   "ocp-apim-subscription-key",
                                                   "subscription-key",
                                                   "x-subscription-token",
                                                   "x-rapidapi-key",
                                                   "x-rapidapi-proxy-secret",
                                                   "private-token",
                                                   "job-token",
                                                   "deploy-token",
                                                   "x-gitlab-token",
                                                   "x-github-token",
                                                   "x-gitea-token",
                                                   "x-forgejo-token",
                                                   "x-gitea-otp",
                                                   "x-github-otp",
                                                   "x-oauth-token",
                                                   "x-oauth-basic",
                                                   "x-goog-api-key",
                                                   "x-goog-iam-authorization-token",
                                                   "x-goog-authenticated-user-jwt",
                                                   "x-serverless-authorization",
                                                   "x-amz-security-token",
                                                   "x-ms-token-aad-access-token",
                                                   "x-ms-authorization-auxiliary",
                                                   "x-vault-token",
                                                   "x-vault-wrap-token",
                                                   "x-consul-token",
                                                   "x-nomad-token",
                                                   "x-registry-auth",
                                                   "x-docker-token",
                                                   "x-jfrog-art-api",
                                                   "x-nuget-apikey",
                                                   "x-npm-auth",
                                                   "npm-otp",
                                                   "x-jenkins-token",
                                                   "dd-api-key",
                                                   "dd-application-key",
                                                   "x-honeycomb-team",
                                                   "x-sentry-auth",
                                                   "x-sentry-token",
                                                   "x-newrelic-key",
                                                   "x-insert-key",
                                                   "x-query-key",
                                                   "x-splunk-token",
                                                   "x-algolia-api-key",
                                                   "x-meili-api-key",
                                                   "x-typesense-api-key",
                                                   "x-postmark-server-token",
                                                   "x-postmark-account-token",
                                                   "x-mailgun-key",
                                                   "x-shopify-access-token",
                                                   "x-shopify-storefront-access-token",
                                                   "x-figma-token",
                                                   "x-contentful-token",
                                                   "x-linear-token",
                                                   "x-notion-token",
                                                   "x-slack-token",
                                                   "x-telegram-bot-api-secret-token",
                                                   "x-trello-token",
                                                   "x-airtable-token",
                                                   "x-anthropic-api-key",
                                                   "anthropic-api-key",
                                                   "openai-api-key",
                                                   "x-openai-api-key",
                                                   "xi-api-key",
                                                   "x-hf-token",
                                                   "x-databricks-token",
                                                   "x-supabase-auth",
                                                   "x-hasura-admin-secret",
                                                   "x-appwrite-key",
                                                   "x-appwrite-jwt",
                                                   "x-parse-rest-api-key",
                                                   "x-parse-master-key",
                                                   "x-parse-session-token",
                                                   "x-cloudflare-token",
                                                   "cf-access-token",
                                                   "cf-access-client-id",
                                                   "cf-access-client-secret",
                                                   "cf-access-jwt-assertion",
                                                   "fastly-key",
                                                   "x-fastly-token",
                                                   "x-circleci-token",
                                                   "circle-token",
                                                   "travis-api-token",
                                                   "x-buildkite-token",
                                                   "x-octopus-apikey",
                                                   "x-pagerduty-token",
                                                   "x-opsgenie-key",
                                                   "x-grafana-api-key",
                                                   "x-tableau-auth",
                                                   "x-zendesk-token",
                                                   "x-killbill-apisecret",
                                                   "x-n8n-api-key",
                                                   "x-plex-token",
                                                   "x-emby-token",
                                                   "x-mediabrowser-token",
                                                   "x-xsrf-token",
                                                   "x-redmine-api-key",
                                                   "x-sonar-passcode",
                                                   "x-dt-api-key",
                                                   "x-kong-admin-token",
                                                   "kong-admin-token",
                                                   "x-argocd-token",
                                                   "x-remote-user",
                                                   "x-remote-group",
                                                   "x-webauth-user",
                                                   "impersonate-user",
                                                   "impersonate-group",
                                                   "x-client-cert",
                                                   "ssl-client-cert",
                                                   "x-ssl-client-cert",
                                                   "x-forwarded-client-cert",
                                                   "x-forwarded-access-token",
                                                   "x-forwarded-user",
                                                   "x-forwarded-email"};

// `sig`, `signature` and the like sign one URL: they are credentials of whoever made the link. `key` and `token` are
// taken although some services use them for other things: on a managed host they are refused rather than guessed at.
constexpr std::string_view kCredentialQueries[] = {"access_token",
                                                   "accesstoken",
                                                   "access-token",
                                                   "auth_token",
                                                   "authtoken",
                                                   "auth",
                                                   "authorization",
                                                   "bearer_token",
                                                   "id_token",
                                                   "refresh_token",
                                                   "oauth_token",
                                                   "oauth_signature",
                                                   "oauth_consumer_key",
                                                   "session_token",
                                                   "private_token",
                                                   "job_token",
                                                   "deploy_token",
                                                   "personal_access_token",
                                                   "token",
                                                   "jwt",
                                                   "assertion",
                                                   "client_assertion",
                                                   "api_key",
                                                   "apikey",
                                                   "api-key",
                                                   "x-api-key",
                                                   "key",
                                                   "app_key",
                                                   "application_key",
                                                   "appkey",
                                                   "api_token",
                                                   "apitoken",
                                                   "api_secret",
                                                   "subscription-key",
                                                   "client_secret",
                                                   "clientsecret",
                                                   "secret",
                                                   "secret_key",
                                                   "password",
                                                   "passwd",
                                                   "pwd",
                                                   "login_token",
                                                   "sig",
                                                   "signature",
                                                   "x-amz-signature",
                                                   "x-amz-credential",
                                                   "x-amz-security-token",
                                                   "awsaccesskeyid",
                                                   "x-goog-signature",
                                                   "x-goog-credential",
                                                   "googleaccessid",
                                                   "sas_token",
                                                   "code_verifier",
                                                   "hapikey",
                                                   "dd-api-key",
                                                   "upload_token"};

constexpr std::string_view kForwarding[] = {"forwarded",
                                            "via",
                                            "x-real-ip",
                                            "x-client-ip",
                                            "client-ip",
                                            "true-client-ip",
                                            "x-cluster-client-ip",
                                            "cf-connecting-ip",
                                            "fastly-client-ip",
                                            "x-originating-ip",
                                            "x-remote-ip",
                                            "x-remote-addr",
                                            "x-host",
                                            "x-original-host",
                                            "x-original-url",
                                            "x-original-uri",
                                            "x-original-method",
                                            "x-rewrite-url",
                                            "x-http-method",
                                            "x-http-method-override",
                                            "x-method-override",
                                            "x-envoy-original-path",
                                            "x-envoy-internal",
                                            "x-envoy-external-address",
                                            "x-auth-request-redirect",
                                            "x-url-scheme",
                                            "front-end-https",
                                            "max-forwards"};

constexpr std::string_view kFramingAndRouting[] = {
    "host",   "content-length", "content-type",    "content-encoding",  "git-protocol",        "expect",
    "range",  "if-match",       "if-none-match",   "if-modified-since", "if-unmodified-since", "cache-control",
    "date",   "accept",         "accept-encoding", "user-agent",        "content-range",       "content-md5",
    "digest", "signature",      "signature-input"};

constexpr NameList kHopByHopList(kHopByHop);
constexpr NameList kCredentialHeadersList(kCredentialHeaders);
constexpr NameList kCredentialQueriesList(kCredentialQueries);
constexpr NameList kForwardingList(kForwarding);
constexpr NameList kFramingAndRoutingList(kFramingAndRouting);

}  // namespace

bool IsHopByHop(std::string_view name) { return kHopByHopList.Has(name); }
bool IsProxyInternal(std::string_view name) { return HasPrefix(name, "proxy-"); }
bool IsCredentialHeader(std::string_view name) { return kCredentialHeadersList.Has(name); }
bool IsCredentialQueryName(std::string_view name) { return kCredentialQueriesList.Has(name); }
bool IsForwardingHeader(std::string_view name) { return HasPrefix(name, "x-forwarded-") || kForwardingList.Has(name); }

bool IsUnderscoreDisguise(std::string_view name) {
  constexpr std::size_t kLongest = 64;  // above every name in the lists
  if (name.find('_') == std::string_view::npos || name.size() > kLongest) return false;
  std::array<char, kLongest> dashed;
  std::replace_copy(name.begin(), name.end(), dashed.begin(), '_', '-');
  const std::string_view plain(dashed.data(), name.size());
  return IsCredentialHeader(plain) || IsHopByHop(plain) || IsProxyInternal(plain) || IsForwardingHeader(plain) ||
         kFramingAndRoutingList.Has(plain);
}

bool IsProtectedFromConnection(std::string_view name) {
  return IsCredentialHeader(name) || kFramingAndRoutingList.Has(name);
}

bool TokenList::Next(std::string_view* token) {
  while (!rest_.empty()) {
    const std::size_t comma = std::min(rest_.find(','), rest_.size());
    std::string_view element = rest_.substr(0, comma);
    rest_.remove_prefix(std::min(comma + 1, rest_.size()));
    while (!element.empty() && (element.front() == ' ' || element.front() == '\t')) element.remove_prefix(1);
    while (!element.empty() && (element.back() == ' ' || element.back() == '\t')) element.remove_suffix(1);
    if (element.empty()) continue;
    malformed_ = !chars::All(element, chars::kTokenChar);
    *token = element;
    return !malformed_;
  }
  return false;
}

bool EndsHere(std::string_view name, std::string_view connection) {
  if (IsHopByHop(name) || IsProxyInternal(name)) return true;
  TokenList list(connection);
  for (std::string_view token; list.Next(&token);) {
    if (EqualsToken(token, name)) return true;
  }
  return false;
}

}  // namespace credbroker::wire
