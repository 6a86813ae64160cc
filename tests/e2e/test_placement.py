"""A credential goes where it is granted and nowhere else; nobody else's goes with it (B1, B3, B5, B7, B13, B15, B17, B33; issue 3.3)."""
import base64
import re
import threading
import unittest
import urllib.parse

import harness
from client import Channel, basic, connect, tunnel
from harness import SOURCE, Case
from upstream import RawUpstream

SECRET = "pl4ce-" + "S3cret.value~0123456789"
FOREIGN = "mine-0001-" + "f0reign"
POLICY = """
apiVersion: credbroker/v1
services:
  basic: {hosts: ["basic.test:@RAW@"], addresses: [127.0.0.0/8], upstream_ca: ca.pem}
  bearer: {hosts: ["bearer.test:@RAW@", "*.wild.test:@RAW@"], addresses: [127.0.0.0/8], upstream_ca: ca.pem}
  custom: {hosts: ["custom.test:@RAW@"], addresses: [127.0.0.0/8], upstream_ca: ca.pem}
  query: {hosts: ["query.test:@RAW@"], addresses: [127.0.0.0/8], upstream_ca: ca.pem}
  cookie: {hosts: ["cookie.test:@RAW@"], addresses: [127.0.0.0/8], upstream_ca: ca.pem}
  plain: {hosts: ["plain.test:@PLAIN@"], addresses: [127.0.0.0/8], plain_http: allow}
credentials:
  basic: {service: basic, provider: static, secret: secret:place, place: {basic: {username: bot}}}
  bearer: {service: bearer, provider: static, secret: secret:place, placeholder_env: [BEARER_KEY], place: {header: {name: authorization, prefix: "Bearer "}}}
  custom: {service: custom, provider: static, secret: secret:place, place: {header: {name: x-corp-login}}}
  query: {service: query, provider: static, secret: secret:place, place: {query: {name: key}}}
  cookie: {service: cookie, provider: static, secret: secret:place, place: {cookie: {name: sid}}}
  plain: {service: plain, provider: static, secret: secret:place, place: {header: {name: authorization, prefix: "Bearer "}}}
scopes:
  web-agent:
    requesters: [team-web]
    endpoints:
      - {service: basic, credential: basic, allow: [{methods: [GET, HEAD, POST, PUT], path: /**}]}
      - {service: bearer, credential: bearer, allow: [{methods: [GET, HEAD, POST, PUT], path: /**}]}
      - {service: custom, credential: custom, allow: [{methods: [GET, HEAD, POST, PUT], path: /**}]}
      - {service: query, credential: query, allow: [{methods: [GET, HEAD, POST, PUT], path: /**}]}
      - {service: cookie, credential: cookie, allow: [{methods: [GET, HEAD, POST, PUT], path: /**}]}
      - {service: plain, credential: plain, allow: [{methods: [GET], path: /ok/**}]}
    egress:
      - {hosts: ["free.test:@RAW@"], methods: [GET, POST], addresses: [127.0.0.0/8], upstream_ca: ca.pem}
"""
MANAGED = ("basic", "bearer", "custom", "query", "cookie")
PLACES = {  # what the upstream sees, and where
    "basic": ("authorization", "Basic " + base64.b64encode(f"bot:{SECRET}".encode()).decode()),
    "bearer": ("authorization", "Bearer " + SECRET),
    "custom": ("x-corp-login", SECRET),
    "cookie": ("cookie", "sid=" + SECRET),
}


def listed(name):
    """A list of names in the edge's source, so that a name added there is tried here."""
    text = (SOURCE / "broker/wire/hop.cc").read_text()
    return re.findall(r'"([^"]+)"', re.search(name + r"\[\] = \{(.*?)\};", text, re.S)[1])


class Places(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain = RawUpstream()
        cls.world.secrets.append(SECRET)
        cls.world.cli("secret", "put", "place", input=SECRET.encode())
        cls.world.apply(POLICY.replace("@RAW@", str(cls.world.raw.port)).replace("@PLAIN@", str(cls.plain.port)))

    @classmethod
    def tearDownClass(cls):
        cls.plain.close()
        super().tearDownClass()

    def setUp(self):
        self.session, self.token = self.world.open_session()

    def host(self, service):
        return self.world.url(service + ".test").split("/")[2]

    def open(self, service):
        return tunnel(self.world, self.token, service + ".test")

    def ask(self, service, target="/x", headers=(), method="GET", body=b""):
        """Through the proxy: (answer, what the upstream saw or None)."""
        before = len(self.world.raw.requests)
        with self.open(service) as channel:
            answer = channel.request(method, target, self.host(service), headers, body)
            self.assertNoSecret(channel.raw, f"an answer of {service}")
        return answer, (self.world.raw.requests[before:] or [None])[0]

    def by_gateway(self, service, headers, target="/x"):
        before = len(self.world.raw.requests)
        with Channel(self.world.broker.ports["gateway"]) as channel:
            answer = channel.request("GET", f"/{self.host(service)}{target}", "127.0.0.1:1", headers)
        return answer, (self.world.raw.requests[before:] or [None])[0]

    def assertPlaced(self, service, seen):
        """The secret once, in its place; neither our token nor a second value beside it."""
        self.assertIsNotNone(seen, service)
        if service == "query":
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(seen.target).query)
            self.assertEqual(query["key"], [SECRET])
        else:
            name, value = PLACES[service]
            self.assertEqual(seen.get(name), [value])
        rest = [(k, v) for k, v in seen.headers if service == "query" or k.lower() != PLACES[service][0]]
        self.assertEqual(harness.find_secrets(repr(rest).encode(), [SECRET]), [])
        self.assertNotIn(b"cbt_", seen.head)
        self.assertNotIn(FOREIGN.encode(), seen.head)


class Slots(Places):
    def test_the_credential_stands_in_its_place_only_B13_B15(self):
        for service in MANAGED:
            with self.subTest(service):
                answer, seen = self.ask(service, "/x?page=2")
                self.assertEqual(answer.status, 200, answer)
                self.assertPlaced(service, seen)
                self.assertIn("page=2", seen.target)

    def test_the_token_is_taken_from_every_common_place_B13(self):
        for service in MANAGED:
            for login in (f"Authorization: {basic('x-access-token', self.token)}", f"Authorization: {basic(self.token, '')}", f"Authorization: Bearer {self.token}",
                          f"Authorization: token {self.token}", f"X-Api-Key: {self.token}", f"PRIVATE-TOKEN: {self.token}"):
                with self.subTest(service, login=login[:24]):
                    answer, seen = self.by_gateway(service, [login])
                    self.assertEqual(answer.status, 200, answer)
                    self.assertPlaced(service, seen)

    def test_the_token_is_taken_from_the_place_of_the_service(self):
        for service, headers, target in (("custom", [f"X-Corp-Login: {self.token}"], "/x"), ("query", [], f"/x?key={self.token}"),
                                         ("cookie", [f"Cookie: sid={self.token}"], "/x")):
            with self.subTest(service):
                answer, seen = self.by_gateway(service, headers, target)
                self.assertEqual(answer.status, 200, answer)
                self.assertPlaced(service, seen)

    def test_malformed_logins_are_refused_with_a_challenge_B13(self):
        for login in ("Basic !!!", "Basic", "Basic " + base64.b64encode(b"no colon").decode(), "Basic " + base64.b64encode(f"x:{self.token}\r\nX-Evil: 1".encode()).decode(),
                      "Basic " + base64.b64encode(b"x:cbt_\0").decode(), "Bearer", "Digest x", f"Bearer {self.token}%0d%0a", f"Bearer {self.token[:-1]}"):
            with self.subTest(login[:20]):
                answer, seen = self.by_gateway("basic", [f"Authorization: {login}"])
                self.assertIn(answer.status, (400, 401), answer)
                self.assertTrue(answer.status == 400 or answer.get("www-authenticate"), answer)
                self.assertIsNone(seen)

    def test_a_token_in_another_place_is_refused_or_stays_a_token_B15(self):
        w = self.world
        for service in MANAGED:
            for name, how in {"query": dict(target=f"/x?t={self.token}"), "path": dict(target=f"/{self.token}"), "referer": dict(headers=[f"Referer: https://x.test/{self.token}"]),
                              "agent": dict(headers=[f"User-Agent: a {self.token}"]), "other": dict(headers=[f"X-Any: {self.token}"])}.items():
                with self.subTest(service, place=name):
                    answer, seen = self.ask(service, **how)
                    self.assertRefused(answer, 403, "token_misplaced")
                    self.assertIsNone(seen)
            for name, how in {"body": dict(method="POST", body=f'{{"t":"{self.token}"}}'.encode()), "cookie": dict(headers=[f"Cookie: other={self.token}"])}.items():
                with self.subTest(service, place=name):
                    answer, seen = self.ask(service, **how)
                    if answer.status == 200:
                        self.assertPlaced(service, seen)
                        self.assertNotIn(SECRET.encode(), seen.body)
        self.assertTrue(w.records(self.session, kind="deny"))

    def rotate(self, value):
        """Puts another value in place and waits until it is what an upstream gets."""
        secret = value.rstrip(b"\r\n").decode()
        self.world.cli("secret", "rotate", "place", input=value)
        if secret not in self.world.secrets:
            self.world.secrets.append(secret)
        harness.wait_until("the new value is in use", lambda: self.ask("bearer")[1].get("authorization") == ["Bearer " + secret])
        return secret

    def test_a_trailing_line_end_is_not_part_of_a_secret_B17(self):
        self.addCleanup(self.rotate, SECRET.encode())
        for end in (b"\n", b"\r\n"):
            secret = self.rotate(b"tr4iling-" + str(len(end)).encode() + b"-0123456789abcdef" + end)
            answer, seen = self.ask("custom")
            self.assertEqual((answer.status, seen.get("x-corp-login")), (200, [secret]))
        for value in (b"\n", b"\r\n", b"x12345\r\nX-Evil: 1", b"x12345\ny\n", b"x12345\0", b"\x1b[2J12345"):
            refused = self.world.cli("secret", "rotate", "place", input=value, check=False)
            self.assertEqual((refused.code, "5004" in refused.text()), (1, True), refused.text())
        self.assertEqual(self.ask("custom")[1].get("x-corp-login"), [secret], "a refused value changed something")

    def test_long_credentials_pass_every_layer_and_come_back_covered_GitHub_2026(self):
        self.addCleanup(self.rotate, SECRET.encode())
        for size in (40, 520, 1000, 4000):
            secret = self.rotate(("ghs_" + "aB3.dE5-fG7_hI9~" * 260)[:size - 4].encode() + b"%04d" % size)
            for service in ("bearer", "query", "cookie", "basic"):
                with self.subTest(service, size=size):
                    answer, seen = self.ask(service, "/long")
                    self.assertEqual(answer.status, 200, answer)
                    self.assertTrue(harness.find_secrets(seen.head, [secret]), "the upstream did not get it")


class Foreign(Places):
    """Nobody else's credential rides along (CVE-2026-105452 of a sandbox proxy; the whole list of names, at each kind of place)."""

    def test_every_credential_header_is_removed_CVE_2026_105452(self):
        names = [n for n in listed("kCredentialHeaders") if n not in ("authorization", "proxy-authorization")]
        self.assertGreater(len(names), 50)
        for service in MANAGED:
            with self.open(service) as channel:
                for name in names:
                    answer = channel.request("GET", f"/foreign/{name}", self.host(service), [f"{name.title()}: {FOREIGN}"])
                    if answer.status != 200:
                        self.assertRefused(answer, 403, "foreign_credential")
            for seen in [r for r in self.world.raw.requests if r.path.startswith("/foreign/")]:
                self.assertPlaced(service, seen)
            self.world.raw.requests.clear()

    def test_a_foreign_login_is_replaced_or_refused(self):
        for service in MANAGED:
            for value in (f"Bearer {FOREIGN}", basic("x", FOREIGN), f"token {FOREIGN}", f"Negotiate {FOREIGN}", f"AWS4-HMAC-SHA256 Credential={FOREIGN}"):
                with self.subTest(service, value=value[:8]):
                    answer, seen = self.ask(service, headers=[f"Authorization: {value}"])
                    if seen:
                        self.assertPlaced(service, seen)
                    else:
                        self.assertIn(answer.status, (400, 401, 403), answer)

    def test_the_granted_place_itself_takes_no_foreign_value_CVE_2026_105452(self):
        """A header of the service's own, in no list of ours: the client's value must not stand beside the granted one."""
        for name in ("X-Corp-Login", "x-corp-login", "X_Corp_Login", "X-Corp_Login"):
            with self.subTest(name):
                answer, seen = self.ask("custom", headers=[f"{name}: {FOREIGN}"])
                if seen:
                    self.assertPlaced("custom", seen)
                else:
                    self.assertIn(answer.status, (400, 403), answer)

    def test_the_granted_parameter_takes_no_foreign_value(self):
        for target in (f"/x?key={FOREIGN}", f"/x?a=1&key={FOREIGN}&b=2", f"/x?k%65y={FOREIGN}", f"/x?key={FOREIGN}&key=again", f"/x?key"):
            with self.subTest(target):
                answer, seen = self.ask("query", target)
                if seen:
                    self.assertPlaced("query", seen)
                else:
                    self.assertIn(answer.status, (400, 403), answer)

    def test_the_granted_cookie_takes_no_foreign_value(self):
        for header in (f"Cookie: sid={FOREIGN}", f"Cookie: a=b; sid={FOREIGN}; sid={FOREIGN}", f'Cookie: $Version=1; sid="{FOREIGN}"'):
            answer, seen = self.ask("cookie", headers=[header])
            self.assertEqual(answer.status, 200, answer)
            self.assertPlaced("cookie", seen)

    def test_every_credential_parameter_is_refused(self):
        names = listed("kCredentialQueries")
        self.assertGreater(len(names), 30)
        for service in MANAGED:
            before = len(self.world.raw.requests)
            with self.open(service) as channel:
                for name in names:
                    if (service, name) != ("query", "key"):
                        self.assertRefused(channel.request("GET", f"/x?a=1&{name.upper()}={FOREIGN}", self.host(service)), 403, "foreign_credential")
            self.assertEqual(len(self.world.raw.requests), before)

    def test_user_info_is_refused(self):
        for target in (f"https://me:{FOREIGN}@bearer.test:{self.world.raw.port}/x", f"https://me@bearer.test:{self.world.raw.port}/x"):
            answer, seen = self.ask("bearer", target)
            self.assertRefused(answer, 400, "bad_host")
            self.assertIsNone(seen)

    def test_fields_about_the_way_are_no_input_and_do_not_go_on_CVE_2026_40575(self):
        names = listed("kForwarding") + ["x-forwarded-for", "x-forwarded-host", "x-forwarded-uri", "x-forwarded-proto", "x-forwarded-prefix"]
        with self.open("bearer") as channel:
            for name in names:
                self.assertEqual(channel.request("GET", f"/way/{name}", self.host("bearer"), [f"{name}: evil.test"]).status, 200, name)
        for seen in [r for r in self.world.raw.requests if r.path.startswith("/way/")]:
            self.assertNotIn(b"evil.test", seen.head)
            self.assertEqual(seen.get("host"), [self.host("bearer")])

    def test_our_own_names_from_outside_change_nothing_CVE_2023_27487(self):
        _, seen = self.ask("bearer", headers=["X-Credbroker-Session: s-1", "X-Request-Id: r-1", "X-Original-Method: POST", "X-HTTP-Method-Override: DELETE"])
        self.assertPlaced("bearer", seen)
        self.assertEqual((seen.method, seen.get("x-http-method-override"), seen.get("x-original-method")), ("GET", [], []))

    def test_no_field_stands_in_for_a_token_CVE_2026_34457(self):
        for header in ("User-Agent: GoogleHC/1.0", "User-Agent: kube-probe/1.29", "X-Forwarded-Uri: /healthz", "X-Auth-Request-Redirect: /ok", "Authorization: Bearer x",
                       "Cookie: _oauth2_proxy=1", f"X-Forwarded-User: {self.session}"):
            with self.subTest(header):
                answer, seen = self.by_gateway("bearer", [header])
                self.assertEqual((answer.status, seen), (401, None), answer)


class Elsewhere(Places):
    """Hosts without a credential, redirects, plain text."""

    def test_the_token_never_reaches_a_host_without_a_credential_B5_B15(self):
        for header in (f"Authorization: Bearer {self.token}", f"Authorization: {basic('x', self.token)}", f"Authorization: {basic(self.token, '')}", f"X-Api-Key: {self.token}",
                       f"Cookie: s={self.token}", f"Proxy-Authorization: {basic('x', self.token)}", f"PRIVATE-TOKEN: {self.token}"):
            with self.subTest(header[:24]):
                answer, seen = self.ask("free", "/signed?sig=1&X-Amz-Signature=2", [header, "X-Kept: 1"])
                self.assertEqual(answer.status, 200, answer)
                self.assertEqual((seen.target, seen.get("x-kept")), ("/signed?sig=1&X-Amz-Signature=2", ["1"]))
                self.assertNotIn(b"cbt_", seen.head)
                self.assertEqual([seen.get("authorization"), seen.get("proxy-authorization")], [[], []], "also in base64")

    def test_a_placeholder_never_leaves(self):
        environment = self.world.environment(self.token)
        placeholder = environment["BEARER_KEY"]
        self.assertTrue(placeholder.startswith("cbp_credbroker"), placeholder)
        for header in (f"Authorization: Bearer {placeholder}", f"Authorization: {basic('x', placeholder)}", f"X-Api-Key: {placeholder}"):
            with self.subTest(header[:24]):
                answer, seen = self.ask("free", "/x", [header])
                self.assertTrue(seen is None or (placeholder.encode() not in seen.head and seen.get("authorization") == []), seen and seen.head)

    def test_a_redirect_is_never_followed_and_carries_nothing_B5_CVE_2018_1000007(self):
        w = self.world
        for number, location in enumerate((w.url("free.test", "/stolen"), w.url("bearer.test", "/stolen"), "http://free.test:1/stolen", "/stolen", "//evil.test/stolen")):
            path = f"/away{number}"
            w.raw.on[path] = lambda e, location=location: e.reply("302 Found", b"", [("Location", location)])
            answer, _ = self.ask("bearer", path)
            self.assertEqual((answer.status, answer.get("location")), (302, [location]))
        self.assertFalse(w.raw.seen("/stolen"))
        answer, seen = self.ask("free", "/stolen", [f"Authorization: Bearer {self.token}"])  # a client that follows and repeats its login
        self.assertEqual((answer.status, seen.get("authorization")), (200, []))

    def test_lookalikes_of_granted_names_B7(self):
        port = self.world.raw.port
        for host, allowed in (("bearer.test", True), ("BEARER.Test", True), ("bearer.test.", True), ("a.wild.test", True), ("A.B.wild.test", True), ("wild.test", False),
                              ("notwild.test", False), ("xbearer.test", False), ("bearer.test.evil.test", False), ("sub.bearer.test", False), ("bearer.tes", False),
                              ("bearer-test", False), ("b%65arer.test", False)):
            with self.subTest(host):
                channel, answer = connect(self.world.broker.ports["proxy"], f"{host}:{port}", self.token)
                channel.close()
                self.assertEqual(answer.status, 200 if allowed else 400 if "%" in host else 403, answer)
        self.assertEqual(self.ask("a.wild", "/x")[0].status, 200)
        self.assertPlaced("bearer", self.world.raw.requests[-1])

    def test_plain_http_by_every_way_has_one_decision_B33(self):
        w, plain = self.world, self.plain
        host = f"plain.test:{plain.port}"
        login = f"Proxy-Authorization: {basic('x', self.token)}"
        for path, status in (("/ok/1", 200), ("/no/1", 403)):
            before = len(plain.requests)
            with Channel(w.broker.ports["proxy"]) as channel:
                self.assertEqual(channel.request("GET", f"http://{host}{path}", host, [login, "Connection: close, X-Foo", "X-Foo: 1", "Proxy-Connection: close"]).status, status)
            channel, answer = connect(w.broker.ports["proxy"], host, self.token)
            self.assertEqual(answer.status, 200)
            self.assertEqual(channel.request("GET", path, host).status, status)
            channel.close()
            with self.subTest("POST is refused by both"), Channel(w.broker.ports["proxy"]) as channel:
                self.assertEqual(channel.request("POST", f"http://{host}{path}", host, [login], b"x").status, 403)
            for seen in plain.requests[before:]:
                self.assertEqual((seen.get("authorization"), seen.target, seen.get("host")), ([f"Bearer {SECRET}"], path, [host]))
                for name in ("proxy-authorization", "proxy-connection", "x-foo"):
                    self.assertEqual(seen.get(name), [], f"{name} (B3)")
            self.assertEqual(len(plain.requests) - before, 2 if status == 200 else 0)
        # The same host without leave for plain text: refused before any secret is looked up.
        with Channel(w.broker.ports["proxy"]) as channel:
            answer = channel.request("GET", f"http://{self.host('bearer')}/x", self.host("bearer"), [login])
            self.assertRefused(answer, 403, "plain_http_not_allowed")
        decisions = {(r["kind"], r["path"], r["rule"]) for r in w.records(self.session) if r["host"] == "plain.test" and r["method"] == "GET"}
        self.assertEqual(len([d for d in decisions if d[0] == "intent"]), 1, decisions)
        self.assertEqual(len([d for d in decisions if d[0] == "deny"]), 1, decisions)

    def test_the_three_names_of_a_request_must_agree_B1(self):
        w = self.world
        before = len(w.raw.requests)
        with tunnel(w, self.token, "free.test") as channel:  # its own server's tunnel, a managed host's name inside
            self.assertRefused(channel.request("GET", "/x", self.host("bearer"), [f"Authorization: Bearer {self.token}"]), 421, "misdirected")
        with tunnel(w, self.token, "free.test") as channel:
            self.assertRefused(channel.request("GET", w.url("bearer.test", "/x"), self.host("bearer")), 421, "misdirected")
        with tunnel(w, self.token, "free.test") as channel:
            self.assertRefused(channel.request("GET", w.url("bearer.test", "/x"), self.host("free")), 421, "misdirected")
        with Channel(w.broker.ports["proxy"]) as channel:
            self.assertRefused(channel.request("GET", f"http://{self.host('free')}/x", self.host("bearer"), [f"Proxy-Authorization: {basic('x', self.token)}"]), 421, "misdirected")
        with Channel(w.broker.ports["proxy"]) as channel:
            channel.send(f"CONNECT {self.host('free')} HTTP/1.1\r\nHost: {self.host('bearer')}\r\nProxy-Authorization: {basic('x', self.token)}\r\n\r\n")
            self.assertRefused(channel.read(), 421, "misdirected")
        self.assertEqual(len(w.raw.requests), before)
        self.assertEqual(len(w.records(self.session, kind="deny")), 5)

    def test_the_login_and_the_inner_token_belong_to_one_session(self):
        _, other = self.world.open_session()
        answer, seen = self.ask("bearer", headers=[f"Authorization: Bearer {other}"])
        self.assertRefused(answer, 403, "token_mismatch")
        self.assertIsNone(seen)
        answer, seen = self.ask("bearer", headers=[f"Authorization: Bearer {self.token}", f"X-Api-Key: {other}"])
        self.assertRefused(answer, 400, "ambiguous_token")
        self.assertIsNone(seen)


class Answers(Places):
    """What comes back (B9, B11, CVE-2026-101998)."""

    def test_fields_about_the_credential_are_removed(self):
        told = ["Set-Cookie", "X-OAuth-Scopes", "X-Accepted-OAuth-Scopes", "X-OAuth-Client-Id", "GitHub-Authentication-Token-Expiration", "Authentication-Info"]
        self.world.raw.on["/telling"] = lambda e: e.reply("200 OK", b"x", [(name, "v") for name in told] + [("X-Kept", "1")])
        answer, _ = self.ask("bearer", "/telling")
        self.assertEqual({name.lower() for name, _ in answer.headers} & {name.lower() for name in told}, set())
        self.assertEqual(answer.get("x-kept"), ["1"])

    def test_an_answer_cut_at_any_byte_of_the_secret_shows_nothing_CVE_2026_101998(self):
        secret = SECRET.encode()

        def answer(cut, framing, ending):
            body = b"it is " + secret[:cut]
            heads = {"length": b"Content-Length: 4000\r\n\r\n" + body, "chunked": b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n" % (len(body), body),
                     "open chunk": b"Transfer-Encoding: chunked\r\n\r\n400\r\n" + body, "close": b"Connection: close\r\n\r\n" + body}

            def send(exchange):
                exchange.send(b"HTTP/1.1 200 OK\r\n" + heads[framing])
                if ending == "cut":
                    raise EOFError
                return False
            return send
        tried = 0
        for framing in ("length", "chunked", "open chunk", "close"):
            for ending in ("proper", "cut"):
                for cut in range(8, len(secret) + 1):
                    tried += 1
                    self.world.raw.on["/cut"] = answer(cut, framing, ending)
                    with Channel(self.world.broker.ports["gateway"]) as channel:
                        channel.send(f"GET /{self.host('bearer')}/cut HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAuthorization: Bearer {self.token}\r\n\r\n")
                        channel.closed() if framing != "close" or ending == "cut" else channel.read()
                        self.assertNotIn(secret[:8], channel.raw, f"{framing}, {ending}, after {cut} bytes")
        seen = self.world.raw.seen("/cut")
        self.assertEqual([r.get("authorization") for r in seen], [["Bearer " + SECRET]] * tried, "each had the credential")

    def test_no_telling_part_goes_out_while_the_rest_is_awaited_B11(self):
        """The secret in two parts with a pause between: what the client has by then is less than eight bytes of it; other text is not held."""
        secret = SECRET.encode()
        for cut in (1, 8, len(secret) // 2, len(secret) - 1):
            go = threading.Event()

            def parts(exchange, cut=cut, go=go):
                exchange.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                exchange.send(b"7\r\nbefore \r\n%x\r\n%s\r\n" % (cut, secret[:cut]))
                go.wait(20)
                exchange.send(b"%x\r\n%s\r\n6\r\n after\r\n0\r\n\r\n" % (len(secret) - cut, secret[cut:]))
            self.world.raw.on["/parts"] = parts
            with self.subTest(cut), self.open("bearer") as channel:
                channel.send(f"GET /parts HTTP/1.1\r\nHost: {self.host('bearer')}\r\n\r\n")
                channel.until(b"before ")
                self.assertNotIn(secret[:8], channel.raw)
                go.set()
                answer = channel.read()
                self.assertEqual(len(answer.body), 7 + len(secret) + 6)
                self.assertTrue(answer.body.startswith(b"before ") and answer.body.endswith(b" after"), answer)
                self.assertNotIn(secret[:8], channel.raw)

    def test_a_covered_answer_ends_where_it_says_B9(self):
        self.world.raw.on["/fixed"] = lambda e: e.reply("200 OK", b"<" + SECRET.encode() + b">")
        with self.open("bearer") as channel:
            for _ in range(2):
                answer = channel.request("GET", "/fixed", self.host("bearer"))
                self.assertEqual((len(answer.body), answer.body[:1], answer.body[-1:]), (len(SECRET) + 2, b"<", b">"))
                self.assertNotIn(SECRET.encode(), answer.body)
            self.assertIn(b"/own", channel.request("GET", "/own", self.host("bearer")).body)


if __name__ == "__main__":
    harness.main()
