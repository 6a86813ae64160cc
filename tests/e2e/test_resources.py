"""Bounds: memory, descriptors, and what others feel of it (B57, B107, B109, B111; CVE-2026-47205, CVE-2025-64527)."""
import gzip
import pathlib
import resource
import select
import socket
import struct
import subprocess
import threading
import unittest
import zlib

import harness
from client import Channel, client_hello, connect, tunnel
from harness import Case, wait_until


class Resources(Case):
    def setUp(self):
        self.session, self.token = self.world.open_session()
        self.host = self.world.url("echo.test").split("/")[2]
        self.ports = self.world.broker.ports
        self.edge = self.world.broker.edge_pid()

    def open(self, name="echo.test"):
        return tunnel(self.world, self.token, name)

    def gateway_head(self, path, method="GET", more=""):
        return f"{method} /{self.host}{path} HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAuthorization: Bearer {self.token}\r\n{more}\r\n".encode()

    def status(self, field):
        text = pathlib.Path(f"/proc/{self.edge}/status").read_text()
        return int(next(line for line in text.splitlines() if line.startswith(field)).split()[1])

    def peak_of(self, function):
        """By how many KiB the edge's peak grew meanwhile."""
        pathlib.Path(f"/proc/{self.edge}/clear_refs").write_text("5")  # the peak starts anew at what is used now
        before = self.status("VmHWM")
        function()
        return self.status("VmHWM") - before

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.edge}/fd").iterdir()))

    def assertServed(self):
        """A sandbox with a good token is served, on a new connection."""
        with Channel(self.ports["gateway"], timeout=10) as channel:
            channel.send(self.gateway_head("/open/served"))
            self.assertEqual(channel.read().status, 200)

    def assertUnharmed(self, descriptors):
        wait_until("the edge's descriptors are back", lambda: self.descriptors() <= descriptors + 10)
        self.assertEqual(self.world.broker.edge_pid(), self.edge, "the edge was restarted")
        self.assertServed()


class Bombs(Resources):
    """Small bodies that unpack to much (B107)."""
    WANT = b"0032want " + b"a" * 40 + b"\n0000"

    @staticmethod
    def bomb(start, mebibytes):
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        out = packer.compress(start)
        for _ in range(mebibytes):
            out += packer.compress(bytes(1 << 20))
        return out + packer.flush()

    def fetch(self, body, coding):
        host = self.world.url("git.test").split("/")[2]
        with self.open("git.test") as channel:
            channel.send(f"POST /acme/web.git/git-upload-pack HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-git-upload-pack-request\r\n"
                         f"Content-Encoding: {coding}\r\nContent-Length: {len(body)}\r\n\r\n")
            try:
                channel.send(body)
            except OSError:
                pass
            return channel.read()

    def test_a_request_that_unpacks_to_512_MiB_B107(self):
        body = self.bomb(self.WANT, 512)
        self.assertLess(len(body), 1 << 20)
        answers = []
        grown = self.peak_of(lambda: answers.append(self.fetch(body, "gzip")))
        self.assertRefused(answers[0], 413, "body_too_large")
        self.assertLess(grown, (24 << 10) + harness.SANITIZER_KIB, "KiB: 16 MiB may be held, and a block")
        self.assertServed()

    def test_codings_that_cannot_be_read_B107(self):
        plain = gzip.compress(self.WANT)
        for coding in ("br", "zstd", "gzip, gzip", "gzip,gzip", "compress", "identity, gzip", "x"):
            with self.subTest(coding):
                self.assertRefused(self.fetch(gzip.compress(plain), coding), 415, "unsupported_coding")
        self.assertRefused(self.fetch(b"\x1f\x8b\x08 no gzip at all", "gzip"), 415, "unsupported_coding")

    def test_an_answer_that_unpacks_to_much_B107(self):
        body = self.bomb(b"", 512)
        self.world.raw.on["/open/bomb"] = lambda e: e.reply("200 OK", body, [("Content-Encoding", "gzip")])
        def ask():
            with self.open() as channel:
                try:
                    self.assertEqual(channel.request("GET", "/open/bomb", self.host, ["Accept-Encoding: gzip, br, zstd"]).status, 502)
                except (EOFError, OSError, ValueError):
                    pass  # begun, then cut
        self.assertLess(self.peak_of(ask), (24 << 10) + harness.SANITIZER_KIB, "KiB")
        self.assertEqual(self.world.raw.seen("/open/bomb")[-1].get("accept-encoding"), ["identity"])

    def test_a_push_list_over_its_caps_is_refused_whole_CVE_2026_34040(self):
        """What the rules see is what is forwarded: over the cap nothing is."""
        host, new = self.world.url("git.test").split("/")[2], "1" * 40
        for name, count, ref in (("1,001 commands", 1001, "refs/heads/shared/x{}"), ("list above 1 MiB", 900, "refs/heads/shared/x{}" + "y" * 1200)):
            lines = [f"{'0' * 40} {new} {ref.format(i)}" for i in range(count)]
            lines[0] += "\0 report-status side-band-64k"
            body = "".join(f"{len(line) + 5:04x}{line}\n" for line in lines).encode() + b"0000PACK"
            with self.subTest(name), self.open("git.test") as channel:
                channel.send(f"POST /acme/web.git/git-receive-pack HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-git-receive-pack-request\r\n"
                             f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
                answer = channel.read()  # a report, since git prints nothing else
                self.assertEqual((answer.status, answer.get("content-type")), (200, ["application/x-git-receive-pack-result"]))
                self.assertIn(b"too_many_refs" if count > 1000 else b"body_too_large", answer.body)
                self.assertNotIn(b"ok refs/", answer.body)
        self.assertFalse([ref for ref in self.world.git.refs() if "shared/x" in ref])
        self.assertNotIn("git-receive-pack", self.world.git.access_log())


class Heads(Resources):
    """Heads without end, before any login (B109)."""

    def answer(self, port, data):
        with Channel(port) as channel:
            try:
                channel.send(data)
            except OSError:
                pass
            answer = channel.read()
            self.assertTrue(channel.closed())
            return answer

    def test_heads_above_the_caps_B109(self):
        cases = {"64 KiB without end": (b"GET / HTTP/1.1\r\nHost: a.test\r\nX: " + b"x" * 70000, 431, "head_too_large"),
                 "10,000 lines": (b"GET / HTTP/1.1\r\nHost: a.test\r\n" + b"X: y\r\n" * 10000, 431, "head_too_large"),
                 "1 MiB of first line": (b"GET /" + b"x" * (1 << 20), 414, "uri_too_long"),
                 "a method without end": (b"G" * 70000, 414, "uri_too_long")}
        for name, (data, status, code) in cases.items():
            for door in ("proxy", "gateway"):
                with self.subTest(name, door=door):
                    answers = []
                    grown = self.peak_of(lambda: answers.append(self.answer(self.ports[door], data)))
                    self.assertRefused(answers[0], status, code)
                    self.assertLess(grown, (2 << 10) + harness.SANITIZER_KIB, "KiB")

    def test_requests_above_the_rate_of_the_scope(self):
        w = self.world
        w.apply(w.policy().replace("limits: {session: 2h, token: 15m, idle: 20m}", "limits: {session: 2h, token: 15m, idle: 20m, requests_per_minute: 5}"))
        self.addCleanup(w.apply, w.policy())
        with self.open() as channel:
            for _ in range(5):
                self.assertEqual(channel.request("GET", "/open/rate", self.host).status, 200)
            self.assertRefused(channel.request("GET", "/open/rate", self.host), 429, "rate_limited")
        self.assertEqual(len(w.raw.seen("/open/rate")), 5)
        _, self.token = w.open_session()
        self.assertServed()  # another session has its own rate


class ScopeLimits(Resources):
    """What a session may have running and may move under its scope."""

    def limit(self, limits):
        w = self.world
        w.apply(w.policy().replace("limits: {session: 2h, token: 15m, idle: 20m}", f"limits: {{session: 2h, token: 15m, idle: 20m, {limits}}}"))
        self.addCleanup(w.apply, w.policy())

    def hold(self, path):
        release = threading.Event()
        self.addCleanup(release.set)
        def answer(exchange):
            release.wait(60)
            exchange.reply("200 OK", b"late")
        self.world.raw.on[path] = answer
        return release

    def test_requests_at_once_above_the_limit(self):
        self.limit("concurrent_requests: 1")
        release = self.hold("/open/held")
        with self.open() as running, self.open() as second:
            running.request("GET", "/open/held", self.host, read=False)
            wait_until("the first runs", lambda: self.world.raw.seen("/open/held"))
            self.assertRefused(second.request("GET", "/open/more", self.host), 429, "too_many_running")
            release.set()
            self.assertEqual(running.read().status, 200)
            wait_until("it has ended", lambda: second.request("GET", "/open/more", self.host).status == 200)

    def test_bytes_above_the_limit_end_the_transfer_and_what_follows(self):
        self.limit("bytes: 300000")
        self.world.raw.on["/open/much"] = lambda e: e.reply("200 OK", bytes(200_000))
        with self.open() as channel:
            self.assertEqual(len(channel.request("GET", "/open/much", self.host).body), 200_000)
            with self.assertRaises((EOFError, OSError, ValueError)):
                channel.request("GET", "/open/much", self.host)  # cut, and seen to be cut
        with self.open() as channel:
            self.assertRefused(channel.request("GET", "/open/more", self.host), 429, "byte_limit")
        cut = [r for r in self.world.records(self.session) if r.get("code") == "byte_limit"]
        self.assertEqual([r["kind"] for r in cut], ["outcome", "deny"])
        _, self.token = self.world.open_session()
        self.assertServed()

    def test_an_upload_above_the_limit_of_bytes_is_refused(self):
        self.limit("bytes: 300000")
        with self.open() as channel:
            channel.send(f"POST /open/up HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: 4000000\r\n\r\n")
            try:
                channel.send(bytes(4_000_000))
            except OSError:
                pass
            self.assertRefused(channel.read(), 429, "byte_limit")


class Crowd(Resources):
    """Many connections at once."""

    def crowd(self, count):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4096)), hard))
        held = [socket.create_connection(("127.0.0.1", self.ports["proxy"])) for _ in range(count)]
        self.addCleanup(lambda: [s.close() for s in held])
        return held

    def test_an_open_connection_is_served_beside_a_crowd_of_strangers_B109(self):
        with self.open() as channel:
            self.assertEqual(channel.request("GET", "/open/a", self.host).status, 200)
            held = self.crowd(1200)
            wait_until("the edge has them", lambda: self.descriptors() > 900)
            for _ in range(20):
                self.assertEqual(channel.request("GET", "/open/a", self.host).status, 200)
            with Channel(self.ports["health"]) as health:
                self.assertEqual(health.request("GET", "/healthz", "health.test").status, 200)
            self.world.cli("session", "list")
            self.assertLess(self.descriptors(), 1100, "strangers beyond their pool are not kept")
            for s in held:
                s.close()

    def test_a_new_sandbox_gets_in_beside_a_crowd_of_strangers_B109(self):
        held = self.crowd(1200)
        wait_until("the edge has them", lambda: self.descriptors() > 900)
        try:
            self.assertServed()
        finally:
            for s in held:
                s.close()
            wait_until("they are gone", lambda: self.descriptors() < 100)

    def test_refused_connects_leave_nothing_behind_B111(self):
        before = self.descriptors()
        held = []
        for i in range(500):
            channel, answer = connect(self.ports["proxy"], "unlisted.test:443" if i % 2 else self.host, self.token if i % 2 else "cbt_bad", early=b"x")
            self.assertEqual(answer.status, 403 if i % 2 else 407)
            held.append(channel)
        self.assertUnharmed(before)
        for channel in held:
            channel.close()

    def test_handshakes_given_up_after_our_certificate_B111(self):
        before = self.descriptors()
        for i in range(500):
            channel, answer = connect(self.ports["proxy"], self.host, self.token)
            channel.send(client_hello(b"echo.test"))
            self.assertTrue(channel.socket.recv(65536), "our certificate")
            if i % 2:
                reset(channel.socket)
            channel.close()
        self.assertUnharmed(before)

    def test_upstream_connects_that_fail_or_time_out_B111(self):
        dead = socket.socket()
        dead.bind(("127.0.0.1", 0))
        full = socket.create_server(("127.0.0.1", 0), backlog=0)
        plugs = [socket.socket() for _ in range(4)]
        for plug in plugs:  # the queue is full: greetings to it are dropped
            plug.setblocking(False)
            plug.connect_ex(full.getsockname())
        self.addCleanup(lambda: [s.close() for s in (dead, full, *plugs)])
        ports = [dead.getsockname()[1], full.getsockname()[1]]
        self.world.apply(self.world.policy().replace("  reader:\n", f"""    egress:
      - {{hosts: ["self.test:{ports[0]}", "self.test:{ports[1]}"], methods: [GET], addresses: [127.0.0.0/8], upstream_ca: ca.pem}}
  reader:\n"""))
        self.addCleanup(self.world.apply, self.world.policy())
        before = self.descriptors()
        channels = []
        for i in range(500):
            channels.append(Channel(self.ports["gateway"], 30))
            channels[-1].send(f"GET /self.test:{ports[i % 2]}/x HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAuthorization: Bearer {self.token}\r\nConnection: close\r\n\r\n")
        for i, channel in enumerate(channels):
            if i == 0:
                self.assertServed()
            answer = channel.read()
            self.assertRefused(answer, 504 if i % 2 else 502, "upstream_timeout" if i % 2 else "upstream_unreachable")
            channel.close()
        self.assertUnharmed(before)


def reset(raw):
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Full(Resources):
    """An edge that may hold 20 connections."""

    config = "edge: {max_connections: 20}\n"

    def test_more_connections_than_configured_get_503(self):
        before = self.descriptors()
        held = [socket.create_connection(("127.0.0.1", self.ports["proxy"])) for _ in range(20)]
        wait_until("the edge has them", lambda: self.descriptors() >= before + 20)
        try:
            for port, head in (("proxy", b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n"), ("gateway", self.gateway_head("/open/a"))):
                for early in (True, False):  # the request is there with the connection, or nothing is
                    with self.subTest(port, early=early), Channel(self.ports[port]) as channel:
                        if early:
                            channel.send(head)
                        answer = channel.read()
                        self.assertRefused(answer, 503, "overloaded")
                        self.assertEqual(answer.get("retry-after"), ["1"])
            with Channel(self.ports["health"]) as health:
                self.assertEqual(health.request("GET", "/healthz", "health.test").status, 200)
        finally:
            for s in held:
                s.close()

        def served():
            with Channel(self.ports["gateway"]) as channel:
                channel.send(self.gateway_head("/open/a"))
                return channel.read().status == 200

        wait_until("there is room again", served)
        self.assertIn('"event":"edge_overloaded","limit":20', self.world.broker.log_text())


class Chaos(Resources):
    """Either side leaves at every point of an exchange (CVE-2026-47205, CVE-2025-64527)."""

    def test_a_client_that_leaves_at_any_byte(self):
        before, head = self.descriptors(), self.gateway_head("/open/leave", "POST", "Content-Length: 40\r\n") + b"b" * 40
        for cut in range(1, len(head), 3):
            for hard in (False, True):
                raw = socket.create_connection(("127.0.0.1", self.ports["gateway"]))
                raw.sendall(head[:cut])
                if hard:
                    reset(raw)
                raw.close()
        self.assertUnharmed(before)

    def test_a_client_that_leaves_while_the_answer_comes(self):
        before = self.descriptors()

        def much(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
            for _ in range(1000):
                exchange.send(bytes(100000))
        self.world.raw.on["/open/much"] = much
        for i in range(30):
            for through in ("gateway", "tunnel"):
                channel = Channel(self.ports["gateway"]) if through == "gateway" else self.open()
                channel.send(self.gateway_head("/open/much") if through == "gateway" else f"GET /open/much HTTP/1.1\r\nHost: {self.host}\r\n\r\n")
                while len(channel.raw) < i * 3000 + 1:
                    channel._more()
                if i % 2:
                    reset(channel.socket)
                channel.close()
        self.assertUnharmed(before)

    def test_an_upstream_that_leaves_at_any_byte(self):
        answer = b"HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n"
        before = self.descriptors()
        for cut in range(len(answer)):
            for hard in (False, True):
                def leave(exchange, cut=cut, hard=hard):
                    exchange.send(answer[:cut])
                    if hard:
                        reset(exchange.socket)
                    raise EOFError
                self.world.raw.on["/open/cut"] = leave
                with Channel(self.ports["gateway"]) as channel:
                    channel.send(self.gateway_head("/open/cut"))
                    try:
                        got = channel.read()
                        self.assertEqual(got.status, 502, (cut, got))
                    except (EOFError, OSError, ValueError):
                        self.assertNotIn(b"\r\n0\r\n\r\n", channel.raw)
        self.assertUnharmed(before)


class Streams(Resources):
    """Event streams, back-pressure (B57, B81)."""

    def test_each_event_arrives_before_the_next_is_sent_B57(self):
        for framing in ("chunked", "close"):
            seen = threading.Semaphore(0)

            def events(exchange, framing=framing, seen=seen):
                exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n" + (b"Transfer-Encoding: chunked\r\n\r\n" if framing == "chunked" else b"Connection: close\r\n\r\n"))
                for i in range(50):
                    event = b"data: number %05d\nid: %05d\n\n" % (i, i)
                    exchange.send(b"%x\r\n%s\r\n" % (len(event), event) if framing == "chunked" else event)
                    if not seen.acquire(timeout=10):
                        return False  # the event was held back
                if framing == "chunked":
                    exchange.send(b"0\r\n\r\n")
                return False
            self.world.raw.on["/open/events"] = events
            with self.subTest(framing), self.open() as channel:
                channel.send(f"GET /open/events HTTP/1.1\r\nHost: {self.host}\r\nAccept: text/event-stream\r\n\r\n")
                for i in range(50):
                    channel.until(b"id: %05d\n\n" % i)
                    seen.release()
                self.assertEqual(channel.read().body.count(b"data: "), 50)

    def leave(self, channel, head, hard):
        """Starts an event stream, then leaves it; true when the upstream sees that."""
        left = threading.Event()

        def wait(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            if exchange.gone():
                left.set()
            return False
        self.world.raw.on["/open/wait"] = wait
        channel.send(head).until(b"first")
        if hard:
            reset(channel.socket)
        channel.close()
        return left.wait(5)

    def test_a_client_that_leaves_closes_the_upstream_request_B57(self):
        for hard in (False, True):
            self.assertTrue(self.leave(self.open(), f"GET /open/wait HTTP/1.1\r\nHost: {self.host}\r\n\r\n", hard), "the upstream request lives on")

    def test_a_plain_client_that_leaves_closes_the_upstream_request_B57(self):
        for hard in (True, False):
            self.assertTrue(self.leave(Channel(self.ports["gateway"]), self.gateway_head("/open/wait"), hard), "the upstream request lives on")

    def test_a_slow_reader_holds_back_its_upstream_only(self):
        sent = []

        def much(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 209715200\r\n\r\n")
            try:
                for _ in range(200):
                    exchange.send(bytes(1 << 20))
                    sent.append(1)
            except OSError:
                pass
            return False
        self.world.raw.on["/open/much"] = much
        def stall():
            with self.open() as channel:
                channel.send(f"GET /open/much HTTP/1.1\r\nHost: {self.host}\r\n\r\n")
                wait_until("the upstream is held back", lambda: stalled(sent))
                self.assertLess(len(sent), 100, "MiB taken from the upstream for a client that reads nothing")
                for _ in range(10):
                    self.assertServed()
        self.assertLess(self.peak_of(stall), (4 << 10) + harness.SANITIZER_KIB, "KiB")

    def test_an_upstream_that_reads_nothing_holds_back_its_client_only(self):
        done, sent = threading.Event(), []
        self.world.raw.on["/open/deaf"] = lambda e: (done.wait(30), False)[1]

        def push(channel):
            try:
                for _ in range(200):
                    channel.send(bytes(1 << 20))
                    sent.append(1)
            except OSError:
                pass

        def stall():
            with self.open() as channel:
                channel.send(f"POST /open/deaf HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: 209715200\r\n\r\n")
                thread = threading.Thread(target=push, args=(channel,))
                thread.start()
                wait_until("the client is held back", lambda: stalled(sent))
                self.assertLess(len(sent), 100)
                for _ in range(10):
                    self.assertServed()
                channel.socket.shutdown(socket.SHUT_RDWR)
                thread.join()
            done.set()
        self.assertLess(self.peak_of(stall), (4 << 10) + harness.SANITIZER_KIB, "KiB")


def stalled(sent, seconds=0.5):
    """True when the count has not moved for that long."""
    before, pause = len(sent), threading.Event()
    pause.wait(seconds)
    return len(sent) == before


class Files(unittest.TestCase):
    """State that others may write is not trusted; nothing is left readable (CVE-2026-126329, CVE-2021-38553)."""

    def setUp(self):
        self.world = harness.World(start=False)
        self.addCleanup(self.world.close)

    def test_private_files_whatever_the_umask_CVE_2021_38553(self):
        w = self.world
        script = w.folder / "umask0"
        script.mkdir()
        (script / "credbrokerd").write_text(f'#!/bin/sh\numask 0\nexec {w.bin}/credbrokerd "$@"\n')
        (script / "credbrokerd").chmod(0o755)
        w.broker.bin = script
        w.broker.start()
        w.prepare()
        w.open_session()
        shared = {"": 0o711, "run": 0o755, "run/api.sock": 0o666, "pki": 0o755, "pki/ca.pem": 0o644, "edge": 0o711, "edge/edge.json": 0o644}
        for path in [w.broker.folder, *w.broker.folder.rglob("*")]:
            inside = "" if path == w.broker.folder else path.relative_to(w.broker.folder).as_posix()
            mode = path.lstat().st_mode & 0o777
            self.assertEqual(mode & ~shared.get(inside, 0o700), 0, f"{inside or '.'} has mode {mode:o}")

    def test_a_data_folder_that_others_may_write_is_refused_CVE_2026_126329(self):
        w = self.world
        w.broker.start()
        w.prepare()
        w.broker.stop()
        for path, mode in (("", 0o777), ("keys", 0o777), ("keys/master.key", 0o644), ("store", 0o770)):
            target = w.broker.folder / path
            old = target.lstat().st_mode & 0o777
            target.chmod(mode)
            ports = [word for name in ("api", "proxy", "gateway", "health") for word in (f"--listen-{name}", "127.0.0.1:0")]
            with self.subTest(path or "."):
                process = subprocess.Popen([*harness.LEASH, w.bin / "credbrokerd", "serve", "--data-dir", w.broker.folder, *ports], stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                out = b""
                while b"\nready" not in out and process.poll() is None and select.select([process.stdout], [], [], 15)[0]:
                    data = process.stdout.read1(65536)
                    if not data:
                        break
                    out += data
                process.terminate()
                process.wait(30)
                process.stdout.close()
                self.assertIn(b"4007", out)
                self.assertNotIn(b"\nready", out)
            target.chmod(old)


if __name__ == "__main__":
    harness.main()
