"""No real credential reaches a sandbox, a log, a disk or a process list (S12, S23; B5, B9, B11, B13, B15, B101)."""
import base64
import gzip
import json
import pathlib
import unittest

import harness
from client import Channel, basic, connect, tunnel
from harness import API_SECRET, ECHO_SECRET, GIT_SECRET, Case


class Echoes(Case):
    """An upstream that gives back what it got."""

    def setUp(self):
        self.session, self.token = self.world.open_session()
        self.host = self.world.url("echo.test").split("/")[2]

    def ask(self, path, method="GET", headers=(), body=b"", twice=True):
        with tunnel(self.world, self.token, "echo.test") as channel:
            answer = channel.request(method, path, self.host, headers, body)
            if twice and answer.status < 400 and "close" not in "".join(answer.get("connection")).lower():
                again = channel.request("GET", "/open/again", self.host)
                self.assertEqual(again.status, 200, again)
            self.world.received.append(channel.raw)
            self.assertNoSecret(channel.raw, f"the answer to {path}")
            return answer

    def test_the_upstream_did_get_it(self):
        self.ask("/open/control")
        self.assertIn(ECHO_SECRET, "".join(self.world.raw.seen("/open/control")[-1].get("authorization")))

    def test_fixed_length_echo_ends_at_once_B9(self):
        answer = self.ask("/open/echo")
        self.assertNotIn(ECHO_SECRET.encode(), answer.body)
        self.assertIn(b"/open/echo", answer.body)

    def test_the_secret_in_pieces_B11(self):
        secret = ECHO_SECRET.encode()

        def chunk(data):
            return b"%x\r\n%s\r\n" % (len(data), data)

        def bytewise(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for byte in secret + b" tail":
                exchange.send(chunk(bytes([byte])))
            exchange.send(b"0\r\n\r\n")

        def halves(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\nhead %s" % (len(secret) + 10, secret[:9]))
            exchange.send(secret[9:] + b" tail")

        def until_close(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + secret[:5])
            exchange.send(secret[5:] + b" tail")
            return False
        for name, handler in (("bytes", bytewise), ("halves", halves), ("close", until_close)):
            with self.subTest(name):
                self.world.raw.on[f"/open/{name}"] = handler
                answer = self.ask(f"/open/{name}")
                self.assertTrue(answer.status >= 500 or b"tail" in answer.body, answer)

    def test_encoded_forms(self):
        for name, form in harness.forms_of(ECHO_SECRET).items():
            whole = base64.b64encode(b"x" * int(name[-1]) + ECHO_SECRET.encode()) if name.startswith("base64") else form
            with self.subTest(name):
                self.world.raw.on["/open/form"] = lambda e, whole=whole: e.reply("200 OK", b"before " + whole + b" after")
                with tunnel(self.world, self.token, "echo.test") as channel:
                    channel.request("GET", "/open/form", self.host)
                    self.assertNotIn(form, channel.raw)

    def test_compressed_echo(self):
        body = gzip.compress(b"it is " + ECHO_SECRET.encode() + b" then")
        self.world.raw.on["/open/gzip"] = lambda e: e.reply("200 OK", body, [("Content-Encoding", "gzip")])
        answer = self.ask("/open/gzip", headers=["Accept-Encoding: gzip"])
        if answer.status == 200:
            text = gzip.decompress(answer.body) if answer.get("content-encoding") == ["gzip"] else answer.body
            self.assertNoSecret(text, "the unpacked answer")
        self.world.raw.on["/open/br"] = lambda e: e.reply("200 OK", b"\x0b\x02\x80abc\x03", [("Content-Encoding", "br")])
        self.assertNotEqual(self.ask("/open/br", headers=["Accept-Encoding: br"]).status, 200)

    def test_headers_errors_and_redirects_B5(self):
        secret = ECHO_SECRET
        cases = {"header": lambda e: e.reply("200 OK", b"x", [("X-Echo", "Bearer " + secret)]),
                 "cookie": lambda e: e.reply("200 OK", b"x", [("Set-Cookie", f"s={secret}; Path=/")]),
                 "error": lambda e: e.reply("500 Oops", json.dumps({"got": secret}).encode()),
                 "redirect": lambda e: e.reply("302 Found", b"", [("Location", f"https://blob.test/x?key={secret}")]),
                 "reason": lambda e: e.send(f"HTTP/1.1 200 OK {secret}\r\nContent-Length: 0\r\n\r\n".encode()),
                 "head": lambda e: e.send(f"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-Echo: {secret}\r\n\r\n".encode())}
        for name, handler in cases.items():
            with self.subTest(name):
                self.world.raw.on[f"/open/{name}"] = handler
                self.ask(f"/open/{name}", method="HEAD" if name == "head" else "GET", twice=name != "reason")

    def test_a_redirect_is_given_to_the_client_and_not_followed_B5(self):
        port = self.world.raw.port
        self.world.raw.on["/open/away"] = lambda e: e.reply("302 Found", b"", [("Location", f"https://unlisted.test:{port}/x?sig=1")])
        answer = self.ask("/open/away")
        self.assertEqual(answer.status, 302)
        self.assertTrue(answer.get("location")[0].startswith("https://unlisted.test"))
        channel, refused = connect(self.world.broker.ports["proxy"], f"unlisted.test:{port}", self.token)
        self.assertEqual(refused.status, 403)
        channel.close()
        self.assertFalse([r for r in self.world.raw.requests if "unlisted.test" in "".join(r.get("host"))])

    def test_the_token_is_exchanged_only_in_the_granted_place_B15(self):
        w, token = self.world, self.token
        places = {"query": dict(path=f"/open/q?t={token}"), "cookie": dict(headers=[f"Cookie: s={token}"]),
                  "referer": dict(headers=[f"Referer: https://x.test/{token}"]), "agent": dict(headers=[f"User-Agent: {token}"]),
                  "body": dict(method="POST", body=token.encode()), "path": dict(path=f"/open/{token}")}
        for name, how in places.items():
            with self.subTest(name):
                before = len(w.raw.requests)
                self.ask(how.get("path", f"/open/place-{name}"), how.get("method", "GET"), how.get("headers", ()), how.get("body", b""), twice=False)
                for request in w.raw.requests[before:]:
                    outside = request.body + "\r\n".join(f"{k}: {v}" for k, v in request.headers if k.lower() != "authorization").encode() + request.target.encode()
                    self.assertNotIn(ECHO_SECRET.encode(), outside)
                    if name != "body":
                        self.assertNotIn(token.encode(), outside, "the token itself went upstream")

    def test_basic_forms_are_understood_on_the_host_B13(self):
        w = self.world
        gateway = w.broker.ports["gateway"]
        encoded = base64.b64encode(f"x-access-token:{self.token}".encode()).decode()
        for login in (f"Basic {encoded}", basic(self.token, ""), f"basic {encoded}", f"Basic {encoded.rstrip('=')}", f"token {self.token}", f"Bearer {self.token}"):
            with Channel(gateway) as channel:
                answer = channel.request("GET", f"/{self.host}/open/basic", f"127.0.0.1:{gateway}", [f"Authorization: {login}"])
                self.assertEqual(answer.status, 200, (login[:10], answer))
            self.assertEqual(w.raw.seen("/open/basic")[-1].get("authorization"), [f"Bearer {ECHO_SECRET}"])
        for login in ("Basic !!!", "Basic", "Digest x", "Bearer"):
            with Channel(gateway) as channel:
                answer = channel.request("GET", f"/{self.host}/open/no", f"127.0.0.1:{gateway}", [f"Authorization: {login}"])
                self.assertIn(answer.status, (400, 401), (login, answer))
        self.assertFalse(w.raw.seen("/open/no"))

    def test_foreign_credentials_do_not_ride_along_S71(self):
        w = self.world
        for name, header in (("api-key", "X-Api-Key: mine-0001"), ("private", "PRIVATE-TOKEN: mine-0001"), ("auth", "Authorization: Bearer mine-0001"),
                             ("cookie", "Cookie: session=mine-0001")):
            with self.subTest(name):
                self.ask("/open/foreign-" + name, headers=[header], twice=False)
                for request in w.raw.seen("/open/foreign-" + name):
                    self.assertNotIn(b"mine-0001", request.head)
        self.ask("/open/foreign-query?access_token=mine-0001", twice=False)
        for request in w.raw.seen("/open/foreign-query"):
            self.assertNotIn(b"mine-0001", request.head)


class Everywhere(Case):
    """One busy session, then a search of every place that could hold a secret."""

    def test_nothing_that_is_kept_or_shown_holds_a_credential_B101(self):
        w = self.world
        session, token = w.open_session()
        host = w.url("echo.test").split("/")[2]
        canary = "query-c4n4ry-value"
        with tunnel(w, token, "echo.test") as channel:
            for path in ("/open/a", f"/open/b?access=1&page={canary}", "/closed/c"):
                channel.request("GET", path, host, ["Referer: https://x.test/?t=" + canary, "User-Agent: " + canary])
            channel.request("POST", "/open/d", host, body=b"body " + canary.encode())
            w.received.append(channel.raw)
        work = w.home / "w"
        self.assertEqual(w.sandbox(token, "git", "clone", "-q", w.url("git.test", "/acme/web.git"), work).code, 0)
        w.sandbox(token, "curl", "-sv", w.url("api.test", "/v1/items"))
        w.sandbox(token, "env")
        w.json("audit", "list", "--limit", "1000")

        self.assertNoSecret(b"\n".join(w.received), "what the sandbox got")
        self.assertNoSecret(w.broker.log.read_bytes(), "the log")
        self.assertNotIn(canary.encode(), w.broker.log.read_bytes())
        self.assertNotIn(token.encode(), w.broker.log.read_bytes())
        seen = 0
        for file in pathlib.Path(w.broker.folder).rglob("*"):
            if file.is_file():
                data, seen = file.read_bytes(), seen + 1
                self.assertNoSecret(data, file)
                self.assertNotIn(canary.encode(), data, file)
                self.assertNotIn(token.encode(), data, file)
        self.assertGreater(seen, 3)
        for pid in [w.broker.process.pid, w.broker.edge_pid()]:
            for name in ("cmdline", "environ"):
                self.assertNoSecret(pathlib.Path(f"/proc/{pid}/{name}").read_bytes(), f"/proc/{pid}/{name}")
        with Channel(w.broker.ports["health"]) as channel:
            metrics = channel.request("GET", "/metrics", "health.test").body
        self.assertNoSecret(metrics, "the metrics")
        self.assertNotIn(token.encode(), metrics)

    def test_the_search_would_find_them(self):
        for secret in (GIT_SECRET, API_SECRET, ECHO_SECRET):
            for form in harness.forms_of(secret).values():
                self.assertTrue(harness.find_secrets(b"xx" + form + b"yy", [secret]))

    def test_core_dumps_are_off_and_memory_is_private(self):
        for pid in (self.world.broker.process.pid, self.world.broker.edge_pid()):
            limits = pathlib.Path(f"/proc/{pid}/limits").read_text()
            line = next(l for l in limits.splitlines() if l.startswith("Max core file size"))
            self.assertEqual(line.split()[4:6], ["0", "0"], line)

    def test_files_are_private(self):
        for path in pathlib.Path(self.world.broker.folder).rglob("*"):
            mode = path.lstat().st_mode & 0o777
            inside = path.relative_to(self.world.broker.folder).as_posix()
            if inside in ("run", "run/api.sock", "pki", "pki/ca.pem", "edge", "edge/edge.json"):
                continue
            self.assertEqual(mode & 0o077 & ~0o011, 0, f"{inside} has mode {mode:o}")

    def test_no_call_gives_a_secret_back(self):
        w = self.world
        text = w.cli("secret", "list", "--output", "json").out + w.cli("secret", "list").out + w.cli("policy", "get").out + w.cli("status").out
        self.assertNoSecret(text, "admin answers")
        self.assertEqual(w.cli("secret", "get", "git-bot", check=False).code, 2)


if __name__ == "__main__":
    harness.main()
