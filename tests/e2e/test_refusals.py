"""What is refused, and how (issue 2, "Bad input gets"; B1, B7, B25, B27, B35, B37, B45, B71, B75, B77, B97, B111)."""
import json
import os
import pathlib
import subprocess
import unittest

import harness
from client import Channel, basic, connect, tunnel
from harness import Case, wait_until


class Tokens(Case):
    def test_connect_without_a_good_token_is_407_with_a_challenge_B77(self):
        authority = self.world.url("api.test").split("/")[2]
        _, token = self.world.open_session()
        for name, bad in (("none", None), ("unknown", "cbt_v4.public.AAAA"), ("cut", token[:-4]), ("longer", token + "A"), ("huge", "x" * 6000)):
            with self.subTest(name):
                channel, answer = connect(self.world.broker.ports["proxy"], authority, bad)
                self.assertEqual(answer.status, 407, answer)
                self.assertTrue(any(v.startswith("Basic") for v in answer.get("proxy-authenticate")), answer)
                channel.close()

    def test_a_second_connect_on_the_same_connection_works_B77(self):
        authority = self.world.url("api.test").split("/")[2]
        _, token = self.world.open_session()
        channel, answer = connect(self.world.broker.ports["proxy"], authority)
        self.assertEqual(answer.status, 407)
        self.assertNotIn("close", "".join(answer.get("connection")).lower())
        channel.send(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\nProxy-Authorization: {basic(token, '')}\r\n\r\n")
        self.assertEqual(channel.read("CONNECT").status, 200)
        channel.close()

    def test_the_token_may_be_user_password_or_bearer(self):
        authority = self.world.url("api.test").split("/")[2]
        _, token = self.world.open_session()
        for login in (basic(token, ""), basic("x", token), basic(token, "x"), f"Bearer {token}", basic("u", token).replace("Basic", "basic")):
            channel, answer = connect(self.world.broker.ports["proxy"], authority, more=[f"Proxy-Authorization: {login}"])
            self.assertEqual(answer.status, 200, (login[:12], answer))
            channel.close()

    def test_expired_token_is_407_and_401(self):
        w = self.world
        session, _ = w.open_session()
        token = w.json("token", "mint", "--session", session, "--ttl", "1s")["token"]["text"]
        authority = w.url("api.test").split("/")[2]

        def status():
            channel, answer = connect(w.broker.ports["proxy"], authority, token)
            channel.close()
            return answer.status == 407
        wait_until("an expired token is refused", status, 10)
        with Channel(w.broker.ports["gateway"]) as channel:
            answer = channel.request("GET", f"/{authority}/v1/items", f"127.0.0.1:{w.broker.ports['gateway']}", [f"Authorization: Bearer {token}"])
            self.assertEqual(answer.status, 401, answer)
            self.assertTrue(answer.get("www-authenticate"), answer)

    def test_revocation_holds_on_a_connection_that_is_open_S47(self):
        w = self.world
        session, token = w.open_session()
        host = w.url("api.test").split("/")[2]
        channel = tunnel(w, token, "api.test")
        self.assertEqual(channel.request("GET", "/v1/items", host).status, 200)
        w.cli("session", "close", session)

        def refused():
            try:
                return channel.request("GET", "/v1/items", host).status in (401, 403, 407)
            except (EOFError, OSError):
                return True  # cut off at once: as good
        wait_until("the open connection of a closed session is refused", refused, 2)
        channel.close()
        again, answer = connect(w.broker.ports["proxy"], host, token)
        self.assertEqual(answer.status, 407, answer)
        again.close()

    def test_a_derived_token_dies_with_its_parent(self):
        w = self.world
        session, token = w.open_session()
        child = w.json("token", "derive", "--method", "GET", token=token)["token"]["text"]
        host = w.url("api.test").split("/")[2]
        with tunnel(w, child, "api.test") as channel:
            self.assertEqual(channel.request("GET", "/v1/items", host).status, 200)
        w.cli("token", "revoke", token=token)
        channel, answer = connect(w.broker.ports["proxy"], host, child)
        self.assertEqual(answer.status, 407, answer)
        channel.close()

    def test_a_narrowed_token_is_narrower(self):
        w = self.world
        session, _ = w.open_session()
        token = w.json("token", "mint", "--session", session, "--method", "HEAD")["token"]["text"]
        host = w.url("api.test").split("/")[2]
        with tunnel(w, token, "api.test") as channel:
            self.assertEqual(channel.request("HEAD", "/v1/items", host).status, 200)
            self.assertRefused(channel.request("GET", "/v1/items", host), 403, "narrowed")


class Hosts(Case):
    def setUp(self):
        self.session, self.token = self.world.open_session()

    def test_unlisted_and_lookalike_hosts_B7(self):
        w = self.world
        for host in ("unlisted.test", "notapi.test", "api.test.evil.test", "sub.api.test", "127.0.0.1", "localhost", "[::1]", "169.254.169.254"):
            with self.subTest(host):
                channel, answer = connect(w.broker.ports["proxy"], f"{host}:{w.git.port}", self.token)
                self.assertRefused(answer, 403, "host_not_allowed")
                channel.close()
        self.assertFalse([r for r in w.raw.requests if "unlisted" in "".join(r.get("host"))])

    def test_another_port_of_a_listed_host_is_another_host(self):
        channel, answer = connect(self.world.broker.ports["proxy"], "api.test:443", self.token)
        self.assertEqual(answer.status, 403, answer)
        channel.close()

    def test_one_final_dot_and_letter_case_are_the_same_host_B71(self):
        port = self.world.git.port
        for host in ("API.Test", "api.test."):
            channel, answer = connect(self.world.broker.ports["proxy"], f"{host}:{port}", self.token)
            self.assertEqual(answer.status, 200, (host, answer))
            channel.close()
        for host in ("api.test..", "api..test", "", "api.test:1", "a@api.test", "api.test/x", "api.te st", "\x1b[2J"):
            channel, answer = connect(self.world.broker.ports["proxy"], f"{host}:{port}", self.token)
            self.assertIn(answer.status, (400, 403), (host, answer))
            channel.close()

    def test_host_that_differs_from_the_tunnel_is_421_B1(self):
        w = self.world
        before = len(w.raw.requests)
        for host in (w.url("api.test").split("/")[2], f"echo.test:{w.git.port}", "echo.test"):
            with tunnel(w, self.token, "echo.test") as channel:
                self.assertRefused(channel.request("GET", "/open/x", host), 421, "misdirected")
        self.assertEqual(len(w.raw.requests), before)
        self.assertGreaterEqual(len(w.records(self.session, kind="deny")), 3)

    def test_server_name_that_differs_from_connect_is_refused_B1(self):
        w = self.world
        channel, answer = connect(w.broker.ports["proxy"], w.url("echo.test").split("/")[2], self.token)
        self.assertEqual(answer.status, 200)
        before = len(w.raw.requests)
        try:
            channel.start_tls("api.test", w.bundle(self.token))
            status = channel.request("GET", "/open/x", w.url("echo.test").split("/")[2]).status
        except (OSError, EOFError):
            status = None
        self.assertIn(status, (None, 421))
        self.assertEqual(len(w.raw.requests), before)
        channel.close()

    def test_own_listeners_are_never_reached_B75(self):
        w = self.world
        hosts = ", ".join(f'"self.test:{port}"' for port in w.broker.ports.values())
        w.apply(w.policy().replace("  reader:\n", f"    egress:\n      - {{hosts: [{hosts}], methods: [GET], addresses: [127.0.0.0/8]}}\n  reader:\n"))
        self.addCleanup(w.apply, w.policy())
        for name, port in w.broker.ports.items():
            with self.subTest(name):
                channel, answer = connect(w.broker.ports["proxy"], f"self.test:{port}", self.token)
                self.assertEqual(answer.status, 200, answer)
                channel.start_tls("self.test", w.bundle(self.token))
                self.assertRefused(channel.request("GET", "/", f"self.test:{port}"), 403, "loop")
                channel.close()

    def test_paths_that_two_readers_could_read_differently_B27(self):
        host = self.world.url("api.test").split("/")[2]
        for path in ("/v1/items/../secret", "/v1/items/%2e%2e/secret", "/v1/items//1", "/v1/items/./1", "/v1/items;x/1", "/v1/items/..\\b",
                     "/v1/%69tems", "/v1/items%2f1", "/v1/items/%00", "/v1/items/%zz"):
            with self.subTest(path), tunnel(self.world, self.token, "api.test") as channel:
                self.assertIn(channel.request("GET", path, host).status, (400, 403))
        self.assertNotIn("secret", self.world.git.access_log())


class Malformed(Case):
    HEADS = {
        "two lengths": "POST {p} HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\nContent-Length: 50\r\n\r\nhello",
        "length list": "POST {p} HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5, 6\r\n\r\nhello",
        "length and chunked": "POST {p} HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "unknown coding": "POST {p} HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "two codings": "POST {p} HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        "space before colon": "POST {p} HTTP/1.1\r\nHost: {h}\r\nContent-Length : 5\r\n\r\nhello",
        "signed length": "POST {p} HTTP/1.1\r\nHost: {h}\r\nContent-Length: +5\r\n\r\nhello",
        "lone LF": "GET {p} HTTP/1.1\nHost: {h}\n\n",
        "lone CR in value": "GET {p} HTTP/1.1\r\nHost: {h}\r\nX: a\rb\r\n\r\n",
        "NUL in value": "GET {p} HTTP/1.1\r\nHost: {h}\r\nX: a\0b\r\n\r\n",
        "fold": "GET {p} HTTP/1.1\r\nHost: {h}\r\nX: a\r\n b\r\n\r\n",
        "no host": "GET {p} HTTP/1.1\r\n\r\n",
        "two hosts": "GET {p} HTTP/1.1\r\nHost: {h}\r\nHost: {h}\r\n\r\n",
        "bad version": "GET {p} HTTP/3.0\r\nHost: {h}\r\n\r\n",
        "no version": "GET {p}\r\nHost: {h}\r\n\r\n",
        "space in target": "GET {p} x HTTP/1.1\r\nHost: {h}\r\n\r\n",
        "fragment": "GET {p}#x HTTP/1.1\r\nHost: {h}\r\n\r\n",
        "connection lists the credential": "GET {p} HTTP/1.1\r\nHost: {h}\r\nConnection: Authorization, Host\r\n\r\n",
        "trace": "TRACE {p} HTTP/1.1\r\nHost: {h}\r\n\r\n",
        "nested connect": "CONNECT other.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n",
        "two tokens": "GET {p} HTTP/1.1\r\nHost: {h}\r\nAuthorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
        "chunk size ended by LF": "POST {p} HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
        "chunk extension with LF": "POST {p} HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n",
        "no end after chunk": "POST {p} HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX0\r\n\r\n",
        "huge chunk size": "POST {p} HTTP/1.1\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
        "long target": "GET {p}" + "a" * 20000 + " HTTP/1.1\r\nHost: {h}\r\n\r\n",
        "large head": "GET {p} HTTP/1.1\r\nHost: {h}\r\n" + "".join(f"X-{i}: {'v' * 900}\r\n" for i in range(100)) + "\r\n",
    }

    def test_malformed_heads_are_refused_and_nothing_goes_upstream_B35_B37(self):
        w = self.world
        session, token = w.open_session()
        host = w.url("echo.test").split("/")[2]
        for name, text in self.HEADS.items():
            with self.subTest(name), tunnel(w, token, "echo.test") as channel:
                path = "/open/malformed"
                hidden = f"GET /open/hidden HTTP/1.1\r\nHost: {host}\r\n\r\n"
                channel.send((text.replace("{p}", path).replace("{h}", host) + hidden).encode("latin-1"))
                answer = channel.read("GET")
                self.assertTrue(400 <= answer.status < 600 and answer.status != 502, answer)
                self.assertTrue(channel.closed(), "the connection must end")
        self.assertFalse(w.raw.seen("/open/hidden"), "a hidden request went upstream")
        for request in w.raw.seen("/open/malformed"):
            self.assertIn("chunked", "".join(request.get("transfer-encoding")), "a malformed head went upstream")

    def test_bytes_behind_a_refused_connect_are_dropped_B45(self):
        w = self.world
        _, token = w.open_session()
        host = w.url("echo.test").split("/")[2]
        early = f"GET http://{host}/open/early HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: {basic('x', token)}\r\n\r\n".encode()
        channel, answer = connect(w.broker.ports["proxy"], "unlisted.test:443", token, early=early)
        self.assertEqual(answer.status, 403)
        self.assertTrue(channel.closed())
        self.assertNotIn(b"HTTP/1.1", channel.buffer)
        self.assertFalse(w.raw.seen("/open/early"))
        channel.close()

    def test_refused_connections_are_closed_B111(self):
        w = self.world
        _, token = w.open_session()
        fds = pathlib.Path(f"/proc/{w.broker.edge_pid()}/fd")
        before = len(list(fds.iterdir()))
        held = []
        for i in range(100):
            channel, answer = connect(w.broker.ports["proxy"], "unlisted.test:443", token)
            held.append(channel)
            self.assertEqual(answer.status, 403)
        wait_until("the edge's descriptors are back", lambda: len(list(fds.iterdir())) <= before + 10)
        for channel in held:
            channel.close()

    def test_garbage_never_stops_the_edge(self):
        w = self.world
        pid = w.broker.edge_pid()
        for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\0" * 5000, b"\r\n\r\n", b"A" * 100000, os.urandom(4096), b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            for port in (w.broker.ports["proxy"], w.broker.ports["gateway"]):
                with Channel(port) as channel:
                    try:
                        channel.send(data)
                        channel.socket.shutdown(1)
                    except OSError:
                        pass
                    self.assertTrue(channel.closed())
        self.assertEqual(w.broker.edge_pid(), pid)


class Admin(Case):
    def test_broken_policy_leaves_the_old_one_in_force(self):
        w = self.world
        _, token = w.open_session()
        before = w.json("status")
        for name, broken, hint in (("yaml", "apiVersion: [", "policy.yaml:"), ("key", w.policy().replace("requesters:", "requestors:"), "requesters"),
                                   ("unknown credential", w.policy().replace("credential: git-bot", "credential: nope", 1), "nope")):
            with self.subTest(name):
                result = w.apply(broken, check=False)
                self.assertEqual(result.code, 1, result.text())
                self.assertIn("5001", result.text())
                self.assertIn(hint, result.text())
                self.assertRegex(result.text(), r"policy\.yaml:\d+")
        self.assertEqual(w.json("status")["policy_version"], before["policy_version"])
        with tunnel(w, token, "api.test") as channel:
            self.assertEqual(channel.request("GET", "/v1/items", w.url("api.test").split("/")[2]).status, 200)
        w.apply(w.policy())

    def test_secret_names_and_values(self):
        w = self.world
        for name in ("../x", "A b", "x" * 200, ""):
            self.assertNotEqual(w.cli("secret", "put", name, input=b"v", check=False).code, 0, name)
        for value in (b"", b"\n", b"a\nX-Evil: 1", b"a\0b"):
            result = w.cli("secret", "put", "bad-value", input=value, check=False)
            self.assertEqual(result.code, 1, (value, result.text()))
            self.assertIn("5004", result.text())
        result = w.cli("secret", "rotate", "no-such", input=b"v", check=False)
        self.assertEqual(result.code, 1)
        self.assertIn("5003", result.text())

    def test_a_credential_that_is_not_set_says_so(self):
        w = self.world
        _, token = w.open_session()
        with tunnel(w, token, "late.test") as channel:
            self.assertRefused(channel.request("GET", "/x", w.url("late.test").split("/")[2]), 502, "credential_not_set")
        self.assertFalse(w.raw.seen("/x"))

    def test_usage_errors_are_2_and_an_absent_broker_is_1(self):
        w = self.world
        self.assertEqual(w.cli("no-such-command", check=False).code, 2)
        self.assertEqual(w.cli("session", "open", check=False).code, 2)
        result = w.cli("status", env={"CREDBROKER_ADDRESS": "unix:/nonexistent/api.sock"}, check=False)
        self.assertEqual(result.code, 1)
        self.assertIn("5012", result.text())

    def test_unknown_scope_and_requester(self):
        w = self.world
        result = w.cli("session", "open", "--requester", "team-web", "--scope", "nope", check=False)
        self.assertEqual((result.code, "5014" in result.text()), (1, True), result.text())
        result = w.cli("session", "open", "--requester", "team-other", "--scope", "web-agent", check=False)
        self.assertEqual((result.code, "1014" in result.text()), (1, True), result.text())

    def serve(self, *args, **kw):
        return subprocess.run([self.world.bin / "credbrokerd", "serve", *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=harness.DEADLINE, check=False, **kw)

    def any_ports(self):
        return [word for name in ("api", "proxy", "gateway", "health") for word in (f"--listen-{name}", "127.0.0.1:0")]

    def test_port_in_use(self):
        w = self.world
        for name in ("api", "health", "proxy", "gateway"):
            with self.subTest(name):
                ports = self.any_ports()
                ports[ports.index(f"--listen-{name}") + 1] = f"127.0.0.1:{w.broker.ports[name]}"
                done = self.serve("--data-dir", w.folder / f"second-{name}", *ports)
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(b"4014", done.stdout)

    def test_data_folder_in_use(self):
        done = self.serve("--data-dir", self.world.broker.folder, *self.any_ports())
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn(b"4013", done.stdout)

    def test_data_folder_that_cannot_be_written(self):
        file = self.world.folder / "a-file"
        file.write_text("x")
        for folder in (file, file / "below", pathlib.Path("/proc/credbroker")):
            done = self.serve("--data-dir", folder, *self.any_ports())
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertRegex(done.stdout, rb"400\d|next")

    def test_wrong_flags_are_2(self):
        self.assertEqual(self.serve("--no-such-flag").returncode, 2)


class FullDisk(unittest.TestCase):
    """No space for the record: 503 at once, health and revocation answer, recovery without a restart (B97)."""

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs root: mounts a small tmpfs")
        self.w = harness.World(start=False)
        self.addCleanup(self.w.close)

    def mount(self, folder, size):
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0711", "tmpfs", folder], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", folder], check=False)

    def fill(self, folder):
        ballast = folder / "ballast"
        with open(ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                return ballast

    def ask(self, token):
        with tunnel(self.w, token, "api.test") as channel:
            return channel.request("GET", "/v1/items", self.w.url("api.test").split("/")[2])

    def until(self, what, token, status):
        return wait_until(what, lambda: next((a for a in [attempt(lambda: self.ask(token))] if a and a.status == status), None))

    def health(self):
        with Channel(self.w.broker.ports["health"]) as channel:
            return channel.request("GET", "/healthz", "health.test").status

    def test_full_ledger_volume(self):
        w, edge = self.w, self.w.broker.folder / "edge/data"
        edge.mkdir(parents=True)
        w.broker.folder.chmod(0o711)
        edge.parent.chmod(0o711)
        self.mount(edge, "8m")
        edge.chmod(0o700)
        w.broker.start()
        w.prepare()
        session, token = w.open_session()
        other_session, other = w.open_session()
        self.assertEqual(self.ask(token).status, 200)
        ballast = self.fill(edge)
        refused = self.until("a full ledger gives 503", token, 503)
        self.assertEqual(json.loads(refused.body)["error"]["code"], harness.CODES["ledger_unavailable"])
        self.assertIn(self.health(), (200, 503))
        w.cli("session", "close", other_session)
        ballast.unlink()
        self.until("requests pass again", token, 200)
        channel, answer = connect(w.broker.ports["proxy"], w.url("api.test").split("/")[2], other)
        channel.close()
        self.assertEqual(answer.status, 407, "revoked while the disk was full, and stays so")
        self.assertEqual(w.cli("audit", "verify").code, 0)

    def test_full_disk(self):
        w, data = self.w, self.w.broker.folder
        data.mkdir()
        self.mount(data, "24m")
        w.broker.start()
        w.prepare()
        session, token = w.open_session()
        self.assertEqual(self.ask(token).status, 200)
        ballast = self.fill(data)
        refused = self.until("a full disk gives 503", token, 503)
        self.assertEqual(json.loads(refused.body)["error"]["code"], harness.CODES["ledger_unavailable"])
        self.assertIn(self.health(), (200, 503))
        opened = w.cli("session", "open", "--requester", "team-web", "--scope", "web-agent", check=False)
        self.assertEqual(opened.code, 1, "a session without a record")
        self.assertRegex(opened.text(), "4001|4004")
        closed = w.cli("session", "close", session, check=False)
        self.assertTrue(closed.code == 0 or "4004" in closed.text(), closed.text())  # done or not done, never in between
        ballast.unlink()
        _, fresh = wait_until("sessions open again", lambda: attempt(w.open_session))
        self.until("requests pass again", fresh, 200)
        if closed.code == 0:
            channel, answer = connect(w.broker.ports["proxy"], w.url("api.test").split("/")[2], token)
            channel.close()
            self.assertEqual(answer.status, 407)
        self.assertEqual(w.cli("audit", "verify").code, 0)


def attempt(function):
    try:
        return function()
    except (AssertionError, OSError, EOFError):
        return None


if __name__ == "__main__":
    harness.main()
