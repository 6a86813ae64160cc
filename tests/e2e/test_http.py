"""HTTP/1.1 as clients and upstreams really use it (B3, B39, B41, B43, B81; streaming without buffering)."""
import json
import pathlib
import threading
import unittest

import harness
from client import Channel, basic, tunnel
from harness import ECHO_SECRET, Case


class Http(Case):
    def setUp(self):
        self.session, self.token = self.world.open_session()
        self.host = self.world.url("echo.test").split("/")[2]

    def open(self):
        return tunnel(self.world, self.token, "echo.test")

    def on(self, name, handler):
        self.world.raw.on[f"/open/{name}"] = handler
        return f"/open/{name}"

    def test_many_requests_on_one_connection(self):
        with self.open() as channel:
            for i in range(200):
                answer = channel.request("POST", f"/open/n{i}", self.host, body=b"x" * i)
                self.assertEqual(answer.status, 200)
                self.assertEqual(len(json.loads(answer.body)["body"]), i)

    def test_upstream_connections_are_reused(self):
        before = self.world.raw.connections
        for _ in range(10):
            with self.open() as channel:
                self.assertEqual(channel.request("GET", "/open/pool", self.host).status, 200)
        self.assertLessEqual(self.world.raw.connections - before, 2)

    def test_pipelined_requests_are_answered_in_order(self):
        with self.open() as channel:
            channel.send("".join(f"GET /open/p{i} HTTP/1.1\r\nHost: {self.host}\r\n\r\n" for i in range(5)))
            for i in range(5):
                self.assertIn(f"/open/p{i}", channel.read().body.decode())

    def test_bodyless_answers_B43(self):
        cases = {
            "head": ("HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 1488324\r\n\r\n", 200, ["1488324"]),
            "304": ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", 304, ["10"]),
            "204": ("GET", b"HTTP/1.1 204 No Content\r\n\r\n", 204, []),
            "204-length": ("GET", b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204, []),
            "empty": ("GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ["0"]),
        }
        for name, (method, answer, status, length) in cases.items():
            with self.subTest(name), self.open() as channel:
                path = self.on("bodyless-" + name, lambda e, a=answer: e.send(a))
                got = channel.request(method, path, self.host)
                self.assertEqual(got.status, status, got)
                if length:
                    self.assertEqual(got.get("content-length"), length)
                elif status == 204:
                    self.assertEqual(got.get("content-length") + got.get("transfer-encoding"), [])
                self.assertEqual(channel.request("GET", "/open/after", self.host).status, 200)

    def test_chunked_both_ways(self):
        def chunked(e):
            body = e.read_body()
            e.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            for at in range(0, len(body), 1000):
                part = body[at:at + 1000]
                e.send(b"%x\r\n%s\r\n" % (len(part), part))
            e.send(b"0\r\n\r\n")
        path = self.on("chunked", chunked)
        body = bytes(range(256)) * 300
        with self.open() as channel:
            channel.send(f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nTransfer-Encoding: chunked\r\n\r\n")
            for at in range(0, len(body), 777):
                part = body[at:at + 777]
                channel.send(b"%x\r\n%s\r\n" % (len(part), part))
            channel.send(b"0\r\n\r\n")
            self.assertEqual(channel.read().body, body)
            self.assertEqual(channel.request("GET", "/open/after", self.host).status, 200)

    def test_headers_for_one_hop_stay_there_B3(self):
        with self.open() as channel:
            channel.request("GET", "/open/hop", self.host, [f"Proxy-Authorization: {basic('x', self.token)}", "Proxy-Connection: keep-alive",
                                                            "Connection: X-Foo", "X-Foo: 1", "X-Bar: 2", "Keep-Alive: 5", "TE: trailers"])
        seen = self.world.raw.seen("/open/hop")[-1]
        for name in ("proxy-authorization", "proxy-connection", "x-foo", "keep-alive"):
            self.assertEqual(seen.get(name), [], name)
        self.assertEqual(seen.get("x-bar"), ["2"])
        self.assertEqual(seen.get("authorization"), [f"Bearer {ECHO_SECRET}"])
        self.assertEqual(seen.get("host"), [self.host])
        self.assertNotIn(self.token.encode(), seen.head)

    def test_expect_continue_B39(self):
        head = "PUT {} HTTP/1.1\r\nHost: {}\r\nExpect: 100-Continue\r\nContent-Length: {}\r\n\r\n"
        body = b"x" * (5 << 20)

        def with_100(e):
            e.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            e.reply("200 OK", str(len(e.read_body())).encode())

        def at_once(e):
            e.reply("417 Expectation Failed", b"no", [("Connection", "close")])
            return False

        def silent(e):
            e.reply("200 OK", str(len(e.read_body())).encode())
        with self.subTest("upstream says 100"), self.open() as channel:
            channel.send(head.format(self.on("with-100", with_100), self.host, len(body)))
            self.assertEqual(channel.read(interim=True).status, 100)
            self.assertEqual(channel.send(body).read().body, str(len(body)).encode())
        with self.subTest("upstream refuses at once"), self.open() as channel:
            channel.send(head.format(self.on("at-once", at_once), self.host, len(body)))
            answer = channel.read()
            self.assertEqual(answer.status, 417, answer)
        with self.subTest("upstream is silent"), self.open() as channel:
            channel.send(head.format(self.on("silent", silent), self.host, len(body)))
            self.assertEqual(channel.send(body).read().body, str(len(body)).encode())
        with self.subTest("the rule refuses"), self.open() as channel:
            channel.send(head.format("/closed/x", self.host, len(body)))
            self.assertRefused(channel.read(interim=True), 403, "no_rule")
        with self.subTest("unknown expectation"), self.open() as channel:
            channel.send(f"PUT /open/x HTTP/1.1\r\nHost: {self.host}\r\nExpect: miracles\r\nContent-Length: 1\r\n\r\n")
            self.assertEqual(channel.read(interim=True).status, 417)

    def test_large_upload_with_an_early_413_B41(self):
        def early(e):
            e.read_body(limit=65536)
            e.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 9\r\nConnection: close\r\n\r\ntoo large")
            return False
        path = self.on("early413", early)
        with self.open() as channel:
            answer = upload(channel, path, self.host, 30 << 20)
        self.assertEqual(answer.status, 413, answer)
        self.assertEqual(answer.body, b"too large")

    def test_large_bodies_stream_at_flat_memory(self):
        edge = self.world.broker.edge_pid()

        def peak():
            status = pathlib.Path(f"/proc/{edge}/status").read_text()
            return int(next(l for l in status.splitlines() if l.startswith("VmHWM")).split()[1])

        def download(e):
            e.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (60 << 20))
            block = b"y" * (1 << 20)
            for _ in range(60):
                e.send(block)

        def count(e):
            total = int(e.get("content-length")[0])
            while total:
                if not e.buffer:
                    e._more()
                total -= len(e.buffer)
                e.buffer.clear()
            e.reply("200 OK", b"done")
        with self.open() as channel:
            self.assertEqual(channel.request("GET", "/open/warm", self.host).status, 200)
            before = peak()
            self.assertEqual(upload(channel, self.on("count", count), self.host, 60 << 20).body, b"done")
            self.assertEqual(len(channel.request("GET", self.on("download", download), self.host).body), 60 << 20)
        self.assertLess(peak() - before, (16 << 10) + harness.SANITIZER_KIB, "KiB: bodies are buffered")

    def test_event_streams_are_not_held_back_B81(self):
        go = threading.Event()

        def events(e):
            e.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
            e.send(b"f\r\ndata: first 1\n\n\r\n")
            go.wait(20)
            e.send(b"e\r\ndata: second\n\n\r\n0\r\n\r\n")
        path = self.on("events", events)
        with self.open() as channel:
            channel.send(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nAccept: text/event-stream\r\n\r\n")
            while b"first" not in channel.buffer:
                self.assertTrue(channel._more(), channel.buffer)
            self.assertNotIn(b"second", channel.buffer)
            go.set()
            self.assertIn(b"second", channel.read().body)

    def test_upstreams_that_lie_give_502(self):
        cases = {"no http": b"hello\r\n\r\n", "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
                 "length and chunked": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 "fold": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n", "nothing": b"", "bad status": b"HTTP/1.1 2x0 OK\r\n\r\n"}
        for name, data in cases.items():
            with self.subTest(name), self.open() as channel:
                def lie(e, data=data):
                    e.send(data)
                    return False
                answer = channel.request("GET", self.on("lie", lie), self.host)
                self.assertIn(answer.status, (502, 504), (name, answer))

    def test_a_cut_answer_is_not_a_whole_one(self):
        def cut(e):
            e.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this")
            return False
        with self.open() as channel, self.assertRaises((EOFError, OSError)):
            channel.request("GET", self.on("cut", cut), self.host)
        def cut_chunk(e):
            e.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
            return False
        with self.open() as channel, self.assertRaises((EOFError, OSError, ValueError)):
            channel.request("GET", self.on("cut-chunk", cut_chunk), self.host)

    def test_other_upgrades_are_refused(self):
        for protocol in ("h2c", "TLS/1.3", "websocket, h2c"):
            with self.open() as channel:
                answer = channel.request("GET", "/open/ws", self.host, ["Connection: Upgrade", f"Upgrade: {protocol}"])
                self.assertRefused(answer, 403, "upgrade_not_supported")

    def test_gateway_as_base_url(self):
        port = self.world.broker.ports["gateway"]
        with Channel(port) as channel:
            for i in range(3):
                answer = channel.request("GET", f"/{self.host}/open/gw{i}?x=1", f"127.0.0.1:{port}", [f"Authorization: Bearer {self.token}"])
                self.assertEqual(answer.status, 200, answer)
        seen = self.world.raw.seen("/open/gw2")[-1]
        self.assertEqual((seen.get("host"), seen.target, seen.get("authorization")), ([self.host], "/open/gw2?x=1", [f"Bearer {ECHO_SECRET}"]))

    def test_gateway_over_tls_by_its_own_names(self):
        port = self.world.broker.ports["gateway"]
        for name in ("localhost", "127.0.0.1"):
            with self.subTest(name), Channel(port) as channel:
                channel.start_tls(name, self.world.bundle(self.token))
                answer = channel.request("GET", f"/{self.host}/open/own-{name}", f"{name}:{port}", [f"Authorization: Bearer {self.token}"])
                self.assertEqual(answer.status, 200, answer)

    def test_each_request_is_judged_anew_S74(self):
        with self.open() as channel:
            self.assertEqual(channel.request("GET", "/open/a", self.host).status, 200)
            self.assertRefused(channel.request("GET", "/closed/b", self.host), 403, "no_rule")
            self.assertEqual(channel.request("GET", "/open/c", self.host).status, 200)


def upload(channel, path, host, size):
    """Sends a body while it listens, as curl does."""
    channel.send(f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {size}\r\n\r\n")
    block = b"z" * 65536
    sent = 0
    try:
        while sent < size:
            channel.send(block[:size - sent])
            sent += len(block)
    except OSError:
        pass  # the answer came first
    return channel.read()


if __name__ == "__main__":
    unittest.TestCase.maxDiff = None
    harness.main()
