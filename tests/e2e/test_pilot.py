"""The pilot: the claims, tested inside a sandbox (S9, S29, S38 to S44)."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import threading

import harness
from harness import Case

NOBODY = ("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups")


class ForwardEverything:
    """What an edge must never be: takes any CONNECT and any push."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                connection.sendall(self.answer(connection.recv(65536)))

    def answer(self, head):
        if head.startswith(b"CONNECT"):
            return b"HTTP/1.1 200 OK\r\n\r\n"
        return b"HTTP/1.1 200 OK\r\nContent-Length: 19\r\n\r\n000eunpack ok\n0000x"

    def close(self):
        self.listener.close()


class Pilot(Case):
    def setUp(self):
        self.session, self.token = self.world.open_session()
        # A sandbox's user has a copy of the program: the build folder may be closed to others.
        self.program = pathlib.Path("/tmp") / f"credbroker-pilot-{os.getpid()}"
        shutil.copy(self.world.bin / "credbroker", self.program)
        self.program.chmod(0o755)
        self.addCleanup(self.program.unlink)
        self.world.folder.chmod(0o711)  # the broker's socket is for every user; a test's folder is not
        self.addCleanup(self.world.folder.chmod, 0o700)
        with socket.create_server(("127.0.0.1", 0)) as closed:
            self.closed = "127.0.0.1:%d" % closed.getsockname()[1]

    def variables(self, **more):
        variables = {k: v for k, v in self.world.environment(self.token).items() if not k.startswith("GIT_AUTHOR")}
        return {**variables, "HOME": "/nonexistent", **more}

    def pilot(self, *args, env=None, namespace=()):
        done = subprocess.run([*namespace, *NOBODY, str(self.program), "pilot", "--output", "json", *args], env=env or self.variables(), capture_output=True, timeout=120, check=False)
        self.world.received += [done.stdout, done.stderr]
        self.assertTrue(done.stdout, done.stderr)
        answer = json.loads(done.stdout)
        return done.returncode, answer, {f["id"]: f for f in answer["findings"]}

    def test_a_good_edge_passes_every_test(self):
        code, answer, findings = self.pilot("--target", self.closed)
        self.assertEqual([f["id"] for f in findings.values() if not f["passed"]], [], findings)
        self.assertEqual(code, 0)
        self.assertEqual({f["group"] for f in findings.values()}, {"egress", "secrets", "git"})
        for proved in ("S38", "S39", "S42"):
            self.assertTrue(findings[proved]["confirmed"], findings[proved])
        self.assertIn("credbroker/pilot", answer["note"])
        self.assertTrue(self.world.json("evidence", "answers")["pilot"].startswith("passed on "))
        record = [r for r in self.world.json("audit", "list", "--session", self.session) if r.get("action") == "pilot.result"]
        self.assertEqual([r["detail"] for r in record], ["passed"])
        self.assertEqual([r for r in self.world.git.refs() if "1111" in r], [])

    def test_direct_egress_is_told(self):
        with socket.create_server(("127.0.0.1", 0)) as outside:
            code, answer, findings = self.pilot("--target", "127.0.0.1:%d" % outside.getsockname()[1])
        self.assertEqual(code, 1)
        self.assertFalse(answer["passed"])
        self.assertFalse(findings["S9"]["passed"])
        self.assertIn("direct egress open", findings["S9"]["detail"])
        self.assertTrue(self.world.json("evidence", "answers")["pilot"].startswith("FAILED on "))

    def test_a_real_key_in_a_variable_goes_red(self):
        for name, value in (("HARMLESS_NAME", "ghp_" + "a" * 36), ("DEPLOY_TOKEN", "whatever it is"), ("X", "-----BEGIN OPENSSH PRIVATE KEY-----")):
            with self.subTest(name):
                code, _, findings = self.pilot("--target", self.closed, env=self.variables(**{name: value}))
                self.assertEqual(code, 1)
                self.assertFalse(findings["S40"]["passed"])
                self.assertIn(name, findings["S40"]["detail"])
                self.assertNotIn(value, findings["S40"]["detail"])

    def test_a_broken_edge_goes_red(self):
        broken = ForwardEverything()
        self.addCleanup(broken.close)
        url = f"http://{broken.address}"
        code, answer, findings = self.pilot("--target", self.closed, env=self.variables(CREDBROKER_PROXY=url, CREDBROKER_GATEWAY=url))
        self.assertEqual(code, 1)
        self.assertFalse(answer["passed"])
        for red in ("S38", "S39", "S42"):
            self.assertFalse(findings[red]["passed"], findings[red])

    def test_a_refusal_that_the_ledger_does_not_hold_does_not_count(self):
        _, other = self.world.open_session()
        class Liar(ForwardEverything):
            def answer(self, head):
                body = b'{"error":{"code":2101,"request_id":"r-aaaaaaaaaa-1"}}'
                return b"HTTP/1.1 403 Forbidden\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        liar = Liar()
        self.addCleanup(liar.close)
        url = f"http://{liar.address}"
        code, _, findings = self.pilot("--target", self.closed, env=self.variables(CREDBROKER_PROXY=url, CREDBROKER_GATEWAY=url))
        self.assertEqual(code, 1)
        self.assertFalse(findings["S38"]["confirmed"])
        self.assertFalse(findings["S38"]["passed"])
        self.assertTrue(other)

    def test_a_sandbox_that_owns_the_broker_goes_red_S43(self):
        done = subprocess.run([str(self.program), "pilot", "--output", "json", "--target", self.closed], env=self.variables(), capture_output=True, timeout=120, check=False)
        findings = {f["id"]: f for f in json.loads(done.stdout)["findings"]}
        self.assertEqual(done.returncode, 1)
        self.assertFalse(findings["S43"]["passed"])

    def test_a_result_is_stale_after_a_change_S30(self):
        self.pilot("--target", self.closed)
        self.world.apply(self.world.policy().replace("idle: 20m", "idle: 19m"))
        self.addCleanup(self.world.apply, self.world.policy())
        self.assertTrue(self.world.json("evidence", "answers")["pilot"].startswith("stale: "))

    def test_a_closed_namespace_has_no_way_around_S9(self):
        """The default targets, from a network namespace without any way out; the edge is not there either, so only this test counts."""
        code, _, findings = None, None, None
        done = subprocess.run(["unshare", "-n", *NOBODY, str(self.program), "pilot", "--output", "json"], env=self.variables(), capture_output=True, timeout=120, check=False)
        findings = {f["id"]: f for f in json.loads(done.stdout)["findings"]}
        self.assertTrue(findings["S9"]["passed"], findings["S9"])
        self.assertIn("blocked", findings["S9"]["detail"])


if __name__ == "__main__":
    harness.main()
