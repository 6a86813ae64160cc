"""git as it really is: protocol versions, compressed and chunked bodies, refs good and bad (facts 3.3; S16; B19, B21, B23, B25)."""
import gzip
import os
import subprocess
import unittest

import harness
from client import Channel, basic, tunnel
from harness import Case

ZERO = "0" * 40


def pkt(text):
    data = text if isinstance(text, bytes) else text.encode()
    return b"%04x" % (len(data) + 4) + data


EMPTY_PACK = bytes.fromhex("5041434b0000000200000000029d08823bd8a8eab510ad6ac75c823cfd3ed31e")


class Git(Case):
    def setUp(self):
        w = self.world
        self.session, self.token = w.open_session()
        self.remote = w.url("git.test", "/acme/web.git")
        self.prefix = f"refs/heads/agent/{self.session}"
        self.work = w.home / self.id().rsplit(".", 1)[1]

    def git(self, *args, ok=True, cwd=None, **kw):
        result = self.world.sandbox(self.token, "git", *args, cwd=cwd or (self.work if self.work.exists() else None), **kw)
        self.assertEqual(result.code == 0, ok, result.text())
        return result

    def clone(self, *options):
        self.git("clone", "-q", *options, self.remote, self.work)

    def commit(self, text="change", size=0):
        (self.work / "file").write_bytes(os.urandom(size) if size else text.encode())
        self.git("add", ".")
        self.git("commit", "-qm", text)
        return self.git("rev-parse", "HEAD").out.decode().strip()

    def post_push(self, commands, pack=EMPTY_PACK, headers=(), raw=None, caps=" report-status side-band-64k agent=git/2"):
        """A hand-made receive-pack request through an intercepted tunnel."""
        body = b""
        for i, (old, new, ref) in enumerate(commands):
            line = f"{old} {new} {ref}".encode()
            body += pkt(line + (b"\0" + caps.encode() if i == 0 else b""))
        body = raw if raw is not None else body + b"0000" + pack
        host = self.remote.split("/")[2]
        with tunnel(self.world, self.token, "git.test") as channel:
            return channel.request("POST", "/acme/web.git/git-receive-pack", host,
                                   ["Content-Type: application/x-git-receive-pack-request", *headers], body)

    def test_every_protocol_version_clones_fetches_and_pushes(self):
        for version in (0, 1, 2):
            with self.subTest(version=version):
                self.work = self.world.home / f"v{version}"
                self.git("-c", f"protocol.version={version}", "clone", "-q", self.remote, self.work)
                commit = self.commit(f"version {version}")
                self.git("-c", f"protocol.version={version}", "push", "-q", "origin", f"HEAD:{self.prefix}/v{version}")
                self.assertEqual(self.world.git.refs()[f"{self.prefix}/v{version}"], commit)
                self.git("-c", f"protocol.version={version}", "fetch", "-q", "origin")

    def test_many_tags_make_git_compress_its_request_B23(self):
        w = self.world
        main = w.git.refs()["refs/heads/main"]
        stream = "".join(f"commit refs/tags/t{i:03d}\ncommitter s <s@git.test> {i} +0000\ndata 1\nx\nfrom {main}\n\n" for i in range(400))
        subprocess.run(["git", "--git-dir", w.git.bare("acme/web"), "fast-import", "--quiet"], input=stream.encode(), check=True)
        self.work.mkdir()
        self.git("init", "-q", ".")
        for version in (0, 2):
            result = self.git("-c", f"protocol.version={version}", "fetch", "-q", self.remote, "refs/tags/*:refs/tags/*",
                              env={"GIT_TRACE_CURL": "1"})
            if version == 0:
                self.assertIn(b"Content-Encoding: gzip", result.err)
        self.assertEqual(len(self.git("tag").out.split()), 400)
        self.assertEqual(w.git.refs()["refs/heads/main"], main)

    def test_large_push_is_probed_and_chunked(self):
        self.clone()
        commit = self.commit("large", size=5 << 20)
        result = self.git("push", "origin", f"HEAD:{self.prefix}/large", env={"GIT_TRACE_CURL": "1"})
        self.assertIn(b"Transfer-Encoding: chunked", result.err)
        self.assertEqual(self.world.git.refs()[f"{self.prefix}/large"], commit)

    def test_large_clone_is_whole(self):
        self.clone()
        commit = self.commit("twenty MiB", size=20 << 20)
        self.git("push", "-q", "origin", f"HEAD:{self.prefix}/big")
        first, self.work = self.work, self.world.home / "second"
        self.clone("-b", f"agent/{self.session}/big")
        self.assertEqual(self.git("rev-parse", "HEAD").out.decode().strip(), commit)
        self.assertEqual((self.work / "file").read_bytes(), (first / "file").read_bytes())
        self.git("fsck", "--full")

    def test_push_to_another_branch_is_refused_with_the_reason(self):
        self.clone()
        self.commit()
        before = self.world.git.refs()
        for ref in ("refs/heads/main", "refs/heads/agent/other/x", "refs/tags/v1", "refs/heads/agent", "refs/pull/1/head",
                    "refs/for/main", "refs/heads/Agent/" + self.session + "/x", "refs/notes/x", "refs/replace/x"):
            with self.subTest(ref=ref):
                result = self.git("push", "origin", f"HEAD:{ref}", ok=False)
                self.assertIn(ref, result.text())
                self.assertRegex(result.text(), r"remote: .+")
                self.assertNotIn("Everything up-to-date", result.text())
        self.assertEqual(self.world.git.refs(), before)

    def test_large_push_to_main_is_refused_without_a_broken_pipe(self):
        self.clone()
        self.commit("large", size=3 << 20)
        result = self.git("push", "origin", "HEAD:main", ok=False)
        self.assertIn("no rule allows this ref", result.text())
        self.assertNotIn("Broken pipe", result.text())

    def test_one_bad_ref_refuses_all_B21(self):
        self.clone()
        self.commit()
        before = self.world.git.refs()
        good = f"{self.prefix}/good"
        result = self.git("push", "origin", f"HEAD:{good}", "HEAD:main", ok=False)
        self.assertEqual(self.world.git.refs(), before)
        self.assertIn("main", result.text())
        self.assertRegex(result.text(), r"rejected")

    def test_head_is_not_a_branch(self):
        self.clone()
        self.commit()
        answer = self.post_push([(self.world.git.refs()["refs/heads/main"], "a" * 40, "HEAD")])
        self.assertTrue(answer.status != 200 or b"ng HEAD" in answer.body, answer)
        self.assertFalse([l for l in self.world.git.access_log().splitlines() if "POST" in l and self.session in l])

    def test_odd_names_never_reach_the_host_B21(self):
        main = self.world.git.refs()["refs/heads/main"]
        before = self.world.git.access_log().count('"POST /acme/web.git/git-receive-pack')
        for ref in (f"{self.prefix}/../../main", f"{self.prefix}//x", f"{self.prefix}/x.lock", f"{self.prefix}/a..b", f"{self.prefix}/x\x01",
                    f"{self.prefix}/x\\y", f"{self.prefix}/x~1", "refs/heads/agent\u2215x", "main", "refs/heads/main "):
            with self.subTest(ref=ref):
                answer = self.post_push([(ZERO, main, ref)])
                self.assertTrue(answer.status >= 400 or b"ng " in answer.body or b"odd_ref" in answer.body, answer)
        self.assertEqual(self.world.git.access_log().count('"POST /acme/web.git/git-receive-pack'), before)

    def test_names_that_hold_PACK_and_deletes_without_a_pack_B19(self):
        self.clone()
        commit = self.commit()
        name = f"{self.prefix}/JDK-PACK"
        self.git("push", "-q", "origin", f"HEAD:{name}")
        self.assertEqual(self.world.git.refs()[name], commit)
        self.git("push", "-q", "origin", "--delete", name)
        self.assertNotIn(name, self.world.git.refs())

    def test_delete_of_main_is_refused(self):
        self.clone()
        result = self.git("push", "origin", "--delete", "main", ok=False)
        self.assertIn("refs/heads/main", self.world.git.refs())
        self.assertRegex(result.text(), r"remote: .+")

    def test_forced_push_is_refused_and_fast_forward_is_not(self):
        self.clone()
        self.commit("one")
        name = f"{self.prefix}/force"
        self.git("push", "-q", "origin", f"HEAD:{name}")
        second = self.commit("two")
        self.git("push", "-q", "origin", f"HEAD:{name}")
        self.assertEqual(self.world.git.refs()[name], second)
        self.git("reset", "-q", "--hard", "HEAD~2")
        self.commit("other history")
        result = self.git("push", "--force", "origin", f"HEAD:{name}", ok=False)
        self.assertIn("forced update", result.text())
        self.assertEqual(self.world.git.refs()[name], second)

    def test_gzip_body_is_read_before_the_rules_B23(self):
        main = self.world.git.refs()["refs/heads/main"]
        body = pkt(f"{main} {'a' * 40} refs/heads/main\0 report-status side-band-64k") + b"0000" + EMPTY_PACK
        answer = self.post_push([], raw=gzip.compress(body), headers=["Content-Encoding: gzip"])
        self.assertIn(b"ng refs/heads/main", answer.body)
        good = f"{self.prefix}/gz"
        body = pkt(f"{ZERO} {main} {good}\0 report-status side-band-64k") + b"0000" + EMPTY_PACK
        answer = self.post_push([], raw=gzip.compress(body), headers=["Content-Encoding: gzip"])
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.world.git.refs().get(good), main, answer)

    def test_one_byte_chunks_B19(self):
        main, good = self.world.git.refs()["refs/heads/main"], f"{self.prefix}/bytes"
        body = pkt(f"{ZERO} {main} {good}\0 report-status side-band-64k") + b"0000" + EMPTY_PACK
        with tunnel(self.world, self.token, "git.test") as channel:
            channel.send(f"POST /acme/web.git/git-receive-pack HTTP/1.1\r\nHost: {self.remote.split('/')[2]}\r\n"
                         "Content-Type: application/x-git-receive-pack-request\r\nTransfer-Encoding: chunked\r\n\r\n")
            for byte in body:
                channel.send(b"1\r\n" + bytes([byte]) + b"\r\n")
            channel.send(b"0\r\n\r\n")
            answer = channel.read()
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.world.git.refs().get(good), main, answer)

    def test_probe_passes(self):
        answer = self.post_push([], raw=b"0000")
        self.assertEqual(answer.status, 200, answer)

    def test_shallow_lines_pass_where_no_rule_needs_history(self):
        main = self.world.git.refs()["refs/heads/main"]
        raw = pkt(f"shallow {main}") + pkt(f"{ZERO} {main} {self.prefix}/s\0 report-status side-band-64k") + b"0000" + EMPTY_PACK
        answer = self.post_push([], raw=raw)
        self.assertIn(f"ok {self.prefix}/s".encode(), answer.body)
        self.git("clone", "-q", "--depth", "1", self.remote, self.work)
        name = f"{self.prefix}/depth"
        for text in ("one", "two"):  # the second one is an update, whose every step is in the pack
            commit = self.commit(text)
            self.git("push", "-q", "origin", f"HEAD:{name}")
            self.assertEqual(self.world.git.refs()[name], commit)

    def test_push_certificates_and_a_cut_history_are_refused_S16(self):
        main = self.world.git.refs()["refs/heads/main"]
        cert = pkt(b"push-cert\0 report-status side-band-64k\n") + pkt("certificate version 0.1\n") + pkt("push-cert-end\n") + b"0000"
        # The pack holds the commit of which the client says that it has no parents.
        self.clone()
        name = f"{self.prefix}/cut"
        old, new = self.commit("one"), self.commit("two")
        self.git("push", "-q", "origin", f"{old}:{name}")
        pack = self.git("pack-objects", "-q", "--revs", "--stdout", input=f"{new}\n^{old}\n".encode()).out
        shallow = pkt(f"shallow {new}") + pkt(f"{old} {new} {name}\0 report-status side-band-64k") + b"0000" + pack
        for name, raw in (("cert", cert), ("shallow", shallow), ("no flush", pkt(f"{ZERO} {main} {self.prefix}/x\0 report-status")),
                          ("not pkt-lines", b"zzzz"), ("length 3", b"0003"), ("sha256", pkt(f"{'0' * 64} {'a' * 64} {self.prefix}/y\0 report-status") + b"0000")):
            with self.subTest(name):
                before = self.world.git.refs()
                answer = self.post_push([], raw=raw)
                self.assertTrue(answer.status >= 400 or b"ng " in answer.body or b"unpack " in answer.body, answer)
                self.assertEqual(self.world.git.refs(), before)

    def test_push_options_are_not_offered_and_not_taken(self):
        self.clone()
        self.commit()
        self.assertIn("does not support push options", self.git("push", "-o", "merge_request.create", "origin", f"HEAD:{self.prefix}/o", ok=False).text())
        main = self.world.git.refs()["refs/heads/main"]
        raw = pkt(f"{ZERO} {main} {self.prefix}/o\0 report-status side-band-64k push-options") + b"0000" + pkt("merge_request.create") + b"0000" + EMPTY_PACK
        self.assertIn(b"[2117]", self.post_push([], raw=raw).body)
        self.assertNotIn(f"{self.prefix}/o", self.world.git.refs())

    def test_push_is_refused_at_discovery_when_no_rule_pushes(self):
        self.clone()
        self.commit()
        session, self.token = self.world.open_session(scope="reader")
        result = self.git("push", "origin", "HEAD:refs/heads/agent/x", ok=False)
        self.assertIn("no rule allows pushing to this repository", result.text())
        self.assertIn("remote:", result.text())

    def test_another_repository_is_refused_with_the_reason(self):
        result = self.git("clone", self.world.url("git.test", "/acme/other.git"), self.work, ok=False)
        self.assertIn("no scope of this session names this repository", result.text())

    def test_dumb_http_and_archives_are_refused(self):
        host = self.remote.split("/")[2]
        with tunnel(self.world, self.token, "git.test") as channel:
            for method, path in (("GET", "/acme/web.git/info/refs"), ("GET", "/acme/web.git/HEAD"),
                                 ("GET", "/acme/web.git/objects/info/packs"), ("POST", "/acme/web.git/git-upload-archive"),
                                 ("GET", "/acme/web.git/info/refs?service=git-upload-archive"),
                                 ("GET", "/acme/web.git/info/refs?service=git-upload-pack&service=git-receive-pack")):
                answer = channel.request(method, path, host, ["Content-Length: 0"] if method == "POST" else [])
                self.assertEqual(answer.status, 403, (path, answer))
                self.assertRegex(answer.body, rb"git_not_supported|\"code\":2117")

    def test_other_ways_out_of_a_repository_have_an_answer(self):
        """deploy/README.md, `Git: what is offered`: each row of the table that says no."""
        host = self.remote.split("/")[2]
        before = self.world.git.access_log().count("\n")
        with tunnel(self.world, self.token, "git.test") as channel:
            for path, code in (("/acme/web.wiki.git/info/refs?service=git-upload-pack", "repository_not_allowed"),
                               ("/acme/web.git/archive/main.tar.gz", "no_rule"), ("/acme/web/archive/refs/heads/main.zip", "no_rule"),
                               ("/acme/web/releases/download/v1/x.bin", "no_rule"), ("/acme/web/raw/main/README.md", "no_rule"),
                               ("/acme/web.git/objects/00/0000", "git_not_supported"), ("/acme/web.git/refs/heads/main", "git_not_supported"),
                               ("/acme/web.git/config", "git_not_supported")):
                with self.subTest(path=path):
                    answer = channel.request("GET", path, host)
                    self.assertEqual(answer.status, 403, answer)
                    self.assertIn(code.encode() if b"{" not in answer.body else f'"code":{harness.CODES[code]}'.encode(), answer.body)
        for name in ("gist.git.test", "codeload.git.test", "uploads.git.test"):
            answer = self.world.json("policy", "explain", "--scope", "web-agent", "--url", f"https://{name}/x")
            self.assertEqual(answer["reason_code"], "host_not_allowed")
        self.assertEqual(self.world.git.access_log().count("\n"), before)

    def test_addresses_on_other_hosts_are_not_offered(self):
        """bundle-uri and packfile-uris hand out URLs that no rule has judged."""
        self.world.git.git("acme/web", "config", "uploadpack.advertiseBundleURIs", "true")
        self.world.git.git("acme/web", "config", "uploadpack.blobPackfileUri", f"{'a' * 40} {'b' * 40} https://evil.test/x")
        with tunnel(self.world, self.token, "git.test") as channel:
            offer = channel.request("GET", "/acme/web.git/info/refs?service=git-upload-pack", self.remote.split("/")[2], ["Git-Protocol: version=2"])
        self.world.git.git("acme/web", "config", "--unset", "uploadpack.blobPackfileUri")
        self.assertIn(b"version 2", offer.body)
        self.assertIn(b"fetch=shallow", offer.body)
        self.assertNotRegex(offer.body, rb"bundle-uri|packfile-uris")
        self.clone()

    def test_gateway_by_insteadOf(self):
        gateway = f"http://127.0.0.1:{self.world.broker.ports['gateway']}/{self.remote.split('/')[2]}/"
        env = {k: "" for k in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
        login = basic("credbroker", self.token)
        options = ["-c", f"url.{gateway}.insteadOf=https://{self.remote.split('/')[2]}/", "-c", f"http.extraHeader=Authorization: {login}"]
        self.git(*options, "clone", "-q", self.remote, self.work, env=env)
        commit = self.commit()
        self.git(*options, "push", "-q", "origin", f"HEAD:{self.prefix}/gateway", env=env)
        self.assertEqual(self.world.git.refs()[f"{self.prefix}/gateway"], commit)
        refused = self.git(*options, "push", "origin", "HEAD:main", env=env, ok=False)
        self.assertIn("no rule allows this ref", refused.text())

    def test_gateway_challenges_then_git_asks_its_helper_B25(self):
        path = f"/{self.remote.split('/')[2]}/acme/web.git/info/refs?service=git-upload-pack"
        port = self.world.broker.ports["gateway"]
        for headers in ([], ["Authorization: " + basic("x", "cbt_wrong")]):
            with Channel(port) as channel:
                answer = channel.request("GET", path, f"127.0.0.1:{port}", headers)
                self.assertEqual(answer.status, 401, answer)
                self.assertTrue(any(v.startswith("Basic") for v in answer.get("www-authenticate")), answer)
        env = {k: "" for k in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
        helper = f"!f() {{ echo username=credbroker; echo password={self.token}; }}; f"
        self.git("-c", "credential.helper=", "-c", f"credential.helper={helper}", "clone", "-q",
                 f"http://127.0.0.1:{port}/{self.remote.split('/')[2]}/acme/web.git", self.work, env=env)

    def test_dry_run_sends_only_the_discovery(self):
        self.clone()
        self.commit()
        self.git("push", "-q", "--dry-run", "origin", f"HEAD:{self.prefix}/dry")
        self.assertNotIn(f"{self.prefix}/dry", self.world.git.refs())


if __name__ == "__main__":
    harness.main()
