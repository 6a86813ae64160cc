"""The main job, as a user does it: clone, push, call an API, be refused, read the record (issue 2, point 1; S12, S38, S42)."""
import json
import pathlib
import unittest

import harness
from harness import Case


class MainJob(Case):
    def sandboxed(self, token, script):
        """Runs a shell script under `credbroker run`, with the real tools."""
        result = self.world.cli("run", "--", "bash", "-c", script, token=token,
                                env={"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@sandbox.test", "GIT_COMMITTER_NAME": "a",
                                     "GIT_COMMITTER_EMAIL": "a@sandbox.test"}, check=False)
        self.world.received += [result.out, result.err]
        return result

    def test_a_session_does_the_whole_job(self):
        w = self.world
        session, token = w.open_session("--ticket", "T-1")
        work, git, api = w.home / "web", w.url("git.test"), w.url("api.test")
        branch = f"agent/{session}/fix"

        clone = self.sandboxed(token, f"git clone -q {git}acme/web.git {work}")
        self.assertEqual(clone.code, 0, clone.text())
        self.assertEqual((work / "README.md").read_text(), "hello\n")

        push = self.sandboxed(token, f"cd {work} && git checkout -qb {branch} && echo more >> README.md && "
                                     f"git commit -qam change && git push origin {branch}")
        self.assertEqual(push.code, 0, push.text())
        self.assertIn(f"refs/heads/{branch}", w.git.refs())

        main = w.git.refs()["refs/heads/main"]
        refused = self.sandboxed(token, f"cd {work} && git push origin HEAD:main")
        self.assertNotEqual(refused.code, 0)
        self.assertIn("remote:", refused.text())
        self.assertIn("no rule allows this ref", refused.text())
        self.assertEqual(w.git.refs()["refs/heads/main"], main)

        allowed = self.sandboxed(token, f"curl -sS --fail {api}v1/items")
        self.assertEqual(allowed.code, 0, allowed.text())
        self.assertEqual(json.loads(allowed.out)["path"], "/v1/items")

        denied = self.sandboxed(token, f"curl -sS -o body -w '%{{http_code}}' -X DELETE {api}v1/items/1; cat body; rm body")
        self.assertEqual(denied.out[:3], b"403", denied.text())
        error = json.loads(denied.out[3:])["error"]
        self.assertEqual(error["code"], harness.CODES["no_rule"])
        self.assertIn("next_step", error)

        unlisted = self.sandboxed(token, f"curl -sS {w.url('unlisted.test')}")
        self.assertNotEqual(unlisted.code, 0)
        self.assertIn("403", unlisted.text())

        records = w.records(session)
        kinds = [r["kind"] for r in records]
        self.assertGreaterEqual(kinds.count("deny"), 3, kinds)
        intents = {r["request_id"] for r in records if r["kind"] == "intent"}
        outcomes = {r["request_id"] for r in records if r["kind"] == "outcome"}
        self.assertEqual(intents, outcomes)
        self.assertIn(error["request_id"], {r["request_id"] for r in records if r["kind"] == "deny"})
        self.assertTrue(any(ref["ref"] == f"refs/heads/{branch}" for r in records for ref in r["refs"] or []), records)
        self.assertEqual(w.cli("audit", "verify").code, 0)
        table = w.cli("audit", "list", "--session", session).out.decode()
        self.assertIn("acme/web", table)

        closed = w.json("session", "close", session)
        self.assertGreaterEqual(len(closed["revoked_tokens"]), 1)
        after = self.sandboxed(token, f"git ls-remote {git}acme/web.git")
        self.assertNotEqual(after.code, 0)

        self.assertNoSecret(b"\n".join(w.received), "what the sandbox got")
        for file in pathlib.Path(work).rglob("*"):
            if file.is_file():
                self.assertNoSecret(file.read_bytes(), file)

    def test_run_opens_and_closes_a_session_of_its_own(self):
        w = self.world
        before = {s["id"] for s in w.json("session", "list", "--all")}
        done = w.cli("run", "--requester", "team-web", "--scope", "web-agent", "--", "curl", "-sS", w.url("api.test", "/v1/items"))
        self.assertEqual(json.loads(done.out)["path"], "/v1/items")
        fresh = [s for s in w.json("session", "list", "--all") if s["id"] not in before]
        self.assertEqual([s["state"] for s in fresh], ["closed"])

    def test_run_passes_on_the_exit_status(self):
        _, token = self.world.open_session()
        self.assertEqual(self.world.cli("run", "--", "sh", "-c", "exit 7", token=token, check=False).code, 7)

    def test_whoami_lists_what_is_enforced(self):
        session, token = self.world.open_session()
        text = json.dumps(self.world.json("token", "whoami", token=token))
        for word in (session, "acme/web", f"refs/heads/agent/{session}/**", "api.test"):
            self.assertIn(word, text)
        self.assertNoSecret(text.encode(), "whoami")


if __name__ == "__main__":
    harness.main()
