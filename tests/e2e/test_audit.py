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
import tlog_check
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

    def test_a_third_partys_tool_accepts_checkpoint_and_proof(self):
        w = self.world
        session, token = w.open_session()
        with tunnel(w, token, "echo.test") as channel:
            for number in range(5):
                channel.request("GET", f"/open/p{number}", w.url("echo.test").split("/")[2])
        wait_until("the records are shipped", lambda: [r for r in w.records(session) if r["kind"] == "outcome"])
        keys = w.folder / "pinned.vkey"
        w.cli("audit", "checkpoint", "--key-out", keys)
        kept = {key.split("+")[0]: key for key in keys.read_text().splitlines()}
        for record in w.records(session)[:6]:
            answer = w.json("audit", "prove", record["id"])
            vkey = kept[answer["key"].split("+")[0]]
            leaf = answer["record"].encode()
            self.assertEqual(tlog_check.check_proof(answer["proof"], leaf, vkey), answer["index"])
            for changed in (leaf.replace(b"team-web", b"team-wob"), leaf[:-1], leaf + b"x"):
                if changed != leaf:
                    self.assertRaises(ValueError, tlog_check.check_proof, answer["proof"], changed, vkey)
            forged = answer["proof"].replace(f"index {answer['index']}\n", f"index {answer['index'] + 1}\n")
            self.assertRaises(ValueError, tlog_check.check_proof, forged, leaf, vkey)
            for key in kept.values():
                if key != vkey:
                    self.assertRaises(ValueError, tlog_check.check_proof, answer["proof"], leaf, key)

    def test_exports_go_on_over_a_restart_and_hold_every_record_once(self):
        w = harness.World()
        self.addCleanup(w.close)
        session, token = w.open_session()
        cursor, out = w.folder / "siem.cursor", w.folder / "siem.jsonl"

        def ask(path):
            with tunnel(w, token, "echo.test") as channel:
                channel.request("GET", path, w.url("echo.test").split("/")[2])
            wait_until("the record is there", lambda: [r for r in w.records(session) if r["path"] == path and r["kind"] == "outcome"])

        def export(*more):
            return w.cli("audit", "export", "--cursor-file", cursor, "--out", out, *more)
        ask("/open/one")
        export("--limit", "2")
        self.assertEqual(len(out.read_text().splitlines()), 2)
        export()
        w.broker.kill()
        w.broker.start()
        ask("/open/two")
        export()
        export()
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        ids = [r["id"] for r in lines]
        self.assertEqual(len(ids), len(set(ids)), "a record twice")
        listed = {r["id"] for r in w.json("audit", "list", "--limit", "10000") if r.get("session") == session}
        self.assertLessEqual(listed, set(ids))
        self.assertEqual(out.stat().st_mode & 0o777, 0o600)
        self.assertEqual({r["path"] for r in lines if r["kind"] == "intent" and r["path"].startswith("/open")}, {"/open/one", "/open/two"})
        refused = w.cli("audit", "export", "--from", "c1:broker=999999", check=False)
        self.assertEqual(refused.code, 1)
        self.assertIn("4010", refused.text())
        for form, mark in (("ocsf", '"class_uid":6003'), ("syslog", "[credbroker@32473 "), ("cef", "CEF:0|Credbroker|")):
            shown = w.cli("audit", "export", "--format", form, "--session", session).out.decode().splitlines()
            self.assertTrue(shown and all(mark in line for line in shown), form)

    def test_a_refusal_is_explained_and_hangs_on_a_chain(self):
        w = self.world
        session, token = w.open_session("--ticket", "T-77")
        with tunnel(w, token, "echo.test") as channel:
            host = w.url("echo.test").split("/")[2]
            self.assertEqual(channel.request("GET", "/closed/why", host).status, 403)
            self.assertEqual(channel.request("GET", "/open/why", host).status, 200)
        deny = wait_until("it is recorded", lambda: w.records(session, kind="deny"))[0]
        why = w.json("policy", "why", deny["request_id"])
        self.assertIn(deny["code"], " ".join(why["words"]))
        self.assertEqual(why["not_searched"], "")
        self.assertIn("Refused", w.cli("audit", "why", deny["id"]).out.decode())
        allowed = wait_until("it is recorded", lambda: w.records(session, kind="intent", path="/open/why"))[0]
        chain = w.json("audit", "show", allowed["id"], "--chain")
        self.assertEqual(chain["summary"]["session"], session)
        self.assertEqual(chain["summary"]["requester"], "team-web")
        self.assertEqual(chain["tokens"][0]["token_id"], allowed["token_id"])
        self.assertEqual(chain["session"][0]["action"], "session.open")
        self.assertEqual(chain["policy"]["policy_version"], allowed["policy_version"])
        self.assertTrue(chain["summary"]["policy_author"])
        under = w.json("audit", "list", "--policy-version", str(allowed["policy_version"]), "--decision", "allow", "--limit", "10000")
        self.assertIn(allowed["id"], [r["id"] for r in under])
        self.assertTrue(w.json("policy", "history", "--scope", "web-agent"))
        self.assertEqual(w.cli("policy", "history", "--scope", "never-there", check=False).code, 1)

    def test_an_incident_report_matches_the_log_S47(self):
        w = self.world
        session, token = w.open_session()
        with tunnel(w, token, "echo.test") as channel:
            host = w.url("echo.test").split("/")[2]
            channel.request("GET", "/open/incident", host)
            channel.request("GET", "/closed/incident", host)
        w.cli("session", "close", session)
        log = wait_until("the outcomes are there", lambda: (r := w.records(session)) and any(x["kind"] == "outcome" for x in r) and r)
        report = w.json("audit", "incident", "--since", "1h", "--session", session)
        row = next(s for s in report["sessions"] if s["session"] == session)
        self.assertEqual(row["allowed"], sum(r["kind"] == "intent" for r in log))
        self.assertEqual(row["refused"], sum(r["kind"] == "deny" for r in log))
        self.assertEqual({t["token_id"] for t in report["tokens"]}, {r["token_id"] for r in log if r["kind"] == "issue"})
        self.assertEqual({c["credential"] for c in report["credentials"]}, {r["credential"] for r in log if r["kind"] == "intent" and r["credential"]})
        self.assertIn("# Incident report", w.cli("audit", "incident", "--since", "1h").out.decode())

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
