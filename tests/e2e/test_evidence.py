"""The reviewer's answers and the bundle (S1 to S77)."""
import pathlib
import re
import subprocess
import tempfile

import harness
from harness import Case


class Evidence(Case):
    config = """declared:
  by: jo@corp.example
  on: 2026-11-30
  isolation: {kind: microvm, patch_owner: platform team}
  retention: {audit: two years}
  reviewed_by: sam@corp.example
  reviewed_at: 2026-11-30
  subprocessors: [Example Cloud Ltd]
  attestations:
    - {title: Type II report, scope: hosting, period: "2026", where: "https://trust.vendor.example/report"}
"""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def file(self, name):
        return pathlib.Path(self.folder.name) / name

    def answers(self):
        return {a["id"]: a for a in self.world.json("evidence", "answers")["answers"]}

    def test_every_question_is_answered_once_S1(self):
        pack = self.world.json("evidence", "answers")
        self.assertEqual([a["id"] for a in pack["answers"]], [f"S{i}" for i in range(1, 78)])
        self.assertEqual({a["group"] for a in pack["answers"]}, {"isolation", "network", "secrets", "git", "data", "evidence"})
        self.assertFalse(pack["stale"])
        self.assertEqual(pack["pilot"], "none")
        answers = self.answers()
        self.assertIn("microvm (declared by jo@corp.example on 2026-11-30, not verified", answers["S3"]["value"])
        self.assertIn("Type II report: hosting, 2026, to be read at https://trust.vendor.example/report", answers["S25"]["value"])
        self.assertIn(f"git.test:{self.world.git.port}", answers["S8"]["value"])
        self.assertTrue(answers["S62"]["unknown"])
        table = self.world.cli("evidence", "answers").out.decode()
        self.assertIn("S33", table)

    def test_every_format_says_the_same(self):
        pack = self.world.json("evidence", "answers")
        for form in ("markdown", "html"):
            target = self.file(f"answers.{form}")
            self.world.cli("evidence", "answers", "--format", form, "--out", target)
            text = target.read_text()
            for answer in pack["answers"]:
                self.assertEqual(len(re.findall(rf"\b{answer['id']}\b(?=[ <])", text)) >= 1, True, f"{form} {answer['id']}")
            self.assertNotRegex(text, r"(?i)<script|src=|https?://[^\s<]*\.(js|css)")

    def test_groups_and_audiences_select(self):
        secrets = self.world.json("evidence", "answers", "--group", "secrets")["answers"]
        self.assertEqual({a["group"] for a in secrets}, {"secrets"})
        legal = self.world.json("evidence", "answers", "--audience", "legal")["answers"]
        self.assertEqual({a["audience"] for a in legal}, {"legal"})
        refused = self.world.cli("evidence", "answers", "--group", "gti", check=False)
        self.assertEqual(refused.code, 1)
        self.assertIn(b"bad_argument", refused.err)

    def test_an_exception_weakens_the_row_by_itself_S33(self):
        self.assertEqual(self.answers()["S33"]["value"], "credential proxy, but bytes pass unread under: EX-1")
        self.addCleanup(self.world.cli, "exception", "enable", "EX-1")
        self.world.cli("exception", "disable", "EX-1")
        self.assertEqual(self.answers()["S33"]["value"], "credential proxy, exceptions listed")
        before, after = self.file("before.json"), self.file("after.json")
        self.world.cli("evidence", "answers", "--format", "json", "--out", before)
        self.world.cli("exception", "add", "EX-33", "--host", "pinned.vendor.test", "--reason", "pins", "--owner", "jo", "--approved-by", "sec", "--expires", "2031-01-31")
        self.addCleanup(lambda: self.world.cli("exception", "disable", "EX-33"))
        self.assertIn("EX-33", self.answers()["S33"]["value"])
        self.assertIn("NOT inspected", self.answers()["S8"]["value"])
        self.world.cli("evidence", "answers", "--format", "json", "--out", after)
        changes = {c["id"]: c for c in self.world.json("evidence", "diff", before, after)}
        self.assertEqual(changes["S8"]["material"], "network defaults")
        self.assertIn("S33", changes)
        self.world.cli("exception", "disable", "EX-33")
        self.assertEqual(self.answers()["S33"]["value"], "credential proxy, exceptions listed")

    def test_a_bundle_verifies_offline_and_a_changed_one_does_not_S24(self):
        bundle, key = self.file("evidence.tar"), self.file("ledger.vkey")
        made = self.world.json("evidence", "bundle", "--out", bundle)
        key.write_text(made["key"] + "\n")
        offline = {"CREDBROKER_ADDRESS": "unix:/nowhere"}
        checked = self.world.json("evidence", "bundle", "--verify", bundle, "--key", key, env=offline)
        self.assertTrue(checked["whole"] and checked["pinned"])
        self.assertLessEqual({"answers.json", "answers.html", "answers.md", "architecture.md", "checkpoint", "ledger.vkey"}, set(checked["parts"]))
        listed = subprocess.run(["tar", "-tf", bundle], check=True, capture_output=True).stdout.decode().split()
        self.assertEqual(listed, ["MANIFEST", *checked["parts"]])
        data = bundle.read_bytes()
        at = data.index(b"credential proxy")
        bundle.write_bytes(data[:at] + b"C" + data[at + 1:])
        refused = self.world.cli("evidence", "bundle", "--verify", bundle, "--key", key, env=offline, check=False)
        self.assertEqual(refused.code, 1)
        self.assertRegex(refused.err, rb"bundle_invalid.*answers\.(html|json|md) was changed")
        record = [r for r in self.world.json("audit", "list", "--kind", "admin") if r.get("action") == "evidence.bundle"]
        self.assertEqual(len(record), 1)

    def test_a_bare_claim_does_not_start_S25(self):
        bad = self.file("bad.yaml")
        bad.write_text("declared:\n  by: jo\n  on: 2026-11-30\n  isolation: {notes: SOC 2 certified}\n")
        done = subprocess.run([self.world.bin / "credbrokerd", "serve", "--config", bad, "--data-dir", self.file("none")], capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"answer_refused", done.stderr)
        self.assertIn(b"bad.yaml:2", done.stderr)

    def test_a_sandbox_gets_no_answers_S22(self):
        _, token = self.world.open_session()
        self.world.folder.chmod(0o711)  # the broker's socket is for every user; a test's folder is not
        self.addCleanup(self.world.folder.chmod, 0o700)
        done = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", str(self.world.bin / "credbroker"), "evidence", "answers"],
                                      env={"CREDBROKER_ADDRESS": self.world.broker.address, "CREDBROKER_TOKEN": token, **harness.SANITIZER}, capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"caller_not_allowed", done.stderr)


if __name__ == "__main__":
    harness.main()
