"""Sessions' own sockets: identity without a token (design.md 4, way 3)."""
import json
import os
import pathlib
import socket
import stat
import subprocess
import tempfile

import harness
from client import Channel
from harness import Case, wait_until


class Sockets(Case):
    config = "edge: {session_sockets: true}\n"

    def open(self, *more):
        answer = self.world.json("session", "open", "--requester", "team-web", "--scope", "web-agent", *more)
        self.addCleanup(lambda: self.world.cli("session", "close", answer["session"]["id"]))
        return answer["session"]["id"], answer["session"]["socket"], answer["token"]["text"]

    def host(self, name="echo.test"):
        return self.world.url(name).split("/")[2]

    def ask(self, path, target=None, headers=()):
        with Channel(path) as channel:
            return channel.request("GET", target or f"/{self.host()}/open/sock", "localhost", headers)

    def test_who_connects_needs_no_token(self):
        session, path, token = self.open()
        self.assertTrue(stat.S_ISSOCK(os.stat(path).st_mode))
        self.assertEqual(os.stat(pathlib.Path(path).parents[1]).st_mode & 0o777, 0o700, "only its owner can look for sockets")
        self.assertEqual(self.ask(path).status, 200)
        self.assertEqual(self.ask(path, headers=[f"Authorization: Bearer {token}"]).status, 200, "a token of the session is fine")
        records = self.world.records(session, kind="intent")
        self.assertEqual([r["channel"] for r in records], ["gateway", "gateway"])
        self.assertNotEqual(records[0]["token_id"], records[1]["token_id"])

    def test_a_token_of_another_session_is_refused(self):
        _, path, _ = self.open()
        _, _, other = self.open()
        self.assertRefused(self.ask(path, headers=[f"Authorization: Bearer {other}"]), 403, "token_mismatch")
        with Channel(path) as channel:
            login = f"Proxy-Authorization: Bearer {other}"
            self.assertRefused(channel.request("CONNECT", self.host(), self.host(), [login]), 403, "token_mismatch")

    def test_connect_and_tls_inside(self):
        _, path, _ = self.open()
        bundle = self.world.json("env", token=self.open()[2])["SSL_CERT_FILE"]
        with Channel(path) as channel:
            self.assertEqual(channel.request("CONNECT", self.host(), self.host()).status, 200)
            channel.start_tls("echo.test", bundle)
            answer = channel.request("GET", "/open/tls", self.host())
            self.assertEqual(answer.status, 200, answer)
            self.assertRefused(channel.request("GET", "/secret/x", self.host()), 403, "no_rule")

    def test_the_socket_follows_the_phase_and_ends_with_the_session(self):
        session, path, _ = self.open("--phase", "setup")
        with Channel(path) as kept:
            self.assertEqual(kept.request("GET", f"/{self.host()}/open/a", "localhost").status, 200)
            self.world.json("session", "phase", session, "agent")
            self.assertEqual(self.ask(path).status, 200, "the same socket speaks for the new phase")
            phases = [r["phase"] for r in self.world.records(session, kind="intent")]
            self.assertEqual(phases, ["setup", "agent"])
            closed = self.world.json("session", "close", session)
            self.assertGreaterEqual(len(closed["revoked_tokens"]), 2)
        wait_until("the socket is gone", lambda: not os.path.exists(path))
        self.assertFalse(pathlib.Path(path).parent.exists())

    def test_the_socket_comes_back_when_the_edge_was_killed(self):
        session, path, _ = self.open()
        folder = os.stat(pathlib.Path(path).parent).st_ino
        edge = self.world.broker.edge_pid()
        os.kill(edge, 9)
        def served():
            try:
                return self.ask(path).status == 200
            except (OSError, EOFError):
                return False
        wait_until("the new edge serves it", served)
        self.assertEqual(os.stat(pathlib.Path(path).parent).st_ino, folder, "a mount of the folder still holds")
        self.assertTrue(session)

    def test_a_socket_takes_so_many_connections_and_the_edge_serves_others(self):
        _, path, token = self.open()
        held = []
        self.addCleanup(lambda: [s.close() for s in held])
        for _ in range(1024):
            one = socket.socket(socket.AF_UNIX)
            one.connect(path)
            held.append(one)
        wait_until("they are counted", lambda: self.ask(path).status == 503)
        _, other, _ = self.open()
        self.assertEqual(self.ask(other).status, 200)

    def test_git_through_a_forwarder_with_nothing_but_placeholders(self):
        session, path, _ = self.open()
        with socket.create_server(("127.0.0.1", 0)) as free:
            through = "127.0.0.1:%d" % free.getsockname()[1]
        variables = self.world.json("env", "--session", session, "--through", through)
        self.assertNotIn("CREDBROKER_TOKEN", variables)
        self.assertNotIn("cbt_", json.dumps(variables))
        self.world.received.append(json.dumps(variables).encode())
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        clone = subprocess.run([str(self.world.bin / "credbroker"), "forward", "--socket", path, "--listen", through, "--",
                                "git", "clone", "-q", self.world.url("git.test", "/acme/web"), f"{work.name}/web"],
                               env={"PATH": os.environ["PATH"], "HOME": work.name, "GIT_CONFIG_NOSYSTEM": "1", **harness.SANITIZER, **variables},
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        self.assertEqual(clone.returncode, 0, clone.stdout)
        self.assertTrue((pathlib.Path(work.name) / "web" / ".git").exists())

    def test_forward_says_at_once_when_nobody_serves_the_socket(self):
        done = self.world.cli("forward", "--socket", "/nowhere/edge.sock", "--listen", "127.0.0.1:0", check=False)
        self.assertEqual(done.code, 1)
        self.assertIn(b"upstream_unreachable", done.err)
        done = self.world.cli("forward", "--socket", "/nowhere/edge.sock", "--listen", "0.0.0.0:0", check=False)
        self.assertIn(b"loopback", done.err)


class WithoutSockets(Case):
    def test_no_socket_unless_the_configuration_says_so(self):
        session, _ = self.world.open_session()
        self.assertEqual(self.world.json("session", "show", session)["session"]["socket"], "")
        done = self.world.cli("env", "--session", session, "--through", "127.0.0.1:1", check=False)
        self.assertEqual(done.code, 1)
        self.assertIn(b"session_sockets", done.err)


if __name__ == "__main__":
    harness.main()
