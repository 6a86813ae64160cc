"""The record: whole, in order, provable, and whole again after any crash (S11, S42, S76; B93, B95, B97, B99)."""
import json
import os
import pathlib
import random
import shutil
import signal
import threading
import time
import unittest

import harness
from client import Channel, connect, tunnel
from harness import Case, wait_until


class Records(Case):
    def test_every_request_appears_once_in_order_with_its_outcome_S42(self):
        w = self.world
        session, token = w.open_session("--ticket", "T-42")
        host = w.url("echo.test").split("/")[2]
        script = [("GET", "/open/1", 200), ("GET", "/closed/2", 403), ("POST", "/open/3", 200), ("DELETE", "/open/4", 403), ("HEAD", "/open/5", 200)]
        with tunnel(w, token, "echo.test") as channel:
            for method, path, status in script:
                self.assertEqual(channel.request(method, path, host, ["Content-Length: 0"] if method in ("POST", "DELETE") else []).status, status)
        records = wait_until("outcomes are there", lambda: (r := w.records(session)) and sum(x["kind"] == "outcome" for x in r) >= 3 and r)
        asked = [r for r in records if r["kind"] in ("intent", "deny") and (r["path"] or "").startswith(("/open", "/closed"))]
        self.assertEqual([(r["method"], r["path"], "allow" if r["kind"] == "intent" else "deny") for r in asked],
                         [(m, p, "allow" if s == 200 else "deny") for m, p, s in script])
        for intent in (r for r in asked if r["kind"] == "intent"):
            outcomes = [r for r in records if r["kind"] == "outcome" and r["request_id"] == intent["request_id"]]
            self.assertEqual(len(outcomes), 1, intent)
            self.assertEqual(outcomes[0]["status"], 200)
            self.assertGreater(records.index(outcomes[0]), records.index(intent))
        for r in asked:
            for field in ("id", "time", "session", "token_id", "requester", "host", "rule", "policy_version"):
                self.assertIn(field, r)
            self.assertEqual((r["session"], r["requester"], r["host"]), (session, "team-web", "echo.test"))
        effects = [r["effect_class"] for r in asked if r["kind"] == "intent"]
        self.assertEqual(effects, ["read", "write", "read"])  # S76
        self.assertEqual(len({r["id"] for r in records}), len(records))

    def test_the_chain_from_policy_to_use(self):
        w = self.world
        session, token = w.open_session()
        whole = w.json("audit", "list", "--limit", "10000")
        kinds = [(r["kind"], r.get("action")) for r in whole]
        for action in ("policy.apply", "secret.put"):
            self.assertIn(("admin", action), kinds)
        self.assertTrue(any(r["kind"] == "issue" and r["session"] == session for r in whole))

    def test_hostile_text_makes_one_clean_record_B99(self):
        w = self.world
        session, token = w.open_session()
        for host in ("evil\x1b[2J.test", "e\u202evil.test", "x" * 8000 + ".test", "a\tb.test"):
            channel, answer = connect(w.broker.ports["proxy"], host + ":443", token)
            self.assertGreaterEqual(answer.status, 400)
            channel.close()
        with tunnel(w, token, "echo.test") as channel:
            channel.request("GET", "/open/%e2%80%ae", w.url("echo.test").split("/")[2], ['User-Agent: "}\\n{"kind":"admin"'])
        for text in (w.cli("audit", "list", "--limit", "50").out, w.cli("audit", "list", "--limit", "50", "--output", "json").out):
            shown = text.decode()
            self.assertFalse([c for c in shown if c in "\x1b\u202e\0\r"], "raw control characters")
            self.assertTrue(all(c in "\n\t" or c >= " " for c in shown))
        self.assertEqual(w.cli("audit", "verify").code, 0)

    def test_an_edit_and_a_cut_are_found(self):
        w = self.world
        _, token = w.open_session()
        with tunnel(w, token, "api.test") as channel:
            channel.request("GET", "/v1/items", w.url("api.test").split("/")[2])
        pinned = w.folder / "pinned"
        w.cli("audit", "checkpoint", "--out", pinned)
        self.assertEqual(w.cli("audit", "verify", "--checkpoint", pinned).code, 0)
        ledgers = [p.parent for p in w.broker.folder.rglob("checkpoint") if any((p.parent / "entries").glob("*.jsonl"))]
        self.assertTrue(ledgers)
        for number, ledger in enumerate(ledgers):
            copy = w.folder / f"copy-{number}"
            shutil.copytree(ledger, copy)
            segment = next(s for s in sorted((copy / "entries").glob("*.jsonl")) if s.stat().st_size)
            whole = segment.read_bytes()
            self.assertEqual(w.cli("audit", "verify", "--ledger", copy).code, 0, w.cli("audit", "verify", "--ledger", copy, check=False).text())
            for name, changed in (("edit", whole.replace(b'"kind":"', b'"kinD":"', 1)), ("flip", bytes([whole[0] ^ 1]) + whole[1:]),
                                  ("cut", whole[:whole.rstrip(b"\n").rfind(b"\n") + 1] if whole.count(b"\n") > 1 else b""), ("gone", b""),
                                  ("swap", b"".join(whole.splitlines(True)[1::-1] + whole.splitlines(True)[2:]) if whole.count(b"\n") > 1 else b"")):
                with self.subTest(ledger=ledger.name, name=name):
                    segment.write_bytes(changed)
                    result = w.cli("audit", "verify", "--ledger", copy, check=False)
                    self.assertEqual(result.code, 1, result.text())
            segment.write_bytes(whole)

    def test_a_policy_change_is_recorded_before_it_acts_S11(self):
        w = self.world
        before = int(w.json("status")["policy_version"])
        w.apply(w.policy().replace("path: /v1/items/*}", "path: /v1/items/**}"))
        changes = [r for r in w.json("audit", "list", "--limit", "10000") if r.get("action") == "policy.apply"]
        self.assertTrue(changes[-1].get("before") and changes[-1].get("after"), changes[-1])
        self.assertNotEqual(changes[-1]["before"], changes[-1]["after"])
        self.assertGreater(int(w.json("status")["policy_version"]), before)
        w.apply(w.policy())


class Crashes(unittest.TestCase):
    """kill -9 at any moment: it starts again, nothing acknowledged is lost, the ledgers verify, open intents are closed."""
    ROUNDS = int(os.environ.get("CREDBROKER_E2E_KILLS", "12"))

    def test_kills_of_broker_and_edge(self):
        w = harness.World()
        self.addCleanup(w.close)
        chance, acknowledged, stop = random.Random(20260801), set(), threading.Event()
        state = {"token": w.open_session()[1]}
        host = w.url("echo.test").split("/")[2]

        def work(number):
            count = 0
            while not stop.is_set():
                try:
                    with tunnel(w, state["token"], "echo.test") as channel:
                        while not stop.is_set():
                            path = f"/open/w{number}-{count}"
                            count += 1
                            if channel.request("GET", path, host).status == 200:
                                acknowledged.add(path)
                except (AssertionError, OSError, EOFError, KeyError, ValueError):
                    stop.wait(0.05)
        workers = [threading.Thread(target=work, args=(n,)) for n in range(2)]
        for worker in workers:
            worker.start()
        try:
            for number in range(self.ROUNDS):
                target = len(acknowledged) + chance.randrange(1, 60)
                wait_until("requests go on", lambda t=target: len(acknowledged) >= t)
                if number % 3 == 2:
                    w.broker.kill()
                    w.broker.start()
                else:
                    pid = w.broker.edge_pid()
                    os.kill(pid, signal.SIGKILL)
                    wait_until("another edge", lambda p=pid: w.broker.edge_pid() not in (None, p))
        finally:
            stop.set()
            for worker in workers:
                worker.join()

        def settled():
            records = w.json("audit", "list", "--limit", "10000")
            open_intents = {r["request_id"] for r in records if r["kind"] == "intent"} - {r["request_id"] for r in records if r["kind"] == "outcome"}
            return None if open_intents else records
        records = wait_until("every intent has an outcome 20 s after the restart", settled, 20)
        recorded = {r["path"] for r in records if r["kind"] == "intent"}
        if len(records) < 10000:
            self.assertEqual(acknowledged - recorded, set(), "an answered request is not in the ledger")
        for kind in ("intent", "outcome"):
            ids = [r["request_id"] for r in records if r["kind"] == kind]
            self.assertEqual(len(ids), len(set(ids)), f"{kind} twice")
        verify = w.cli("audit", "verify", check=False)
        self.assertEqual(verify.code, 0, verify.text())

    def test_what_was_acknowledged_survives_a_kill(self):
        w = harness.World()
        self.addCleanup(w.close)
        session, token = w.open_session()
        revoked_session, revoked = w.open_session()
        w.cli("session", "close", revoked_session)
        w.cli("secret", "put", "late", input=b"value-put-last")
        ca = pathlib.Path(w.json("env", token=token)["SSL_CERT_FILE"])
        authority = ca.read_bytes()
        w.broker.kill()
        w.broker.start()
        self.assertEqual(pathlib.Path(w.json("env", token=token)["SSL_CERT_FILE"]).read_bytes(), authority, "the CA changed")
        host = w.url("api.test").split("/")[2]
        with tunnel(w, token, "api.test") as channel:
            self.assertEqual(channel.request("GET", "/v1/items", host).status, 200)
        channel, answer = connect(w.broker.ports["proxy"], host, revoked)
        self.assertEqual(answer.status, 407, answer)
        channel.close()
        self.assertIn("late", json.dumps(w.json("secret", "list")))
        with Channel(w.broker.ports["health"]) as channel:
            self.assertEqual(channel.request("GET", "/healthz", "health.test").status, 200)

    def test_a_restarted_edge_never_calls_a_good_token_bad(self):
        """Until it has heard from the broker it does not know: no answer yet, or 503, never 407."""
        w = harness.World()
        self.addCleanup(w.close)
        _, token = w.open_session()
        host, seen = w.url("api.test").split("/")[2], set()

        def status():
            try:
                channel, answer = connect(w.broker.ports["proxy"], host, token)
                channel.close()
                return answer.status
            except (OSError, EOFError):
                return None
        for _ in range(5):
            pid, end = w.broker.edge_pid(), time.monotonic() + harness.DEADLINE
            os.kill(pid, signal.SIGKILL)
            wait_until("another edge", lambda p=pid: w.broker.edge_pid() not in (None, p))
            answers = [None]
            while answers[-1] != 200 and time.monotonic() < end:  # without a pause: the moment is short
                answers.append(status())
            self.assertEqual(answers[-1], 200)
            seen.update(a for a in answers if a)
        self.assertLessEqual(seen, {200, 503})

    def test_sigterm_ends_with_0_and_a_whole_ledger(self):
        w = harness.World()
        self.addCleanup(w.close)
        _, token = w.open_session()
        with tunnel(w, token, "api.test") as channel:
            channel.request("GET", "/v1/items", w.url("api.test").split("/")[2])
        self.assertEqual(w.broker.stop(), 0)
        for checkpoint in w.broker.folder.rglob("checkpoint"):
            result = w.cli("audit", "verify", "--ledger", checkpoint.parent, check=False)
            self.assertEqual(result.code, 0, result.text())


if __name__ == "__main__":
    harness.main()
