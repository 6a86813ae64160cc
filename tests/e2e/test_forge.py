"""The API of a forge: the real gh on GraphQL, REST, and what both refuse. One grant, one answer (design.md, section 6)."""
import gzip
import json
import time

import harness
from client import tunnel
from forge import Forge
from harness import Case
from upstream import RawUpstream, run

SERVICE = '  echo: {preset: github, hosts: ["echo.test:@RAW@", echo.test], addresses: [127.0.0.0/8], upstream_ca: ca.pem}'
CREDENTIAL = "  echo-key: {service: echo, provider: static, secret: secret:echo-key, placeholder_env: [GH_ENTERPRISE_TOKEN]}"
SCOPES = """  contributor:
    description: works on one repository of the forge
    requesters: [team-web]
    repositories:
      - {service: echo, name: acme/web, id: 17, credential: echo-key, api: [read, read-host, write]}
  ops:
    requesters: [team-web]
    repositories:
      - service: echo
        name: acme/web
        credential: echo-key
        git: {push: {refs: ["refs/heads/agent/**"], create: allow}}
        api: [read]
        dangerous: [{classes: [ref-write, merge], owner: jo@corp.example, reason: release train, expires: 2099-01-31}]
exceptions:
"""


def forge_policy(world):
    lines = []
    for line in world.policy().split("\n"):
        if line.startswith("  echo: "):
            line = SERVICE.replace("@RAW@", str(world.raw.port))
        if line.startswith("  echo-key: "):
            line = CREDENTIAL
        if "service: echo, credential" not in line:
            lines.append(line)
    return "\n".join(lines).replace("exceptions:\n", SCOPES)


class ForgeCase(Case):
    def setUp(self):
        self.world.apply(forge_policy(self.world))
        self.forge = Forge()
        self.world.raw.on["/api/graphql"] = self.forge.serve
        self.session, self.token = self.world.open_session(scope="contributor")
        self.host = self.world.url("echo.test").split("/")[2]

    def send(self, method, path, body=b"", headers=("Content-Type: application/json",)):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        with tunnel(self.world, self.token, "echo.test") as channel:
            return channel.request(method, path, self.host, headers, body)

    def graphql(self, query, variables=None, **more):
        return self.send("POST", "/api/graphql", {"query": query, **({"variables": variables} if variables else {}), **more})


class Gh(ForgeCase):
    def gh(self, *args):
        environment = {"GH_HOST": self.host, "GH_REPO": f"{self.host}/acme/web", "GH_PROMPT_DISABLED": "1", "NO_COLOR": "1"}
        return self.world.sandbox(self.token, "gh", *args, env=environment)

    def run_gh(self, *args):
        result = self.gh(*args)
        self.assertEqual(result.code, 0, result.text() + "\n".join(bytes(r.body).decode() for r in self.world.raw.seen("/api/graphql")[-3:]))
        return result.out

    def test_the_daily_work(self):
        self.assertIn(b"First change", self.run_gh("pr", "list"))
        self.assertIn(b"It does not work", self.run_gh("issue", "list"))
        self.assertIn(b"First change", self.run_gh("pr", "view", "1"))
        self.assertIn(b"/issues/3", self.run_gh("issue", "create", "--title", "Another", "--body", "b"))
        self.assertEqual(self.forge.asked, ["createIssue"])

    def test_a_pull_request_from_a_clone(self):
        """gh finds the host in the clone's remote, without a port: this needs the usual one."""
        w, clone = self.world, self.world.home / "clone"
        try:
            usual = RawUpstream(w.cert, w.key, port=443)
        except OSError as e:
            print(f"port 443: {e}: not tried")
            return
        self.addCleanup(usual.close)
        usual.on["/api/graphql"] = self.forge.serve
        self.host = "echo.test"
        for command in (("init", "-q", "-b", "agent/two", clone), ("-C", clone, "remote", "add", "origin", "https://echo.test/acme/web.git"),
                        ("-C", clone, "-c", "user.name=a", "-c", "user.email=a@sandbox.test", "commit", "-q", "--allow-empty", "-m", "x")):
            run("git", *command)
        args = ("pr", "create", "--head", "agent/two", "--base", "main", "--title", "Second change", "--body", "b")
        result = w.sandbox(self.token, "gh", *args, cwd=clone, env={"GH_HOST": "echo.test", "GH_PROMPT_DISABLED": "1"})
        self.assertEqual(result.code, 0, result.text())
        self.assertIn(b"/pull/3", result.out)
        self.assertEqual(self.forge.asked, ["createPullRequest"])

    def test_what_closes_a_review_is_refused(self):
        for args in (("pr", "merge", "1", "--merge"), ("pr", "review", "1", "--approve"), ("pr", "merge", "1", "--auto", "--squash"), ("pr", "ready", "1")):
            self.forge.pulls[0]["isDraft"] = args[1] == "ready"
            self.forge.pulls[0]["mergeStateStatus"] = "BLOCKED" if "--auto" in args else "CLEAN"
            result = self.gh(*args)
            self.assertNotEqual(result.code, 0, result.text())
            self.assertIn(b"the scope does not allow this class of operation", result.err, args)
        self.assertEqual(self.forge.asked, [])
        denied = self.world.records(self.session, kind="deny")
        self.assertLessEqual({"merge", "review"}, {r["effect_class"] for r in denied})


class Graphql(ForgeCase):
    OURS = 'query { repository(owner:"acme", name:"web") { id issues(first:1) { nodes { id } } } }'

    def test_an_id_counts_when_the_session_has_seen_it_for_the_repository(self):
        create = 'mutation($r:ID!){createIssue(input:{repositoryId:$r,title:"t"}){issue{url}}}'
        self.assertRefused(self.graphql(create, {"r": "R_1"}), 403, "operation_not_allowed")
        self.assertEqual(self.graphql(self.OURS).status, 200)
        self.assertEqual(self.graphql(create, {"r": "R_1"}).status, 200)
        self.assertRefused(self.graphql(create, {"r": "R_2"}), 403, "operation_not_allowed")
        _, self.token = self.world.open_session(scope="contributor")
        self.assertRefused(self.graphql(create, {"r": "R_1"}), 403, "operation_not_allowed")

    def test_a_text_under_an_alias_is_no_id(self):
        self.forge.issues[0]["title"] = "R_2"
        trick = 'query { repository(owner:"acme", name:"web") { issueOrPullRequest(number:2) { ... on PullRequest { x: id } ... on Issue { x: title } } } }'
        self.assertEqual(self.graphql(trick).status, 200)
        self.assertRefused(self.graphql('mutation{createIssue(input:{repositoryId:"R_2",title:"t"}){issue{url}}}'), 403, "operation_not_allowed")

    def test_what_reaches_more_is_refused_B31(self):
        asked = len(self.world.raw.seen("/api/graphql"))
        query, mutation = "query A{rateLimit{limit}}", 'mutation B{mergePullRequest(input:{pullRequestId:"PR_1"}){clientMutationId}}'
        for body, code in (
                ([{"query": query}, {"query": mutation}], "body_undecided"), ({"query": query + mutation, "operationName": "B"}, "bad_document"), ({"query": query + mutation}, "bad_document"),
                ({"query": "mutation{ok:mergePullRequest(input:{pullRequestId:\"x\"}){clientMutationId}}"}, "class_not_allowed"),
                ({"query": "mutation{...F} fragment F on Mutation{ok:updateRefs(input:{repositoryId:\"R_1\"}){clientMutationId}}"}, "class_not_allowed"),
                ({"query": "mutation{inventedYesterday(input:{}){clientMutationId}}"}, "unknown_operation"),
                ({"extensions": {"persistedQuery": {"sha256Hash": "x"}}}, "bad_document"), ({"query": query, "operationName": "B"}, "bad_document"),
                ({"query": "query{node(id:\"R_2\"){id}}"}, "operation_not_allowed"), ({"query": "query{search(query:\"x\",type:REPOSITORY,first:1){nodes{__typename}}}"}, "operation_not_allowed"),
                ({"query": "query{repository(owner:\"other\",name:\"secret\"){description}}"}, "repository_not_allowed"),
                ({"query": "query{repository(owner:\"acme\",name:\"web\"){owner{... on User{repository(name:\"secret\"){name}}}}}"}, "operation_not_allowed"),
                ({"query": "query{viewer{repositories(first:9){nodes{name}}}}"}, "operation_not_allowed"), ({"query": "query{a{...F}} fragment F on X{...F}"}, "bad_document")):
            with self.subTest(body):
                self.assertRefused(self.send("POST", "/api/graphql", body), 400 if code == "bad_document" else 403, code)
        self.assertEqual(len(self.world.raw.seen("/api/graphql")), asked)

    def test_forms_that_cannot_be_read_for_sure(self):
        good = b'{"query":"query{rateLimit{limit}}"}'
        self.assertEqual(self.send("POST", "/api/graphql", good).status, 200)
        self.assertEqual(self.send("POST", "/api/graphql", gzip.compress(good), ("Content-Type: application/json", "Content-Encoding: gzip")).status, 200)
        self.assertEqual(bytes(self.world.raw.seen("/api/graphql")[-1].body), good)
        for body, headers in ((b'{"query":"query{rateLimit{limit}}","query":"mutation{x}"}', None), (good, ("Content-Type: application/graphql",)),
                              (b"query=x", ("Content-Type: application/x-www-form-urlencoded",)), (good, ()), (good + b"x", None),
                              (b'{"query":"' + b" " * (1 << 20) + b'"}', None), (good, ("Content-Type: application/json", "Content-Encoding: br"))):
            answer = self.send("POST", "/api/graphql", body, *([headers] if headers is not None else []))
            self.assertRefused(answer, 403, "body_undecided")
        self.assertRefused(self.send("POST", "/api/graphql?query=x", good), 403, "body_undecided")


class Rest(ForgeCase):
    def test_a_review_may_comment_only(self):
        path = "/api/v3/repos/acme/web/pulls/1/reviews"
        self.assertEqual(self.send("POST", path, {"event": "COMMENT", "body": "x"}).status, 200)
        self.assertRefused(self.send("POST", path, {"event": "APPROVE"}), 403, "class_not_allowed")
        self.assertRefused(self.send("POST", path, b'{"event":"COMMENT","event":"APPROVE"}'), 403, "body_undecided")
        self.assertRefused(self.send("POST", path + "?event=APPROVE", {"event": "COMMENT"}), 403, "body_undecided")
        self.assertRefused(self.send("POST", path, b"event=COMMENT", ("Content-Type: application/x-www-form-urlencoded",)), 403, "body_undecided")
        self.assertRefused(self.send("POST", "/api/v3/repos/acme/web/pulls", {"head": "other:x", "base": "main", "title": "t"}), 403, "cross_repository")
        self.assertEqual(self.send("GET", "/api/v3/repositories/17/issues").status, 200)
        self.assertRefused(self.send("GET", "/api/v3/repositories/18/issues"), 403, "repository_not_allowed")

    def test_dangerous_grants_open_no_more_than_git(self):
        _, self.token = self.world.open_session(scope="ops")
        path = "/api/v3/repos/acme/web/contents/a.txt"
        self.assertEqual(self.send("PUT", path, {"branch": "agent/x", "message": "m", "content": ""}).status, 200)
        self.assertRefused(self.send("PUT", path, {"branch": "main", "message": "m", "content": ""}), 403, "ref_not_allowed")
        self.assertEqual(self.send("PUT", "/api/v3/repos/acme/web/pulls/1/merge", {}).status, 200)
        self.assertRefused(self.send("POST", "/api/v3/repos/acme/web/pulls/1/reviews", {"event": "APPROVE"}), 403, "class_not_allowed")

    def explain(self, *rows, scope="contributor"):
        file = self.world.home / "rows"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        out = self.world.cli("policy", "explain", "--scope", scope, "--batch", file, "--output", "json").out.decode()
        return [json.loads(line) for line in out.splitlines()]

    def test_explain_knows_bodies(self):
        url = self.world.url("echo.test", "/api/v3/repos/acme/web/pulls/1/reviews")
        graphql = self.world.url("echo.test", "/api/graphql")
        got = self.explain({"method": "POST", "url": url, "body": '{"event":"COMMENT"}'}, {"method": "POST", "url": url, "body": '{"event":"APPROVE"}'},
                           {"method": "POST", "url": graphql, "body": json.dumps({"query": Graphql.OURS})},
                           {"method": "POST", "url": graphql, "body": '{"query":"mutation{mergePullRequest(input:{}){clientMutationId}}"}'})
        self.assertEqual([(g["decision"], g["effect_class"]) for g in got],
                         [("allow", "write.review_comment"), ("deny", "review"), ("allow", "read"), ("deny", "merge")])

    def test_ten_thousand_questions(self):
        url = self.world.url("echo.test", "/api/v3/repos/acme/web/issues/1/comments")
        start = time.monotonic()
        self.assertEqual(len(self.explain(*[{"method": "POST", "url": url}] * 10000)), 10000)
        print(f"10,000 questions: {time.monotonic() - start:.1f} s")
        self.assertLess(time.monotonic() - start, harness.DEADLINE)


if __name__ == "__main__":
    harness.main()
