"""Real tools, unmodified, with nothing but what `credbroker env` sets (facts part 4; B77, B79)."""
import json
import shutil
import time
import unittest

import harness
from client import connect, tunnel
from harness import API_SECRET, ECHO_SECRET, Case


class Clients(Case):
    def setUp(self):
        self.session, self.token = self.world.open_session()

    def run_tool(self, *command, **kw):
        result = self.world.sandbox(self.token, *command, **kw)
        self.assertEqual(result.code, 0, result.text())
        self.assertNoSecret(result.out + result.err, command[0])
        return result

    def test_git_waits_for_407_B77(self):
        env = {"GIT_HTTP_PROXY_AUTHMETHOD": "anyauth", "GIT_TRACE_CURL": "1"}
        result = self.run_tool("git", "ls-remote", self.world.url("git.test", "/acme/web.git"), env=env)
        self.assertIn(b"refs/heads/main", result.out)
        self.assertIn(b"407", result.err)

    def test_curl(self):
        self.assertEqual(json.loads(self.run_tool("curl", "-sS", "--fail", self.world.url("api.test", "/v1/items")).out)["path"], "/v1/items")

    def test_curl_uploads_with_expect(self):
        body = self.world.home / "body"
        body.write_bytes(b"x" * (2 << 20))
        self.run_tool("curl", "-sS", "--fail", "-o", "/dev/null", "--data-binary", f"@{body}", "-H", "Content-Type: text/plain",
                      self.world.url("echo.test", "/open/upload"))
        self.assertEqual(len(self.world.raw.seen("/open/upload")[-1].body), 2 << 20)

    def test_wget(self):
        if not shutil.which("wget"):
            print("wget is not installed: not tried")
            return
        bundle = self.world.bundle(self.token)
        result = self.run_tool("wget", "-q", "-O", "-", f"--ca-certificate={bundle}", self.world.url("api.test", "/v1/items"))
        self.assertEqual(json.loads(result.out)["path"], "/v1/items")

    def test_python_urllib(self):
        code = f"import urllib.request; print(urllib.request.urlopen({self.world.url('api.test', '/v1/items')!r}).read().decode())"
        self.assertEqual(json.loads(self.run_tool("python3", "-c", code).out)["path"], "/v1/items")

    def test_node_fetch(self):
        if not shutil.which("node"):
            print("node is not installed: not tried")
            return
        major = int(self.run_tool("node", "-p", "process.versions.node.split('.')[0]").out)
        url = self.world.url("api.test", "/v1/items")
        if major >= 24:
            code = f"fetch({url!r}).then(r => r.text()).then(t => console.log(t))"
        else:  # no proxy variables before: the CONNECT that a proxy agent would make
            code = """
const http = require('http'), https = require('https'), proxy = new URL(process.env.HTTPS_PROXY), to = new URL(%r);
http.request({host: proxy.hostname, port: proxy.port, method: 'CONNECT', path: to.host, headers: {'Proxy-Authorization':
  'Basic ' + Buffer.from(decodeURIComponent(proxy.username) + ':' + decodeURIComponent(proxy.password)).toString('base64')}})
  .on('connect', (res, socket) => https.get({host: to.hostname, path: to.pathname, headers: {host: to.host}, socket, agent: false},
    r => r.on('data', d => process.stdout.write(d)))).end();""" % url
        self.assertEqual(json.loads(self.run_tool("node", "-e", code).out)["path"], "/v1/items")

    def test_openssl_accepts_the_leaf_strictly_B59(self):
        w = self.world
        proxy = f"127.0.0.1:{w.broker.ports['proxy']}"
        result = w.sandbox(self.token, "openssl", "s_client", "-proxy", proxy, "-proxy_user", "credbroker", "-proxy_pass", "env:CREDBROKER_TOKEN",
                           "-connect", w.url("api.test").split("/")[2], "-servername", "api.test", "-verify_return_error", "-x509_strict",
                           "-verify_hostname", "api.test", "-CAfile", w.bundle(self.token), "-brief")
        self.assertEqual(result.code, 0, result.text())

    def test_gh_sends_its_placeholder_B79(self):
        """gh talks to HOST/api/v3 with the placeholder that `env` gave it; the edge puts the real one there."""
        w = self.world
        if not shutil.which("gh"):
            print("gh is not installed: not tried")
            return
        environment = w.environment(self.token)
        placeholder = environment.get("GH_TOKEN") or self.token
        host = w.url("echo.test").split("/")[2]
        with tunnel(w, self.token, "echo.test") as channel:
            answer = channel.request("GET", "/open/user", host, [f"Authorization: token {placeholder}", "User-Agent: GitHub CLI 2.23"])
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(w.raw.seen("/open/user")[-1].get("authorization"), [f"Bearer {ECHO_SECRET}"])

    def test_gh_itself_works_on_its_placeholder_B79(self):
        """The real gh, which looks at the token's shape before it sends anything."""
        w = self.world
        if not shutil.which("gh"):
            print("gh is not installed: not tried")
            return
        w.apply(w.policy().replace("path: /open/**}", "path: /**}").replace("secret: secret:echo-key,", "secret: secret:echo-key, placeholder_env: [GH_ENTERPRISE_TOKEN],"))
        self.addCleanup(w.apply, w.policy())
        w.raw.on["/api/v3/user"] = lambda e: e.reply("200 OK", b'{"login":"agent"}', [("Content-Type", "application/json"), ("X-OAuth-Scopes", "repo")])
        w.raw.on["/api/graphql"] = lambda e: (e.read_body(), e.reply("200 OK", b'{"data":{"viewer":{"login":"agent"}}}', [("Content-Type", "application/json")]))[1]
        env = {"GH_HOST": w.url("echo.test").split("/")[2]}
        self.assertEqual(self.run_tool("gh", "api", "user", "--jq", ".login", env=env).out.strip(), b"agent")
        self.assertIn(b"Logged in", (lambda r: r.out + r.err)(self.run_tool("gh", "auth", "status", env=env)))
        seen = w.raw.seen("/api/v3/user")
        self.assertTrue(seen)
        for request in seen:
            self.assertEqual(request.get("authorization"), [f"Bearer {ECHO_SECRET}"])
            self.assertNotIn(b"cbp_", request.head)

    def test_git_with_the_token_in_every_proxy_login_B77(self):
        """User or password, on a connection that stays after the 407 and on a new one; a wrong token stays a 407."""
        w = self.world
        url, port = w.url("git.test", "/acme/web.git"), w.broker.ports["proxy"]
        for login, works in ((f"x:{self.token}", True), (f"{self.token}:", True), (f"{self.token}:x", True), ("x:cbt_v4.public.AAAA", False)):
            for method in ("basic", "anyauth"):
                env = {name: "" for name in ("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")}
                env |= {"GIT_HTTP_PROXY_AUTHMETHOD": method, "GIT_TERMINAL_PROMPT": "0", "GIT_TRACE_CURL": "1", "GIT_TRACE_REDACT": "1"}
                result = w.sandbox(self.token, "git", "-c", f"http.proxy=http://{login}@127.0.0.1:{port}", "ls-remote", url, env=env)
                self.assertEqual(b"refs/heads/main" in result.out, works, result.text()[-2000:])
                self.assertTrue(works or b"407" in result.err)

    def test_wrong_tokens_are_407_each_time_and_cannot_fill_the_ledger_B77(self):
        w = self.world
        authority = w.url("api.test").split("/")[2]
        before, started = len(w.json("audit", "list", "--limit", "10000")), time.monotonic()
        for _ in range(300):
            channel, answer = connect(w.broker.ports["proxy"], authority, "cbt_v4.public.AAAA")
            channel.close()
            self.assertEqual(answer.status, 407, answer)
        most = 60 + 5 * (time.monotonic() - started) + 1  # a burst, then 300 a minute
        self.assertLessEqual(len(w.json("audit", "list", "--limit", "10000")) - before, most, "records of strangers are bounded")

    def test_plain_http_in_absolute_form_needs_a_rule(self):
        result = self.world.sandbox(self.token, "curl", "-sS", "-o", "/dev/stdout", "-w", "%{http_code}", f"http://api.test:{self.world.git.port}/v1/items")
        self.assertTrue(result.out.endswith(b"403"), result.text())
        self.assertIn(b'"code":%d' % harness.CODES["plain_http_not_allowed"], result.out)

    def test_every_variable_is_set_in_both_cases(self):
        variables = self.world.environment(self.token)
        for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
            self.assertEqual(variables[name], variables[name.upper()])
        for name in ("GIT_SSL_CAINFO", "SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "npm_config_cafile", "CARGO_HTTP_CAINFO",
                     "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "AWS_CA_BUNDLE"):
            self.assertEqual(variables[name], variables["SSL_CERT_FILE"], name)
        self.assertTrue(variables["NODE_EXTRA_CA_CERTS"])
        self.assertNotIn(API_SECRET, json.dumps(variables))

    def test_git_credential_helper_answers_for_our_hosts_only(self):
        w = self.world
        good = w.cli("git-credential", "get", token=self.token, input=f"protocol=https\nhost={w.url('git.test').split('/')[2]}\n\n".encode())
        self.assertIn(f"password={self.token}".encode(), good.out)
        other = w.cli("git-credential", "get", token=self.token, input=b"protocol=https\nhost=evil.test\n\n", check=False)
        self.assertNotIn(b"password", other.out)
        bad = w.cli("git-credential", "get", token=self.token, input=b"protocol=https\nhost=git.test\rpath=x\n\n", check=False)
        self.assertNotIn(b"password", bad.out)


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    harness.main()
