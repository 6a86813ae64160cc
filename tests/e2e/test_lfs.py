"""Git LFS: the real git-lfs against a stand-in for the host's LFS server and its storage (facts 3.3; S12, S16; git-lfs#5516)."""
import hashlib
import json
import os
import unittest

import harness
from client import basic, connect, tunnel
from harness import Case
from upstream import RawUpstream

SIGNATURE = "s1gned-c4n4ry-query"
STORE_KEY = "st0re-c4n4ry-header"
TYPE = "application/vnd.git-lfs+json"


class LfsServer:
    """The LFS API behind nginx (which asks for the real credential), and the storage on another host."""

    def __init__(self, world):
        self.world, self.objects, self.batches, self.verified, self.locks = world, {}, [], [], []
        self.storage_host = "blob.test"
        self.api = RawUpstream(port=world.git.lfs_port)
        self.api.on = self
        world.raw.on = self
        self.stored, self.moved = [], None

    def get(self, path, default=None):
        for part, answer in (("/objects/batch", self.batch), ("/check", self.verify), ("/locks/verify", self.verify_locks), ("/locks", self.lock),
                             ("/store/", self.store)):
            if path.endswith(part) or (part == "/store/" and part in path):
                return answer
        return default

    def reply(self, exchange, body, status="200 OK"):
        exchange.reply(status, json.dumps(body).encode(), [("Content-Type", TYPE)])

    def batch(self, exchange):
        asked = json.loads(exchange.read_body())
        self.batches.append(asked)
        login = exchange.get("authorization")[0]
        rows = []
        for one in asked["objects"]:
            row, oid = {"oid": one["oid"], "size": one["size"], "authenticated": True}, one["oid"]
            action = {"href": f"https://{self.storage_host}:{self.world.raw.port}/store/{oid}?X-Sig={SIGNATURE}&n=1", "header": {"X-Store-Key": STORE_KEY}, "expires_in": 600}
            if asked["operation"] == "download":
                row["actions"] = {"download": action} if oid in self.objects else {}
                if oid not in self.objects:
                    row["error"] = {"code": 404, "message": "no such object"}
            elif oid not in self.objects:
                # Some hosts give the credential back that they were shown.
                check = {"href": f"https://git.test:{self.world.git.port}/acme/web.git/info/lfs/check", "header": {"Authorization": login}}
                row["actions"] = {"upload": action, "verify": check}
            rows.append(row)
        self.reply(exchange, {"transfer": "basic", "objects": rows})

    def store(self, exchange):
        body = bytes(exchange.read_body())
        self.stored.append(exchange)
        if (exchange.get("x-store-key") != [STORE_KEY] and "moved" not in exchange.target) or f"X-Sig={SIGNATURE}" not in exchange.target:
            return exchange.reply("403 Forbidden")
        oid = exchange.path.rsplit("/", 1)[1]
        if exchange.method == "PUT":
            self.objects[oid] = body
            return exchange.reply("200 OK")
        if self.moved and "moved" not in exchange.target:  # some hosts send a download on to a signed address
            return exchange.reply("302 Found", b"", [("Location", f"https://{self.moved}:{self.world.raw.port}/store/{oid}?X-Sig={SIGNATURE}&moved=1")])
        return exchange.reply("200 OK", self.objects[oid], [("Content-Type", "application/octet-stream")])

    def verify(self, exchange):
        self.verified.append(json.loads(exchange.read_body()))
        self.reply(exchange, {})

    def verify_locks(self, exchange):
        exchange.read_body()
        self.reply(exchange, {"ours": [], "theirs": self.locks})

    def lock(self, exchange):
        if exchange.method == "GET":
            return self.reply(exchange, {"locks": self.locks})
        asked = json.loads(exchange.read_body())
        lock = {"id": str(len(self.locks)), "path": asked["path"], "locked_at": "2026-01-01T00:00:00Z", "owner": {"name": "bot"}}
        self.locks.append(lock)
        self.reply(exchange, {"lock": lock}, "201 Created")

    def close(self):
        self.api.close()


class Lfs(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.world.secrets += [SIGNATURE, STORE_KEY]
        cls.lfs = LfsServer(cls.world)
        cls.apply()

    @classmethod
    def apply(cls, storage=True, push=""):
        text = cls.world.policy()
        if storage:
            text = text.replace("upstream_ca: ca.pem}", f"upstream_ca: ca.pem, lfs_hosts: [\"blob.test:{cls.world.raw.port}\"]}}", 1)
        cls.world.apply(text.replace("create: allow, delete: allow, force: deny}", f"create: allow, delete: allow, force: deny{push}}}", 1))

    @classmethod
    def tearDownClass(cls):
        cls.lfs.close()
        super().tearDownClass()

    def setUp(self):
        w = self.world
        self.session, self.token = w.open_session()
        self.remote = w.url("git.test", "/acme/web.git")
        self.prefix = f"refs/heads/agent/{self.session}"
        self.work = w.home / self.id().rsplit(".", 1)[1]

    def git(self, *args, ok=True, token=None, cwd=None, **kw):
        env = {"GIT_TRACE": "1", "GIT_CURL_VERBOSE": "1", "GIT_TERMINAL_PROMPT": "0", **kw.pop("env", {})}
        result = self.world.sandbox(token or self.token, "git", *args, cwd=cwd or (self.work if self.work.exists() else None), env=env, **kw)
        if ok is not None:
            self.assertEqual(result.code == 0, ok, result.text()[-6000:])
        return result

    def prepare(self, *options, size=300_000):
        self.git(*options, "clone", "-q", self.remote, self.work)
        self.git("lfs", "install", "--local")
        self.git("lfs", "track", "*.bin")
        data = os.urandom(size)
        (self.work / "a.bin").write_bytes(data)
        self.git("checkout", "-q", "-b", f"agent/{self.session}/lfs")
        self.git("add", ".")
        self.git("commit", "-qm", "an object")
        return data

    def assertNothingLeaked(self):
        for blob in self.world.received:
            self.assertNoSecret(blob, "what the sandbox got")

    def test_push_and_clone_without_a_word_of_the_storage_in_the_sandbox(self):
        data = self.prepare()
        self.git("push", "-q", "origin", "HEAD")
        oid = hashlib.sha256(data).hexdigest()
        self.assertEqual(self.lfs.objects[oid], data)
        self.assertEqual([v for v in self.lfs.verified if v["oid"] == oid], [{"oid": oid, "size": len(data)}])
        asked = self.lfs.batches[-1]
        self.assertEqual(asked, {"operation": "upload", "transfers": ["basic"], "hash_algo": "sha256", "ref": {"name": f"{self.prefix}/lfs"},
                                 "objects": [{"oid": oid, "size": len(data)}]})
        for exchange in self.lfs.stored:
            self.assertFalse(exchange.get("authorization"), "the credential at a storage host")
            self.assertNotIn(b"credbroker", bytes(exchange.head))
        other = self.world.home / "second"
        self.git("clone", "-q", "-b", f"agent/{self.session}/lfs", self.remote, other, cwd=self.world.home)
        self.git("lfs", "install", "--local", cwd=other)
        self.git("lfs", "pull", cwd=other)
        self.assertEqual((other / "a.bin").read_bytes(), data)
        self.assertNothingLeaked()
        self.assertNoSecret(json.dumps(self.world.records(self.session)).encode(), "the ledger")
        self.assertNoSecret(self.world.broker.log_text().encode(), "the log")
        paths = {r["path"] for r in self.world.records(self.session, kind="intent")}
        self.assertIn(f"/acme/web.git/info/lfs/objects/{oid}", paths)

    def test_the_gateway_gives_links_of_its_own(self):
        gateway = f"http://127.0.0.1:{self.world.broker.ports['gateway']}/{self.remote.split('/')[2]}/"
        env = {k: "" for k in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
        data = self.prepare()
        self.git("config", f"url.{gateway}.insteadOf", f"https://{self.remote.split('/')[2]}/")
        self.git("config", "http.extraHeader", f"Authorization: {basic('credbroker', self.token)}")
        self.git("push", "-q", "origin", "HEAD", env=env)
        self.assertEqual(self.lfs.objects[hashlib.sha256(data).hexdigest()], data)
        self.assertNothingLeaked()

    def test_an_upload_is_for_an_allowed_ref(self):
        self.prepare()
        count = len(self.lfs.batches)
        result = self.git("lfs", "push", "origin", "HEAD:refs/heads/main", ok=None)
        result = self.git("push", "origin", "HEAD:refs/heads/main", ok=False)
        self.assertIn("no rule allows this ref", result.text())
        self.assertIn("refs/heads/main", result.text())
        self.assertEqual([b for b in self.lfs.batches[count:] if b.get("ref", {}).get("name") == "refs/heads/main"], [])

    def request(self, method, path, body=None, token=None, headers=()):
        host = self.remote.split("/")[2]
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        with tunnel(self.world, token or self.token, "git.test") as channel:
            return channel.request(method, path, host, [f"Content-Type: {TYPE}", *headers], data)

    def batch(self, token=None, **change):
        body = {"operation": "upload", "ref": {"name": f"{self.prefix}/x"}, "objects": [{"oid": "a" * 64, "size": 5}], **change}
        return self.request("POST", "/acme/web.git/info/lfs/objects/batch", body, token)

    def test_what_cannot_be_read_for_sure_is_refused(self):
        for name, change in (("operation", {"operation": "both"}), ("transfers", {"transfers": ["tus"]}), ("oid", {"objects": [{"oid": "A" * 64, "size": 1}]}),
                             ("size", {"objects": [{"oid": "a" * 64, "size": -1}]}), ("hash", {"hash_algo": "md5"}), ("objects", {"objects": {}}),
                             ("count", {"objects": [{"oid": "a" * 64, "size": 1}] * 1001})):
            with self.subTest(name):
                self.assertRefused(self.batch(**change), 400, "bad_git_request")
        twice = b'{"operation":"download","operation":"upload","objects":[]}'
        self.assertRefused(self.request("POST", "/acme/web.git/info/lfs/objects/batch", twice), 400, "bad_git_request")
        self.assertRefused(self.batch(ref=None), 403, "ref_not_allowed")
        self.assertRefused(self.batch(ref={"name": "refs/heads/main"}), 403, "ref_not_allowed")
        error = self.batch(ref={"name": "refs/heads/main"})
        self.assertIn("no rule allows this ref", json.loads(error.body)["message"])
        _, reader = self.world.open_session(scope="reader")
        self.assertRefused(self.batch(reader), 403, "lfs_not_allowed")
        self.assertEqual(self.batch(reader, operation="download").status, 200)

    def test_links_are_for_their_session_object_and_method_alone(self):
        answer = json.loads(self.batch().body)
        link = answer["objects"][0]["actions"]["upload"]["href"]
        self.assertTrue(link.startswith(f"https://{self.remote.split('/')[2]}/acme/web.git/info/lfs/objects/{'a' * 64}?credbroker-lfs="), link)
        self.assertNotIn("header", answer["objects"][0]["actions"]["upload"])
        self.assertLessEqual(answer["objects"][0]["actions"]["upload"]["expires_in"], 600)
        path = link.split(self.remote.split("/")[2], 1)[1]
        _, other = self.world.open_session()
        self.assertRefused(self.request("PUT", path, b"12345", other), 403, "lfs_not_allowed")
        self.assertRefused(self.request("PUT", path.replace("a" * 64, "b" * 64), b"12345"), 403, "lfs_not_allowed")
        self.assertRefused(self.request("GET", path), 403, "lfs_not_allowed")
        self.assertRefused(self.request("PUT", path[:-4] + "AAAA", b"12345"), 403, "lfs_not_allowed")
        self.assertRefused(self.request("PUT", path, b"123456"), 400, "bad_git_request")
        self.assertEqual(self.request("PUT", path, b"12345").status, 200)
        self.world.cli("session", "close", self.session)
        channel, answer = connect(self.world.broker.ports["proxy"], self.remote.split("/")[2], self.token)
        channel.close()
        self.assertEqual(answer.status, 407, answer)  # not even the tunnel is opened

    def test_sizes_of_the_rule_hold_for_objects(self):
        self.apply(push=", max_blob_bytes: 1000")
        try:
            self.assertRefused(self.batch(objects=[{"oid": "c" * 64, "size": 1001}]), 403, "push_too_large")
            self.assertEqual(self.batch(objects=[{"oid": "c" * 64, "size": 1000}]).status, 200)
        finally:
            self.apply()

    def test_storage_that_the_policy_does_not_name_is_no_way_out(self):
        self.lfs.storage_host = "evil.test"
        try:
            row = json.loads(self.batch(objects=[{"oid": "d" * 64, "size": 5}]).body)["objects"][0]
            self.assertNotIn("actions", row)
            self.assertIn("evil.test", row["error"]["message"])
            self.prepare(size=10_000)
            result = self.git("push", "origin", "HEAD", ok=False)
            self.assertIn("lfs_hosts", result.text())
            self.assertFalse([r for r in self.world.raw.requests if r.get("host")[0].startswith("evil.test")])
        finally:
            self.lfs.storage_host = "blob.test"

    def test_an_answer_that_is_none_is_not_passed_on(self):
        good = self.lfs.batch
        try:
            for name, answer in (("not JSON", b"<html>"), ("another object", json.dumps({"objects": [{"oid": "f" * 64, "size": 1}]}).encode()),
                                 ("another transfer", json.dumps({"transfer": "tus", "objects": []}).encode()),
                                 ("too large", b'{"objects":[],"x":"' + b"y" * (8 << 20) + b'"}')):
                with self.subTest(name):
                    self.lfs.batch = lambda exchange, answer=answer: (exchange.read_body(), exchange.reply("200 OK", answer, [("Content-Type", TYPE)]))[1]
                    self.assertRefused(self.batch(), 502, "upstream_malformed")
        finally:
            self.lfs.batch = good

    def test_a_download_that_is_sent_on_stays_behind_a_link(self):
        data = self.prepare()
        self.git("push", "-q", "origin", "HEAD")
        oid = hashlib.sha256(data).hexdigest()
        try:
            self.lfs.moved = "blob.test"
            other = self.world.home / "moved"
            self.git("clone", "-q", "-b", f"agent/{self.session}/lfs", self.remote, other, cwd=self.world.home)
            self.git("lfs", "install", "--local", cwd=other)
            self.git("lfs", "pull", cwd=other)
            self.assertEqual((other / "a.bin").read_bytes(), data)
            self.assertNothingLeaked()
            self.lfs.moved = "evil.test"
            link = json.loads(self.batch(operation="download", objects=[{"oid": oid, "size": len(data)}]).body)["objects"][0]["actions"]["download"]["href"]
            answer = self.request("GET", link.split(self.remote.split("/")[2], 1)[1])
            self.assertEqual((answer.status, answer.get("location")), (302, []), answer)
        finally:
            self.lfs.moved = None

    def test_locks(self):
        self.prepare()
        self.git("push", "-q", "origin", "HEAD")
        self.git("lfs", "lock", "a.bin", ok=None)
        self.assertEqual(self.request("POST", "/acme/web.git/info/lfs/locks", {"path": "x.bin", "ref": {"name": f"{self.prefix}/x"}}).status, 201)
        self.assertRefused(self.request("POST", "/acme/web.git/info/lfs/locks", {"path": "x", "ref": {"name": "refs/heads/main"}}), 403, "ref_not_allowed")
        self.assertRefused(self.request("POST", "/acme/web.git/info/lfs/locks/0/unlock", {"force": True, "ref": {"name": f"{self.prefix}/x"}}), 403, "lfs_not_allowed")
        self.assertEqual(self.request("GET", "/acme/web.git/info/lfs/locks?path=x.bin").status, 200)
        self.assertEqual(self.request("POST", "/acme/web.git/info/lfs/locks/verify", {}).status, 200)
        _, reader = self.world.open_session(scope="reader")
        self.assertRefused(self.request("POST", "/acme/web.git/info/lfs/locks", {"path": "x"}, reader), 403, "lfs_not_allowed")
        self.assertRefused(self.request("POST", "/acme/web.git/info/lfs/locks/verify", {}, reader), 403, "lfs_not_allowed")
        self.assertEqual(self.request("GET", "/acme/web.git/info/lfs/locks", None, reader).status, 200)
        for path in ("/acme/web.git/info/lfs", "/acme/web.git/info/lfs/objects/" + "a" * 64, "/acme/web.git/info/lfs/other"):
            answer = self.request("GET", path)
            self.assertEqual(answer.status, 403, answer)
            self.assertIn(b"git_not_supported", answer.body)
        self.assertRefused(self.request("GET", "/acme/other.git/info/lfs/locks"), 403, "repository_not_allowed")


if __name__ == "__main__":
    harness.main()
