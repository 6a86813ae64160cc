#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/str.h"
#include "fixture.h"
#include "kit/status_matchers.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using testing_kit::FailsWith;
using testing_kit::IsOk;

constexpr std::string_view kHead =
    "apiVersion: credbroker/v1\n"
    "services: {github: {preset: github}, llm: {hosts: [api.llm.example]}}\n"
    "credentials: {key: {service: llm, provider: static, secret: llm}, gh: {service: github, provider: static, secret: "
    "gh}}\n";

std::string Message(const absl::StatusOr<std::shared_ptr<const RuleSet>>& result) {
  return std::string(base::View(result.status().message()));
}

struct Fault {
  const char* name;
  const char* text;   // after kHead, from line 4 on; with a leading `!` it is the whole text
  const char* place;  // `line:column`
  const char* says;
};

// Every fault: the place, what is wrong, and the hint.
const Fault kFaults[] = {
    {"not yaml", "!a: [b", "1:1", "not YAML"},
    {"empty", "!", "1:1", "the policy is nothing, not a map"},
    {"a list", "![a]", "1:1", "the policy is a list, not a map"},
    {"no version", "!services: {}", "1:1", "needs `apiVersion`"},
    {"other version", "!apiVersion: credbroker/v2", "1:13", "`credbroker/v2` is not known; write credbroker/v1"},
    {"unknown top key", "scope: {}", "4:1", "unknown key `scope` in the policy; did you mean `scopes`?"},
    {"double key", "scopes:\n  a: {}\n  a: {}", "6:3", "the key `a` stands twice"},
    {"anchor", "scopes: &x {}", "4:9", "anchors and aliases are not allowed"},
    {"alias", "scopes: {a: {requesters: &r [x]}, b: {requesters: *r}}", "4:26", "anchors"},
    {"merge key", "scopes: {a: {<<: {}}}", "4:14", "merge keys are not allowed"},
    {"tag", "scopes: !!map {}", "4:9", "tags are not allowed"},
    {"second document", "---\napiVersion: credbroker/v1", "4:1", "a second document"},
    {"deep", "scopes: {a: [[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]}", "4:27", "more than 16 levels"},
    {"key not text", "scopes: {[a]: {}}", "4:10", "a key must be a text"},
    {"scopes a list", "scopes: [a]", "4:9", "`scopes` is a list, not a map"},
    {"scope name", "scopes: {Web Agent: {}}", "4:10", "the scope's name `Web Agent` is not allowed; use a-z"},
    {"scope a text", "scopes: {a: b}", "4:13", "scope `a` is a text, not a map"},
    {"scope key", "scopes: {a: {requester: [x]}}", "4:14",
     "unknown key `requester` in scope `a`; did you mean `requesters`?"},
    {"requesters a text", "scopes: {a: {requesters: x}}", "4:26",
     "`requesters` is a text, not a list; write [x] for one entry"},
    {"phase", "scopes: {a: {phases: [run]}}", "4:23", "the phase `run` is not known; write setup or agent"},
    {"no phases", "scopes: {a: {phases: []}}", "4:22", "`phases` is an empty list"},
    {"label", "scopes: {a: {labels: [bot]}}", "4:23", "the label `bot` is not known; write agent, tool or setup"},
    {"limit key", "scopes: {a: {limits: {sesion: 1h}}}", "4:23", "did you mean `session`?"},
    {"limit text", "scopes: {a: {limits: {session: long}}}", "4:32",
     "`session` is not a duration: `long`; write 15m, 2h or 1h30m"},
    {"session ceiling", "scopes: {a: {limits: {session: 25h}}}", "4:32", "between 1s and"},
    {"token ceiling", "scopes: {a: {limits: {token: 61m}}}", "4:30", "between 1s and 1h"},
    {"token zero", "scopes: {a: {limits: {token: 0s}}}", "4:30", "`token` is 0s"},
    {"idle", "scopes: {a: {limits: {session: 10m, idle: 20m}}}", "4:43", "`idle` is longer than `session`"},
    {"rate", "scopes: {a: {limits: {requests_per_minute: -1}}}", "4:44", "write a number from 1 to 1000000"},
    {"at once", "scopes: {a: {limits: {concurrent_requests: 0}}}", "4:44", "write a number from 1 to 30000"},
    {"bytes", "scopes: {a: {limits: {bytes: 1GiB}}}", "4:30", "write a number from 1 to 1125899906842624"},
    {"repository service", "scopes: {a: {repositories: [{service: githb, name: o/r}]}}", "4:39",
     "there is no service `githb`; did you mean `github`?"},
    {"repository no name", "scopes: {a: {repositories: [{service: github}]}}", "4:29", "needs `name`"},
    {"repository name", "scopes: {a: {repositories: [{service: github, name: acme}]}}", "4:53",
     "a repository is written `owner/name` or `owner/*`"},
    {"repository glob", "scopes: {a: {repositories: [{service: github, name: 'acme/w*'}]}}", "4:53",
     "`*` only as `owner/*`"},
    {"credential unknown", "scopes: {a: {repositories: [{service: github, name: o/r, credential: ghh}]}}", "4:70",
     "there is no credential `ghh`"},
    {"credential of another", "scopes: {a: {repositories: [{service: github, name: o/r, credential: key}]}}", "4:70",
     "the credential `key` is for service `llm`; name one of service `github`"},
    {"fetch", "scopes: {a: {repositories: [{service: github, name: o/r, git: {fetch: yes}}]}}", "4:71",
     "`fetch` is `yes`; write allow or deny"},
    {"git key", "scopes: {a: {repositories: [{service: github, name: o/r, git: {pull: allow}}]}}", "4:64",
     "unknown key `pull` in `git`"},
    {"push allow", "scopes: {a: {repositories: [{service: github, name: o/r, git: {push: allow}}]}}", "4:70",
     "`push` is `allow`; write {refs: [...]}, or deny"},
    {"push no refs", "scopes: {a: {repositories: [{service: github, name: o/r, git: {push: {create: allow}}}]}}",
     "4:70", "needs `refs`"},
    {"push ref", "scopes: {a: {repositories: [{service: github, name: o/r, git: {push: {refs: [main]}}}]}}", "4:78",
     "a ref pattern starts with `refs/`"},
    {"push regex",
     "scopes: {a: {repositories: [{service: github, name: o/r, git: {push: {refs: ['refs/heads/(a|b)?']}}}]}}", "4:78",
     "only metacharacters"},
    {"api unknown", "scopes: {a: {repositories: [{service: github, name: o/r, api: [reed]}]}}", "4:64",
     "the class `reed` is not known; did you mean `read`?"},
    {"api dangerous", "scopes: {a: {repositories: [{service: github, name: o/r, api: [merge]}]}}", "4:64",
     "needs a `dangerous:` entry"},
    {"endpoint allow", "scopes: {a: {endpoints: [{service: llm}]}}", "4:26", "needs `allow`"},
    {"endpoint method", "scopes: {a: {endpoints: [{service: llm, allow: [{methods: [get], path: /}]}]}}", "4:60",
     "the method `get` is not known; did you mean `GET`?"},
    {"endpoint no method", "scopes: {a: {endpoints: [{service: llm, allow: [{path: /}]}]}}", "4:49", "needs `methods`"},
    {"endpoint path", "scopes: {a: {endpoints: [{service: llm, allow: [{methods: [GET], path: v1}]}]}}", "4:72",
     "the path pattern `v1` is not allowed"},
    {"egress host", "scopes: {a: {egress: [{hosts: ['https://x.example']}]}}", "4:32", "cannot be read"},
    {"egress suffix", "scopes: {a: {egress: [{hosts: ['*.com']}]}}", "4:32", "a wildcard needs a suffix of two labels"},
    {"egress none", "scopes: {a: {egress: [{methods: [GET]}]}}", "4:23", "needs `hosts`"},
    {"egress network", "scopes: {a: {egress: [{hosts: [x.example], addresses: [10.0.0.1/8]}]}}", "4:56",
     "`10.0.0.1/8` is not a network"},
    {"egress ca", "scopes: {a: {egress: [{hosts: [x.example], upstream_ca: ca.pem}]}}", "4:57",
     "the file `ca.pem` was not read with the policy"},
    {"preset", "!apiVersion: credbroker/v1\nservices: {a: {preset: githib}}", "2:24",
     "the preset `githib` is not known; did you mean `github`?"},
    {"no hosts", "!apiVersion: credbroker/v1\nservices: {a: {}}", "2:15", "service `a` needs `hosts`"},
    {"gitea hosts", "!apiVersion: credbroker/v1\nservices: {a: {preset: gitea}}", "2:15", "needs `hosts`"},
    {"two claims", "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}, b: {hosts: ['X.example:443']}}",
     "2:37", "claims the host x.example, as service `a` does"},
    {"forge wildcard", "!apiVersion: credbroker/v1\nservices: {a: {preset: gitea, hosts: ['*.x.example']}}", "2:38",
     "is a wildcard; name each host"},
    {"plain_http", "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example], plain_http: true}}", "2:48",
     "write allow or deny"},
    {"api_prefix", "!apiVersion: credbroker/v1\nservices: {a: {preset: gitea, hosts: [x.example], api_prefix: api}}",
     "2:63", "is not a path prefix"},
    {"prefix no preset", "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example], api_prefix: /api}}", "2:48",
     "no meaning without a preset"},
    {"credential key",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: static, "
     "sekret: x}}",
     "3:49", "unknown key `sekret` in credential `c`; did you mean `secret`?"},
    {"credential of app",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: static, "
     "secret: x, app_id: 1}}",
     "3:60", "unknown key `app_id`"},
    {"no secret",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: "
     "static}}",
     "3:18", "needs `secret`"},
    {"provider",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: statik, "
     "secret: x}}",
     "3:41", "the provider `statik` is not known; did you mean `static`?"},
    {"github_app",
     "!apiVersion: credbroker/v1\nservices: {a: {preset: github}}\ncredentials: {c: {service: a, provider: github_app, "
     "app_id: 1, installation_id: 2, private_key: secret:k}}",
     "3:41", "provider github_app is not available in this version"},
    {"aws_sigv4",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: "
     "aws_sigv4, access_key_id: AK, secret: secret:k, region: r, aws_service: s3}}",
     "3:41", "provider aws_sigv4 is not available"},
    {"aws_sigv4 keys",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: "
     "aws_sigv4, secret: secret:k}}",
     "3:18", "needs `access_key_id`"},
    {"two places",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: static, "
     "secret: x, place: {query: {name: k}, cookie: {name: k}}}}",
     "3:67", "`place` names one place"},
    {"place host",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: static, "
     "secret: x, place: {header: {name: Host}}}}",
     "3:83", "the header `host` cannot carry a credential"},
    {"place prefix",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: static, "
     "secret: x, place: {header: {name: a, prefix: \"a\\r\\nb\"}}}}",
     "3:76", "`prefix` must be printable ASCII"},
    {"place name",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: static, "
     "secret: x, place: {query: {name: 'a&b'}}}}",
     "3:82", "is not allowed"},
    {"basic user",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: static, "
     "secret: x, place: {basic: {username: 'a:b'}}}}",
     "3:75", "not one that Basic can carry"},
    {"placeholder",
     "!apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: static, "
     "secret: x, placeholder_env: [my-key]}}",
     "3:78", "is not a variable's name"},
    {"exceptions a map", "exceptions: {a: b}", "4:13", "`exceptions` is a map, not a list"},
    {"exception kind",
     "exceptions: [{id: E, kind: bypass, hosts: [x.example], reason: r, owner: a, approved_by: b, expires: "
     "2027-01-01}]",
     "4:28", "the kind `bypass` is not known; write tunnel"},
    {"exception reason",
     "exceptions: [{id: E, kind: tunnel, hosts: [x.example], owner: a, approved_by: b, expires: 2027-01-01}]", "4:14",
     "needs `reason`"},
    {"exception blank",
     "exceptions: [{id: E, kind: tunnel, hosts: [x.example], reason: ' ', owner: a, approved_by: b, expires: "
     "2027-01-01}]",
     "4:64", "`reason` is empty"},
    {"exception approver",
     "exceptions: [{id: E, kind: tunnel, hosts: [x.example], reason: r, owner: jo@x.example, approved_by: "
     "Jo@x.example, expires: 2027-01-01}]",
     "4:101", "the owner approves the exception"},
    {"exception time",
     "exceptions: [{id: E, kind: tunnel, hosts: [x.example], reason: r, owner: a, approved_by: b, expires: soon}]",
     "4:102", "`soon` is not a time"},
    {"exception scope",
     "exceptions: [{id: E, kind: tunnel, hosts: [x.example], reason: r, owner: a, approved_by: b, expires: 2027-01-01, "
     "scopes: [zz]}]",
     "4:123", "there is no scope `zz`"},
    {"exception enabled",
     "exceptions: [{id: E, kind: tunnel, hosts: [x.example], reason: r, owner: a, approved_by: b, expires: 2027-01-01, "
     "enabled: no}]",
     "4:123", "write true or false"},
    {"exception id",
     "exceptions: [{id: 'E 1', kind: tunnel, hosts: [x.example], reason: r, owner: a, approved_by: b, expires: "
     "2027-01-01}]",
     "4:19", "the id `E 1` is not allowed"},
};

TEST(LoadTest, EveryFaultIsNamedWithItsPlaceAndAHint) {
  for (const Fault& fault : kFaults) {
    const std::string_view text = fault.text;
    const auto result = LoadText(text.starts_with('!') ? std::string(text.substr(1)) : base::StrCat(kHead, text));
    EXPECT_THAT(result, FailsWith(ErrorCode::kPolicyInvalid)) << fault.name;
    EXPECT_THAT(Message(result),
                AllOf(HasSubstr(base::StrCat("policy.yaml:", fault.place, ": ")), HasSubstr(fault.says)))
        << fault.name;
  }
}

TEST(LoadTest, ManyFaultsAreToldAtOnceUpToTen) {
  std::string text(kHead);
  text += "scopes:\n";
  for (int i = 0; i < 15; ++i) base::StrAppend(&text, "  s", i, ": {bad: 1}\n");
  const std::string message = Message(LoadText(text));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 10);
  EXPECT_THAT(message, AllOf(HasSubstr("policy.yaml:5:8:"), HasSubstr("policy.yaml:14:8:"), HasSubstr("and 5 more")));
}

TEST(LoadTest, ASecretsValueWrittenIntoThePolicyIsNotRepeated) {
  const auto result = LoadText(
      "apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example]}}\ncredentials: {c: {service: a, provider: static, "
      "secret: ghp_Abc/def+123}}");
  EXPECT_THAT(result, FailsWith(ErrorCode::kPolicyInvalid));
  EXPECT_THAT(Message(result),
              AllOf(HasSubstr("3:57: `secret` is not the name of a secret"), testing::Not(HasSubstr("Abc"))));
}

TEST(LoadTest, NamesThatTwoFilesDefineAreRefused) {
  PolicySource source;
  source.documents = {{"a.yaml", std::string(kHead)},
                      {"b.yaml", "apiVersion: credbroker/v1\nservices: {github: {hosts: [y.example]}}"}};
  const auto result = RuleSet::Load(source, 1, "");
  EXPECT_THAT(Message(result),
              HasSubstr("b.yaml:2:12: the service `github` is defined twice; the first is at a.yaml:2"));
}

TEST(LoadTest, FilesOfAFolderReferToEachOther) {
  PolicySource source;
  source.documents = {{"a.yaml",
                       "apiVersion: credbroker/v1\nscopes: {s: {requesters: [r], endpoints: [{service: llm, "
                       "credential: key, allow: [{methods: [GET], path: /}]}]}}"},
                      {"b.yaml", std::string(kHead)}};
  EXPECT_THAT(RuleSet::Load(source, 1, ""), IsOk());
}

TEST(LoadTest, OwnCaIsReadAndAPrivateKeyIsRefused) {
  PolicySource source;
  source.documents = {{"a.yaml",
                       "apiVersion: credbroker/v1\nservices: {a: {hosts: [x.example], upstream_ca: ca.pem, addresses: "
                       "[127.0.0.1, 'fd00::/8']}}"}};
  source.attachments = {{"ca.pem", "-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n"}};
  ASSERT_OK_AND_ASSIGN(const auto rules, RuleSet::Load(source, 1, ""));
  const model::Upstream& upstream = rules->services().at("a").upstream;
  EXPECT_EQ(upstream.extra_ca_pem, source.attachments[0].text);
  EXPECT_THAT(upstream.addresses, testing::ElementsAre("127.0.0.1/32", "fd00::/8"));
  EXPECT_EQ(upstream.id, "service a");
  source.attachments[0].text += "-----BEGIN PRIVATE KEY-----\n";
  EXPECT_THAT(Message(RuleSet::Load(source, 1, "")), HasSubstr("holds a private key"));
  source.attachments[0].text = "hello";
  EXPECT_THAT(Message(RuleSet::Load(source, 1, "")), HasSubstr("holds no PEM certificate"));
}

TEST(LoadTest, WarnsOfWhatLoadsAndDoesNotDoWhatItSeemsTo) {
  ASSERT_OK_AND_ASSIGN(const auto rules,
                       LoadText(base::StrCat(kHead,
                                             "scopes:\n"
                                             "  a: {repositories: [{service: github, name: o/r, git: {push: {refs: "
                                             "['refs/heads/x'], deny_paths: ['**']}}}]}\n"
                                             "exceptions: [{id: E, kind: tunnel, hosts: [github.com], reason: r, "
                                             "owner: a, approved_by: b, expires: 2020-01-01}]\n")));
  EXPECT_THAT(rules->warnings(),
              testing::UnorderedElementsAre(HasSubstr("policy.yaml:5:3: scope `a` names no requesters"),
                                            HasSubstr("service github claims it")));
  EXPECT_FALSE(rules->exceptions().at("E").ActiveAt(TestNow()));
}

TEST(LoadTest, WarnsOfPathsThatAreProtectedOnSomeRefsOnly) {
  const auto warnings = [](std::string_view second) {
    const auto rules = LoadText(base::StrCat(kHead, "scopes: {a: {requesters: [r], repositories: [{service: github, name: o/r, git: {push: {refs: ['refs/heads/x'], deny_paths: [c]}}}, ",
                                             "{service: github, name: ", second, "}]}}\n"));
    EXPECT_TRUE(rules.ok()) << rules.status();
    return (*rules)->warnings();
  };
  EXPECT_THAT(warnings("o/r, git: {push: {refs: ['refs/heads/y']}}"), testing::ElementsAre(HasSubstr("on some refs only")));
  EXPECT_THAT(warnings("o/r, git: {push: {refs: ['refs/heads/y'], deny_paths: [d]}}"), testing::IsEmpty());
  EXPECT_THAT(warnings("o/s, git: {push: {refs: ['refs/heads/y']}}"), testing::IsEmpty());
  EXPECT_THAT(warnings("o/r, git: {fetch: allow}"), testing::IsEmpty());
}

TEST(LoadTest, PushLimitsAreNumbersThatTheEdgeKeeps) {
  const auto load = [](std::string_view keys) {
    return LoadText(base::StrCat(kHead, "scopes: {a: {requesters: [r], repositories: [{service: github, name: o/r, git: {push: {refs: ['refs/heads/x'], ", keys, "}}}]}}\n")).status();
  };
  EXPECT_TRUE(load("max_push_bytes: 1073741824, max_objects: 500000, max_blob_bytes: 1").ok());
  for (const char* keys : {"max_push_bytes: 1073741825", "max_objects: 500001", "max_blob_bytes: 0", "max_objects: many", "max_files: 3", "deny_paths: ['a/../b']", "deny_paths: ['']"}) {
    EXPECT_FALSE(load(keys).ok()) << keys;
  }
}

TEST(LoadTest, PresetsPlaceTheCredentialByKindOfRequest) {
  const auto rules = Fixture();
  const Credential& github = rules->credentials().at("acme");
  EXPECT_EQ(github.git.placement.kind, model::Placement::Kind::kBasic);
  EXPECT_EQ(github.git.placement.username, "x-access-token");
  EXPECT_EQ(github.api.placement, model::Placement{});
  EXPECT_EQ(github.secret, "acme");
  const Credential& corp = rules->credentials().at("corp-bot");
  EXPECT_EQ(corp.git.placement, corp.api.placement);
  EXPECT_EQ(corp.git.placement.username, "bot");
  const Credential& llm = rules->credentials().at("llm-key");
  EXPECT_EQ(llm.api.placement.name, "x-api-key");
  EXPECT_EQ(llm.api.placement.prefix, "");
  ASSERT_OK_AND_ASSIGN(const auto gitea,
                       LoadText("apiVersion: credbroker/v1\nservices: {g: {preset: gitea, hosts: [g.example]}}\n"
                                "credentials: {c: {service: g, provider: static, secret: s}}"));
  EXPECT_EQ(gitea->credentials().at("c").api.placement.prefix, "token ");
}

TEST(RuleSetTest, MayOpenComparesRequestersExactly) {
  const auto rules = Fixture();
  EXPECT_THAT(rules->MayOpen("web-agent", "team-web"), IsOk());
  for (const char* who : {"", "Team-web", "team-web2", "team-release", "*"}) {
    EXPECT_THAT(rules->MayOpen("web-agent", who), FailsWith(ErrorCode::kRequesterNotAllowed)) << who;
  }
  EXPECT_THAT(rules->MayOpen("Web-Agent", "team-web"), FailsWith(ErrorCode::kScopeNotFound));
}

TEST(RuleSetTest, LimitsOfSeveralScopesAreTheTightest) {
  const auto rules = Fixture();
  const Limits limits = rules->SessionLimits({"reader", "web-agent", "unknown"});
  EXPECT_EQ(limits.session, absl::Hours(2));
  EXPECT_EQ(limits.token, absl::Minutes(15));
  EXPECT_EQ(limits.idle, absl::Minutes(20));
  EXPECT_EQ(rules->SessionLimits({}).session, absl::Hours(8));
}

TEST(RuleSetTest, PlaceholdersFollowServicesAndCredentials) {
  ASSERT_OK_AND_ASSIGN(
      const auto rules,
      LoadText(
          "apiVersion: credbroker/v1\n"
          "services: {gh: {preset: github}, o: {hosts: [api.openai.com]}, a: {hosts: [api.anthropic.com]}, x: {hosts: "
          "[x.example]}}\n"
          "credentials:\n"
          "  gh: {service: gh, provider: static, secret: gh}\n"
          "  o: {service: o, provider: static, secret: o}\n"
          "  a: {service: a, provider: static, secret: a, placeholder_env: [MY_KEY]}\n"
          "  x: {service: x, provider: static, secret: gh}\n"
          "scopes:\n"
          "  s: {requesters: [r], repositories: [{service: gh, name: o/r, credential: gh, git: {fetch: allow}}],\n"
          "      endpoints: [{service: a, credential: a, allow: [{methods: [GET], path: /}]}, {service: x, credential: "
          "x, allow: [{methods: [GET], path: /}]}]}\n"
          "  t: {requesters: [r], endpoints: [{service: o, credential: o, allow: [{methods: [GET], path: /}]}]}\n"));
  EXPECT_THAT(rules->PlaceholderNames({"s"}), testing::ElementsAre("GH_TOKEN", "GITHUB_TOKEN", "MY_KEY"));
  EXPECT_THAT(rules->PlaceholderNames({"t", "s"}),
              testing::ElementsAre("GH_TOKEN", "GITHUB_TOKEN", "MY_KEY", "OPENAI_API_KEY"));
  EXPECT_THAT(rules->Secrets(), testing::ElementsAre("a", "gh", "o"));
}

TEST(RuleSetTest, TenThousandScopesLoadAndOneMoreDoesNot) {
  std::string text(kHead);
  text += "scopes:\n";
  for (int i = 0; i < 10'000; ++i) base::StrAppend(&text, "  s", i, ": {requesters: [r]}\n");
  EXPECT_THAT(LoadText(text), IsOk());
  text += "  last: {requesters: [r]}\n";
  EXPECT_THAT(Message(LoadText(text)), HasSubstr("more than 10000 scopes"));
}

TEST(RuleSetTest, ValuesOfOneFileAreBounded) {
  std::string text = "scopes: [";
  for (int i = 0; i < 500'000; ++i) text += "1,";
  EXPECT_THAT(Message(LoadText(text + "1]")), HasSubstr("more than 500000 values"));
}

TEST(RuleSetTest, ServicesAreBounded) {
  std::string text = "apiVersion: credbroker/v1\nservices:\n";
  for (int i = 0; i < 20'001; ++i) base::StrAppend(&text, "  s", i, ": {hosts: [h", i, ".test]}\n");
  EXPECT_THAT(Message(LoadText(text)), HasSubstr("more than 20000 services"));
}

}  // namespace
}  // namespace credbroker::policy
