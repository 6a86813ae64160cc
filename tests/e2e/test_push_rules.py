"""Rules on what a push carries: protected paths, sizes, stray objects (S16, S18; field 57, 58; facts 3.3). git is real on both sides."""
import os
import struct
import subprocess
import unittest
import zlib

import harness
from client import tunnel
from harness import Case
from test_git import EMPTY_PACK, ZERO, pkt

GUARDED = """        git:
          fetch: allow
          push: {refs: ["refs/heads/agent/{session}/**", "refs/tags/agent-*", "refs/notes/agent"], create: allow, delete: allow, force: %s%s}
"""
PROTECTED = ', deny_paths: [".github/workflows/**", CODEOWNERS, .gitmodules, /ci.sh]'


def pack_of(*objects):
    """A pack of (type, content): 1 commit, 2 tree, 3 blob, 4 tag."""
    import hashlib
    out = b"PACK" + struct.pack(">II", 2, len(objects))
    for kind, content in objects:
        size, head = len(content) >> 4, [kind << 4 | len(content) & 15]
        while size:
            head[-1] |= 0x80
            head.append(size & 0x7F)
            size >>= 7
        out += bytes(head) + zlib.compress(content)
    return out + hashlib.sha1(out).digest()


def object_id(kind, content):
    import hashlib
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(content)) + content).hexdigest()


class PushRules(Case):
    rule = PROTECTED
    force = "allow"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.world.apply(cls.policy(cls.rule, cls.force))

    @classmethod
    def policy(cls, rule, force="allow"):
        text = cls.world.policy()
        head, rest = text.split("        git:\n          fetch: allow\n", 1)
        return head + GUARDED % (force, rule) + rest.split("\n", 1)[1]

    def setUp(self):
        w = self.world
        self.session, self.token = w.open_session()
        self.remote = w.url("git.test", "/acme/web.git")
        self.prefix = f"refs/heads/agent/{self.session}"
        self.work = w.home / self.id().rsplit(".", 1)[1]
        w.git.git("acme/web", "config", "uploadpack.allowFilter", "true")

    def git(self, *args, ok=True, cwd=None, **kw):
        result = self.world.sandbox(self.token, "git", *args, cwd=cwd or (self.work if self.work.exists() else None), **kw)
        if ok is not None:
            self.assertEqual(result.code == 0, ok, result.text())
        return result

    def clone(self, *options):
        self.git("clone", "-q", *options, self.remote, self.work)

    def write(self, path, text="x\n"):
        file = self.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def commit(self, *paths, text="x\n"):
        for path in paths:
            self.write(path, text)
        self.git("add", "-A")
        self.git("commit", "-qm", "change")
        return self.git("rev-parse", "HEAD").out.decode().strip()

    def seed(self, *paths, text="seed\n", branch="main"):
        """A commit that the host's own people make, outside the edge."""
        bare, work = self.world.git.bare("acme/web"), self.world.folder / "people"
        run = lambda *args: subprocess.run(["git", "-C", work, "-c", "user.name=p", "-c", "user.email=p@git.test", *args], check=True, capture_output=True)
        subprocess.run(["git", "clone", "-q", "-b", "main", bare, work], check=True, capture_output=True)
        for path in paths:
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text)
        run("add", "-A")
        run("commit", "-qm", "people")
        run("push", "-q", "origin", f"HEAD:refs/heads/{branch}")
        commit = run("rev-parse", "HEAD").stdout.decode().strip()
        subprocess.run(["rm", "-rf", work], check=True)
        return commit

    def push(self, *args, ok=True):
        return self.git("push", "origin", *args, ok=ok)

    def assertProtected(self, result, path, pattern, ref):
        """What the person at the keyboard reads, and nothing at the host."""
        text = result.text()
        self.assertIn(f"remote: path: {path} (protected by {pattern})", text)
        self.assertIn("the push changes a path that the scope protects", text)
        self.assertIn("git.push.deny_paths", text)
        self.assertIn("next step:", text)
        self.assertRegex(text, r"! \[remote rejected\].*\[2120\]")
        self.assertNotIn(ref, self.world.git.refs())
        self.assertEqual([r["code"] for r in self.world.records(self.session, kind="deny")][-1], "path_protected")

    def post(self, commands, pack, shallow=()):
        body = b"".join(pkt(f"shallow {i}") for i in shallow)
        for i, (old, new, ref) in enumerate(commands):
            body += pkt(f"{old} {new} {ref}".encode() + (b"\0 report-status side-band-64k" if i == 0 else b""))
        host = self.remote.split("/")[2]
        with tunnel(self.world, self.token, "git.test") as channel:
            return channel.request("POST", "/acme/web.git/git-receive-pack", host,
                                   ["Content-Type: application/x-git-receive-pack-request"], body + b"0000" + pack)


class ProtectedPaths(PushRules):
    def test_a_change_elsewhere_passes_and_a_protected_one_does_not(self):
        self.clone()
        commit = self.commit("src/a.c", "src/deep/er/b.c")
        self.push(f"HEAD:{self.prefix}/ok")
        self.assertEqual(self.world.git.refs()[f"{self.prefix}/ok"], commit)
        for path, pattern in ((".github/workflows/x.yml", ".github/workflows/**"), ("CODEOWNERS", "CODEOWNERS"), ("docs/CODEOWNERS", "CODEOWNERS"),
                              (".gitmodules", ".gitmodules"), ("ci.sh", "/ci.sh"), (".GitHub/Workflows/y.yml", ".github/workflows/**")):
            with self.subTest(path=path):
                self.git("reset", "-q", "--hard", commit)
                self.commit(path)
                before = self.world.git.access_log().count('"POST /acme/web.git/git-receive-pack')
                result = self.push(f"HEAD:{self.prefix}/bad", ok=False)
                self.assertProtected(result, path, pattern, f"{self.prefix}/bad")
                self.assertEqual(self.world.git.access_log().count('"POST /acme/web.git/git-receive-pack'), before)
        self.git("reset", "-q", "--hard", commit)
        self.commit("src/ci.sh", ".github/other/x.yml", "CODEOWNERS.md")
        self.push(f"HEAD:{self.prefix}/near")

    def test_it_cannot_be_hidden_below_a_later_commit(self):
        self.clone()
        self.commit("CODEOWNERS")
        self.git("rm", "-q", "CODEOWNERS")
        self.git("commit", "-qm", "gone again")
        self.assertProtected(self.push(f"HEAD:{self.prefix}/h", ok=False), "CODEOWNERS", "CODEOWNERS", f"{self.prefix}/h")

    def test_renames_deletes_links_and_modules(self):
        self.seed("CODEOWNERS", ".github/workflows/ci.yml", "ci.sh")
        self.clone()
        base = self.git("rev-parse", "HEAD").out.decode().strip()

        def case(name, path, pattern, *commands, ok=False):
            with self.subTest(name):
                self.git("reset", "-q", "--hard", base)
                for command in commands:
                    self.git(*command)
                self.git("commit", "-qm", name)
                result = self.push(f"HEAD:{self.prefix}/{name}", ok=ok)
                if not ok:
                    self.assertProtected(result, path, pattern, f"{self.prefix}/{name}")

        case("delete", "CODEOWNERS", "CODEOWNERS", ["rm", "-q", "CODEOWNERS"])
        case("away", "ci.sh", "/ci.sh", ["mv", "ci.sh", "other.sh"])
        case("into", "ci.sh", "/ci.sh", ["mv", "-f", "README.md", "ci.sh"])
        case("mode", "ci.sh", "/ci.sh", ["update-index", "--chmod=+x", "ci.sh"])
        case("folder", ".github/workflows/ci.yml", ".github/workflows/**", ["mv", ".github", "github"])
        blob = self.git("hash-object", "-w", "--stdin", input=b"docs").out.decode().strip()
        case("link", ".github", ".github/workflows/**", ["rm", "-rq", "--cached", ".github"], ["update-index", "--add", "--cacheinfo", f"120000,{blob},.github"])
        case("module", ".github/workflows", ".github/workflows/**", ["rm", "-rq", "--cached", ".github/workflows"],
             ["update-index", "--add", "--cacheinfo", f"160000,{base},.github/workflows"])
        case("elsewhere", None, None, ["update-index", "--add", "--cacheinfo", f"120000,{blob},src-link"],
             ["update-index", "--add", "--cacheinfo", f"160000,{base},vendor"], ok=True)

    def test_merging_what_the_hosts_people_changed_is_no_change_of_ours(self):
        self.clone()
        self.commit("src/ours.c")
        self.seed("CODEOWNERS", ".github/workflows/new.yml", text="theirs\n")
        self.git("fetch", "-q", "origin")
        self.git("merge", "-q", "-m", "merge", "origin/main")
        self.push(f"HEAD:{self.prefix}/merged")
        (self.work / "CODEOWNERS").write_text("mine\n")
        self.git("commit", "-qa", "--amend", "-m", "an evil merge")
        self.assertProtected(self.push(f"HEAD:{self.prefix}/evil", ok=False), "CODEOWNERS", "CODEOWNERS", f"{self.prefix}/evil")

    def test_a_base_that_is_behind_the_branch_is_shown_to_be_of_it(self):
        self.clone()
        self.seed("src/later.c", text=os.urandom(8).hex())
        self.seed("src/later.c", text=os.urandom(8).hex())
        self.commit("src/mine.c")
        self.push(f"HEAD:{self.prefix}/behind")
        self.world.git.git("acme/web", "config", "uploadpack.allowFilter", "false")
        self.commit("src/more.c")
        self.git("push", "origin", f"HEAD:{self.prefix}/unfiltered")
        self.commit("CODEOWNERS")
        self.push(f"HEAD:{self.prefix}/unfiltered2", ok=False)

    def test_an_existing_commit_becomes_a_branch_and_an_empty_push_moves_one(self):
        self.clone()
        main = self.world.git.refs()["refs/heads/main"]
        self.push(f"HEAD:{self.prefix}/same")
        self.assertEqual(self.world.git.refs()[f"{self.prefix}/same"], main)
        later = self.seed("CODEOWNERS", text=os.urandom(8).hex())
        self.git("fetch", "-q", "origin")
        self.push(f"origin/main:{self.prefix}/same")
        self.assertEqual(self.world.git.refs()[f"{self.prefix}/same"], later)
        self.push("--delete", f"{self.prefix}/same")

    def test_commits_that_no_branch_of_the_host_reaches_decide_nothing(self):
        """As those of a fork, or of a branch that was dropped: the host has them, and would take them (field 57)."""
        self.clone()
        bad = self.seed("CODEOWNERS", text=os.urandom(8).hex(), branch="dropped")
        self.git("fetch", "-q", "origin", "dropped")
        self.world.git.git("acme/web", "update-ref", "-d", "refs/heads/dropped")
        self.world.git.git("acme/web", "update-ref", "refs/pull/1/head", bad)
        answer = self.post([(ZERO, bad, f"{self.prefix}/dropped")], EMPTY_PACK)
        self.assertIn(b"[2118]", answer.body)
        tree = self.git("rev-parse", bad + "^{tree}").out.decode().strip()
        commit = f"tree {tree}\nparent {bad}\nauthor a <a@x.test> 1 +0000\ncommitter a <a@x.test> 1 +0000\n\nm\n".encode()
        answer = self.post([(ZERO, object_id("commit", commit), f"{self.prefix}/on-top")], pack_of((1, commit)))
        self.assertIn(b"[2118]", answer.body)
        self.assertFalse([r for r in self.world.git.refs() if r.startswith(self.prefix)])
        self.world.git.git("acme/web", "update-ref", "-d", "refs/pull/1/head")

    def test_a_push_on_too_many_old_commits_is_not_decided(self):
        """Each base that is no tip is a question to the host, and there is an end to that."""
        olds = [self.seed("src/n.c", text=os.urandom(8).hex()) for _ in range(18)]
        self.clone()
        tree = self.git("rev-parse", "HEAD^{tree}").out.decode().strip()
        for count, ok in ((16, True), (17, False)):
            parents = [word for old in olds[:count] for word in ("-p", old)]
            tip = self.git("commit-tree", tree, "-m", "octopus", *parents).out.decode().strip()
            result = self.push(f"{tip}:{self.prefix}/octopus{count}", ok=ok)
            self.assertEqual("[2118]" in result.text(), not ok, result.text())

    def test_history_without_a_parent_is_compared_with_nothing(self):
        self.clone()
        self.git("checkout", "-q", "--orphan", "new")
        self.git("rm", "-rqf", ".")
        self.commit("src/x.c")
        self.push(f"HEAD:{self.prefix}/orphan")
        self.commit("a/b/CODEOWNERS")
        self.assertProtected(self.push(f"HEAD:{self.prefix}/orphan2", ok=False), "a/b/CODEOWNERS", "CODEOWNERS", f"{self.prefix}/orphan2")

    def test_tags_of_tags_and_notes_are_looked_through(self):
        self.clone()
        self.commit("src/t.c")
        self.git("tag", "-a", "-m", "t", "agent-1")
        self.git("tag", "-a", "-m", "t", "agent-2", "agent-1")
        self.push("agent-1", "agent-2", f"HEAD:{self.prefix}/t")
        self.commit("CODEOWNERS")
        self.git("tag", "-a", "-m", "t", "agent-3")
        self.git("tag", "-a", "-m", "t", "agent-4", "agent-3")
        self.assertProtected(self.push("agent-4", ok=False), "CODEOWNERS", "CODEOWNERS", "refs/tags/agent-4")
        self.git("notes", "--ref", "agent", "add", "-m", "n", "HEAD~1")
        self.push("refs/notes/agent")
        blob = self.git("rev-parse", "HEAD:src/t.c").out.decode().strip()
        self.git("tag", "agent-blob", blob)
        self.assertIn("[2118]", self.push("agent-blob", ok=False).text())

    def test_one_protected_ref_refuses_all_and_names_its_ref(self):
        self.clone()
        good = self.commit("src/g.c")
        self.commit("CODEOWNERS")
        result = self.push(f"{good}:{self.prefix}/good", f"HEAD:{self.prefix}/bad", ok=False)
        self.assertProtected(result, "CODEOWNERS", "CODEOWNERS", f"{self.prefix}/good")
        self.assertRegex(result.text(), rf"remote: .*\({self.prefix}/bad\)")
        self.push("--atomic", f"{good}:{self.prefix}/good", f"{good}:{self.prefix}/good2")

    def test_objects_that_no_ref_reaches_are_refused(self):
        self.clone()
        main = self.world.git.refs()["refs/heads/main"]
        tree = self.git("rev-parse", "HEAD^{tree}").out.decode().strip()
        commit = f"tree {tree}\nparent {main}\nauthor a <a@x.test> 1 +0000\ncommitter a <a@x.test> 1 +0000\n\nm\n".encode()
        new = object_id("commit", commit)
        answer = self.post([(ZERO, new, f"{self.prefix}/stray")], pack_of((1, commit), (3, b"smuggled")))
        self.assertIn(b"[2121]", answer.body)
        for name, pack in (("twice", pack_of((1, commit), (1, commit))), ("broken", pack_of((1, commit))[:-1] + b"x"), ("bad tree", pack_of((1, commit), (2, b"x")))):
            with self.subTest(name):
                answer = self.post([(ZERO, new, f"{self.prefix}/stray")], pack)
                self.assertRegex(answer.body, rb"\[(3024|2121)\]")
        answer = self.post([(ZERO, new, f"{self.prefix}/stray")], pack_of((1, commit)))
        self.assertIn(b"ok " + f"{self.prefix}/stray".encode(), answer.body)

    def test_a_thin_pack_is_asked_away_and_else_decides_nothing(self):
        self.seed("big.txt", text="\n".join(str(i) for i in range(5000)))
        self.clone()
        with tunnel(self.world, self.token, "git.test") as channel:
            offer = channel.request("GET", "/acme/web.git/info/refs?service=git-receive-pack", self.remote.split("/")[2])
        self.assertRegex(offer.body.split(b"\n")[1], rb"\bno-thin\b")
        self.assertNotRegex(offer.body.split(b"\n")[1], rb"push-cert|push-options")
        self.write("big.txt", "\n".join(str(i) for i in range(5001)))
        self.git("commit", "-qam", "small change")
        new, main = self.git("rev-parse", "HEAD").out.decode().strip(), self.world.git.refs()["refs/heads/main"]
        thin = self.git("pack-objects", "-q", "--revs", "--thin", "--stdout", input=f"{new}\n^{main}\n".encode()).out
        self.assertIn(b"[2118]", self.post([(ZERO, new, f"{self.prefix}/thin")], thin).body)
        self.push(f"HEAD:{self.prefix}/thin")

    def test_shallow_clones_push_what_can_be_judged(self):
        self.seed("src/s.c", text=os.urandom(4).hex())
        self.git("clone", "-q", "--depth", "1", self.remote, self.work)
        self.commit("src/shallow.c")
        self.push(f"HEAD:{self.prefix}/shallow")
        self.commit("CODEOWNERS")
        self.assertProtected(self.push(f"HEAD:{self.prefix}/shallow2", ok=False), "CODEOWNERS", "CODEOWNERS", f"{self.prefix}/shallow2")
        # A commit whose parents the client claims not to have would begin a new history.
        new = self.git("rev-parse", "HEAD~1").out.decode().strip()
        tree, commit = (self.git("cat-file", t, o).out for t, o in (("tree", new + "^{tree}"), ("commit", new)))
        self.assertIn(b"[3019]", self.post([(ZERO, new, f"{self.prefix}/cut")],
                                           self.git("pack-objects", "-q", "--revs", "--stdout", input=f"{new}\n^{new}~1\n".encode()).out, [new]).body)
        self.assertTrue(tree and commit)

    def test_the_ledger_tells_of_what_the_edge_read(self):
        self.clone()
        self.commit("src/l.c")
        self.push(f"HEAD:{self.prefix}/ledger")
        reads = [r for r in self.world.records(self.session, kind="intent") if r["rule"].endswith("git.push.deny_paths")]
        self.assertEqual([(r["effect_class"], r["path"], r["credential"]) for r in reads], [("read", "/acme/web.git/git-upload-pack", "git-bot")])
        harness.wait_until("its outcome", lambda: self.world.records(self.session, kind="outcome", request_id=reads[0]["request_id"]))
        self.assertEqual([f for f in self.world.folder.glob("data/**/spool-*")], [])
        for blob in self.world.received:
            self.assertNoSecret(blob, "what the sandbox got")

    def test_explain_says_what_a_push_must_keep_to(self):
        base = ["policy", "explain", "--scope", "web-agent", "--git", "push", "--repo", self.remote, "--ref", "refs/heads/agent/SESSION/x", "--create"]
        answer = self.world.json(*base)
        self.assertEqual(answer["decision"], "allow")
        self.assertTrue(any("CODEOWNERS" in c and ".github/workflows/**" in c for c in answer["conditions"]), answer)
        answer = self.world.json(*base, "--path", ".github/workflows/x.yml")
        self.assertEqual((answer["decision"], answer["reason_code"]), ("deny", "path_protected"), answer)
        self.assertEqual(self.world.json(*base, "--path", "src/x")["decision"], "allow")
        whoami = self.world.json("token", "whoami", token=self.token)
        self.assertIn("CODEOWNERS", str(whoami))


class WithoutForce(PushRules):
    force = "deny"

    def test_fast_forwards_are_proven_beside_the_content(self):
        self.clone()
        self.commit("src/a.c")
        name = f"{self.prefix}/ff"
        self.push(f"HEAD:{name}")
        second = self.commit("src/b.c")
        self.push(f"HEAD:{name}")
        self.assertEqual(self.world.git.refs()[name], second)
        self.git("reset", "-q", "--hard", "HEAD~2")
        self.commit("src/c.c")
        self.assertIn("[2107]", self.push("--force", f"HEAD:{name}", ok=False).text())


class Sizes(PushRules):
    rule = ", max_push_bytes: 20000, max_objects: 10, max_blob_bytes: 8000"

    def test_limits_of_a_rule(self):
        self.clone()
        base = self.git("rev-parse", "HEAD").out.decode().strip()
        self.commit("src/small", text="x" * 7000)
        self.push(f"HEAD:{self.prefix}/small")
        for name, files, text, part in (("blob", ["big"], "x" * 8001, "max_blob_bytes"), ("objects", [f"f{i}" for i in range(11)], None, "max_objects"),
                                        ("bytes", ["r1", "r2", "r3", "r4"], "random", "max_push_bytes")):
            with self.subTest(name):
                self.git("reset", "-q", "--hard", base)
                for i, file in enumerate(files):
                    self.write(file, "".join(chr(33 + b % 90) for b in os.urandom(7990)) if text == "random" else text or str(i))
                self.git("add", "-A")
                self.git("commit", "-qm", name)
                result = self.push(f"HEAD:{self.prefix}/{name}", ok=False)
                self.assertIn("[2122]", result.text())
                self.assertIn(part, result.text())
                self.assertNotIn(f"{self.prefix}/{name}", self.world.git.refs())


del PushRules  # not a test of its own

if __name__ == "__main__":
    harness.main()
