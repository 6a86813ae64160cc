"""WebSockets and event streams through every door (B55, B57, B81; CVE-2024-23326; issue 3.5)."""
import base64
import hashlib
import json
import pathlib
import select
import shutil
import socket
import statistics
import struct
import threading
import time

import harness
from client import Channel, basic, tunnel
from frames import CLOSE, PING, PONG, accept_of, echo, fields, frame, key_of, read_frame, switch
from harness import ECHO_SECRET, Case, wait_until
from upstream import RawUpstream

MORE = {"services:\n": """services:
  plain: {hosts: ["plain.test:@PLAIN@"], addresses: [127.0.0.0/8], plain_http: allow}
  query: {hosts: ["query.test:@RAW@"], addresses: [127.0.0.0/8], upstream_ca: ca.pem}
""", "credentials:\n": """credentials:
  plain: {service: plain, provider: static, secret: secret:echo-key, place: {header: {name: authorization, prefix: "Bearer "}}}
  query: {service: query, provider: static, secret: secret:api-key, place: {query: {name: key}}}
""", "    endpoints:\n": """    egress:
      - {hosts: ["free.test:@RAW@"], methods: [GET], addresses: [127.0.0.0/8], upstream_ca: ca.pem}
    endpoints:
      - {service: plain, credential: plain, allow: [{methods: [GET], path: /open/**}]}
      - {service: query, credential: query, allow: [{methods: [GET], path: /open/**}]}
      - {service: echo, credential: echo-key, allow: [{methods: [POST], path: /post}]}
""", "  reader:\n": """  brief:
    requesters: [team-web]
    limits: {session: 4s}
    endpoints:
      - {service: echo, credential: echo-key, allow: [{methods: [GET], path: /open/**}]}
  reader:
"""}


class Streams(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.plain = RawUpstream()
        cls.world.apply(cls.with_more(cls.world.policy()))

    @classmethod
    def tearDownClass(cls):
        cls.plain.close()
        super().tearDownClass()

    @classmethod
    def with_more(cls, text):
        for key, lines in MORE.items():
            text = text.replace(key, lines.replace("@PLAIN@", str(cls.plain.port)).replace("@RAW@", str(cls.world.raw.port)), 1)
        return text

    def setUp(self):
        self.session, self.token = self.world.open_session()
        self.ports, self.host = self.world.broker.ports, self.world.url("echo.test").split("/")[2]
        self.edge = self.world.broker.edge_pid()
        self.addCleanup(lambda: self.assertEqual(self.world.broker.edge_pid(), self.edge, "the edge was restarted"))

    # ---- doors: each gives a channel and what the request line and the Host are there
    def tunnel(self, name="echo.test"):
        channel = tunnel(self.world, self.token, name)
        return channel, "{}", self.world.url(name).split("/")[2], []

    def gateway(self):
        return Channel(self.ports["gateway"]), f"/{self.host}{{}}", "127.0.0.1:1", [f"Authorization: Bearer {self.token}"]

    def gateway_tls(self):
        channel = Channel(self.ports["gateway"]).start_tls("echo.test", self.world.bundle(self.token))
        return channel, "{}", self.host, [f"Authorization: Bearer {self.token}"]

    def proxy(self):
        host = f"plain.test:{self.plain.port}"
        return Channel(self.ports["proxy"]), f"http://{host}{{}}", host, [f"Proxy-Authorization: {basic('x', self.token)}"]

    def ask(self, door, path, handshake, method="GET"):
        channel, target, host, login = door
        answer = channel.request(method, target.format(path), host, [*login, *handshake], read=False) or channel.read(interim=True)
        return channel, answer

    def on(self, name, handler):
        for upstream in (self.world.raw, self.plain):
            upstream.on["/open/" + name] = handler
        return "/open/" + name

    def connect(self, handler, door=None, more=()):
        """A WebSocket to an upstream that does `handler` after its 101."""
        def serve(exchange):
            switch(exchange)
            return handler(exchange)
        name = f"ws-{time.monotonic_ns()}"
        channel, answer = self.ask(door or self.tunnel(), self.on(name, serve), fields(*more))
        self.assertEqual(answer.status, 101, answer)
        return channel

    def outcome(self, **match):
        return wait_until("the outcome is recorded", lambda: self.world.records(self.session, kind="outcome", **match))[-1]


class WebSockets(Streams):
    def test_messages_pass_both_ways_through_every_door_B55(self):
        doors = {"tunnel": self.tunnel, "gateway": self.gateway, "gateway with TLS": self.gateway_tls, "absolute http": self.proxy,
                 "no credential": lambda: self.tunnel("free.test")}
        for number, (name, door) in enumerate(doors.items()):
            upstream = self.plain if name == "absolute http" else self.world.raw
            handshake = fields("Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits", "Sec-WebSocket-Protocol: v1, v2", "Origin: https://app.test")
            path = self.on(f"echo{number}", lambda e: echo(e, "Sec-WebSocket-Protocol: v2", "X-Kept: 1"))
            with self.subTest(name):
                channel, answer = self.ask(door(), path + "?a=1", handshake)
                with channel:
                    self.assertEqual(answer.status, 101, answer)
                    self.assertEqual([v.lower() for v in answer.get("upgrade") + answer.get("connection")], ["websocket", "upgrade"])
                    self.assertEqual(answer.get("sec-websocket-accept"), [accept_of(key_of(handshake))])
                    self.assertEqual((answer.get("sec-websocket-protocol"), answer.get("x-kept")), (["v2"], ["1"]))
                    self.assertEqual(answer.get("content-length") + answer.get("transfer-encoding"), [])
                    for i in range(200):
                        payload = bytes([i]) * (0, 1, 125, 126, 1000, 65535, 65536, 70000)[i % 8]
                        channel.send(frame(payload, 2, masked=True))
                        self.assertEqual(read_frame(channel), (2, True, payload), i)
                    channel.send(frame(b"are you there", PING, masked=True))
                    self.assertEqual(read_frame(channel), (PONG, True, b"are you there"))
                    channel.send(frame(struct.pack("!H", 4001) + b"done", CLOSE, masked=True))
                    self.assertEqual(read_frame(channel), (CLOSE, True, struct.pack("!H", 4001) + b"done"))
                    self.assertTrue(channel.closed())
                seen = upstream.seen(path)[-1]
                self.assertEqual((seen.target, seen.get("sec-websocket-extensions"), seen.get("sec-websocket-protocol")), (path + "?a=1", [], ["v1, v2"]))
                self.assertEqual((seen.get("upgrade"), seen.get("connection"), seen.get("sec-websocket-version")), (["websocket"], ["Upgrade"], ["13"]))
                self.assertEqual(seen.get("authorization"), [] if name == "no credential" else [f"Bearer {ECHO_SECRET}"])
                self.assertNotIn(b"cbt_", seen.head)
                intent = self.world.records(self.session, kind="intent", path=path)[-1]
                record = self.outcome(request_id=intent["request_id"])
                self.assertEqual((record["status"], record["method"], record["outcome"]), (101, "GET", "done"), record)

    def test_the_upstream_may_close_first(self):
        def end(exchange):
            exchange.send(frame(struct.pack("!H", 1001), CLOSE))
            self.assertEqual(read_frame(exchange)[0], CLOSE)
            return False
        with self.connect(end) as channel:
            self.assertEqual(read_frame(channel), (CLOSE, True, struct.pack("!H", 1001)))
            channel.send(frame(struct.pack("!H", 1001), CLOSE, masked=True))
            self.assertTrue(channel.closed())

    def test_node_speaks_through_the_gateway(self):
        if not shutil.which("node"):
            print("node is not installed: not tried")
            return
        flag = self.world.sandbox(self.token, "node", "--experimental-websocket", "-p", "typeof WebSocket")
        if flag.code or b"function" not in flag.out:
            print("node has no WebSocket: not tried")
            return
        path = self.on("node", echo)
        code = """
const ws = new WebSocket(%r, {headers: {Authorization: 'Bearer ' + process.env.CREDBROKER_TOKEN}}), got = [];
ws.onopen = () => { for (let i = 0; i < 200; i++) ws.send('message ' + i); };
ws.onmessage = m => { got.push(m.data); if (got.length == 200) ws.close(4002, 'enough'); };
ws.onclose = c => console.log(JSON.stringify([got.length, got[199], c.code, c.wasClean, ws.extensions]));
ws.onerror = e => console.log('error', e.message);""" % f"ws://127.0.0.1:{self.ports['gateway']}/{self.host}{path}"
        result = self.world.sandbox(self.token, "node", "--experimental-websocket", "-e", code)
        self.assertEqual(json.loads(result.out), [200, "message 199", 4002, True, ""], result.text())

    def test_the_token_is_swapped_in_the_granted_place_only_B55(self):
        path = self.on("slot", echo)
        channel, answer = self.ask(self.tunnel("query.test"), path + f"?key={self.token}&a=1", fields())
        with channel:
            self.assertEqual(answer.status, 101, answer)
            channel.send(frame(b"hello", masked=True))
            self.assertEqual(read_frame(channel)[2], b"hello")
        seen = self.world.raw.seen(path)[-1]
        self.assertNotIn(self.token.encode(), seen.head)
        self.assertIn(b"key=", seen.head)
        for name, query, more, code in (("query", f"?t={self.token}", [], "token_misplaced"), ("foreign", "?access_token=mine-0001", [], "foreign_credential"),
                                        ("protocol", "", [f"Sec-WebSocket-Protocol: v1, bearer.{self.token}"], "token_misplaced")):
            before = len(self.world.raw.requests)
            with self.subTest(name), self.tunnel()[0] as channel:
                self.assertRefused(channel.request("GET", path + query, self.host, fields(*more)), 403, code)
                self.assertEqual(len(self.world.raw.requests), before)

    def test_a_key_that_poses_as_a_protocol_stays_behind(self):
        path = self.on("protocols", lambda e: echo(e, "Sec-WebSocket-Protocol: realtime"))
        channel, answer = self.ask(self.tunnel(), path, fields("Sec-WebSocket-Protocol: realtime, openai-insecure-api-key.sk-mine-0001, v1"))
        with channel:
            self.assertEqual(answer.status, 101, answer)
        self.assertEqual(self.world.raw.seen(path)[-1].get("sec-websocket-protocol"), ["realtime, v1"])

    def test_another_answer_is_an_ordinary_one_B55(self):
        path = self.on("no", lambda e: e.reply("403 Forbidden", b"the upstream says no " + ECHO_SECRET.encode(), [("X-Why", "because")]))
        for door in (self.tunnel, self.gateway, self.proxy):
            channel, *way = door()
            _, answer = self.ask((channel, *way), path, fields())
            with channel:
                self.assertEqual((answer.status, answer.get("x-why")), (403, ["because"]), answer)
                self.assertTrue(answer.body.startswith(b"the upstream says no ***"), answer)
                _, answer = self.ask((channel, *way), path, [])
                self.assertEqual(answer.status, 403, "the connection goes on")

    def test_the_policy_refuses_a_handshake_as_any_get(self):
        before = len(self.world.raw.requests)
        for door in (self.tunnel, self.gateway, self.proxy):
            channel, answer = self.ask(door(), "/closed/ws", fields())
            with channel:
                self.assertRefused(answer, 403, "no_rule")
        channel, answer = self.ask(self.tunnel(), "/post", fields())
        with channel:
            self.assertRefused(answer, 403, "no_rule")
        self.assertEqual(len(self.world.raw.requests), before)
        self.assertEqual(len(self.world.records(self.session, kind="deny", code="no_rule")), 4)
        self.assertEqual(self.world.records(self.session, kind="intent"), [])

    def test_what_is_not_exactly_one_handshake_is_refused(self):
        good, before = fields(), len(self.world.raw.requests)
        def but(old, *new):
            return [f for f in good if not f.startswith(old)] + list(new)
        cases = {"no Connection": (but("Connection"), 400, "bad_handshake"), "two Upgrade fields": (good + ["Upgrade: websocket"], 400, "malformed_http"),
                 "two protocols": (but("Upgrade", "Upgrade: websocket, h2c"), 403, "upgrade_not_supported"),
                 "h2c": (["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"], 403, "upgrade_not_supported"),
                 "version 8": (but("Sec-WebSocket-Version", "Sec-WebSocket-Version: 8"), 400, "bad_handshake"),
                 "short key": (but("Sec-WebSocket-Key", "Sec-WebSocket-Key: x"), 400, "bad_handshake"), "no key": (but("Sec-WebSocket-Key"), 400, "bad_handshake"),
                 "two keys": (good + fields()[-1:], 400, "bad_handshake"), "close too": (but("Connection", "Connection: upgrade, close"), 400, "bad_handshake"),
                 "a body": (good + ["Content-Length: 1"], 400, "bad_handshake"), "chunks": (good + ["Transfer-Encoding: chunked"], 400, "bad_handshake"),
                 "an expectation": (good + ["Expect: 100-continue"], 400, "bad_handshake")}
        for name, (handshake, status, code) in cases.items():
            with self.subTest(name):
                channel, answer = self.ask(self.tunnel(), "/open/odd", handshake)
                with channel:
                    self.assertRefused(answer, status, code)
        with self.subTest("POST"):
            channel, answer = self.ask(self.tunnel(), "/open/odd", good, "POST")
            with channel:
                self.assertRefused(answer, 400, "bad_handshake")
        with self.subTest("HTTP/1.0"), self.tunnel()[0] as channel:
            channel.send("\r\n".join(["GET /open/odd HTTP/1.0", f"Host: {self.host}", *good]) + "\r\n\r\n")
            self.assertRefused(channel.read(), 400, "bad_handshake")
        with self.subTest("git"):
            channel, target, host, _ = self.tunnel("git.test")
            with channel:
                self.assertRefused(channel.request("GET", "/acme/web.git/info/refs?service=git-upload-pack", host, good), 403, "upgrade_not_supported")
        self.assertEqual(len(self.world.raw.requests), before)

    def test_an_answer_that_does_not_fit_is_502_CVE_2024_23326(self):
        def lying(text):
            def lie(exchange):
                key = exchange.get("sec-websocket-key")[0]
                exchange.send(text.replace("ACCEPT", accept_of(key)).replace("OTHER", accept_of("x" + key)).encode() + b"\r\n\r\n" + frame(b"frames of a liar"))
                exchange.gone(5)
                return False
            return lie
        good = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ACCEPT"
        cases = {"wrong accept": good.replace("ACCEPT", "OTHER"), "no accept": good.split("\r\nSec")[0], "no upgrade": good.replace("Upgrade: websocket\r\n", ""),
                 "another upgrade": good.replace("websocket", "h2c"), "no connection": good.replace("Connection: Upgrade\r\n", ""),
                 "extension": good + "\r\nSec-WebSocket-Extensions: permessage-deflate", "protocol": good + "\r\nSec-WebSocket-Protocol: v9",
                 "length": good + "\r\nContent-Length: 5", "chunked": good + "\r\nTransfer-Encoding: chunked", "HTTP/1.0": good.replace("HTTP/1.1", "HTTP/1.0")}
        for name, text in cases.items():
            with self.subTest(name):
                channel, answer = self.ask(self.tunnel(), self.on("lie", lying(text)), fields())
                with channel:
                    self.assertRefused(answer, 502, "upstream_malformed")
                    self.assertNotIn(b"liar", channel.raw)
        with self.subTest("unasked"):
            channel, answer = self.ask(self.tunnel(), self.on("unasked", lambda e: (e.send(good.encode() + b"\r\n\r\n"), e.gone(5), False)[2]), [])
            with channel:
                self.assertRefused(answer, 502, "upstream_malformed")

    def test_nothing_is_lost_around_the_handshake(self):
        def both(exchange):
            switch(exchange, early=frame(b"behind the head") + frame(b"x" * 100000) + frame(b"half")[:3])
            exchange.send(frame(b"half")[3:])
            exchange.send(frame(b"got " + read_frame(exchange)[2]))
            return exchange.gone(5) and False
        for door in (self.tunnel, self.gateway, self.proxy):
            channel, target, host, login = door()
            with channel:
                head = "\r\n".join([f"GET {target.format(self.on('both', both))} HTTP/1.1", f"Host: {host}", *login, *fields()])
                channel.send(head.encode() + b"\r\n\r\n" + frame(b"in the head's packet", masked=True))
                self.assertEqual(channel.read(interim=True).status, 101)
                self.assertEqual([read_frame(channel)[2] for _ in range(4)], [b"behind the head", b"x" * 100000, b"half", b"got in the head's packet"])

    def test_a_head_in_single_bytes(self):
        def drip(exchange):
            text = f"HTTP/1.1 101 x\r\nupgrade: WebSocket\r\nconnection: keep-alive, UPGRADE\r\nsec-websocket-accept: {accept_of(exchange.get('sec-websocket-key')[0])}\r\n\r\n"
            for byte in text.encode() + frame(b"hello"):
                exchange.send(bytes([byte]))
            return exchange.gone(5) and False
        channel, answer = self.ask(self.tunnel(), self.on("drip", drip), fields())
        with channel:
            self.assertEqual(answer.status, 101)
            self.assertEqual(read_frame(channel)[2], b"hello")


class Volume(Streams):
    def status(self, field):
        text = pathlib.Path(f"/proc/{self.edge}/status").read_text()
        return int(next(line for line in text.splitlines() if line.startswith(field)).split()[1])

    def peak_of(self, function):
        pathlib.Path(f"/proc/{self.edge}/clear_refs").write_text("5")  # the peak starts anew at what is used now
        before = self.status("VmHWM")
        function()
        return self.status("VmHWM") - before

    def test_64_MiB_each_way_at_flat_memory(self):
        total, block, result = 64 << 20, frame(b"z" * (1 << 20), 2), {}

        def serve(exchange):
            count = 0
            digest = hashlib.sha256()
            while count < total:
                if not exchange.buffer:
                    exchange._more()
                count += len(exchange.buffer)
                digest.update(exchange.buffer)
                exchange.buffer.clear()
            result["up"] = (count, digest.hexdigest())
            for _ in range(64):
                exchange.send(block)
            return exchange.gone() and False

        def run():
            with self.connect(serve) as channel:
                data = bytes(range(256)) * 4096
                digest = hashlib.sha256()
                for _ in range(64):
                    channel.send(data)
                    digest.update(data)
                for _ in range(64):
                    opcode, last, payload = read_frame(channel)
                    self.assertEqual((opcode, last, len(payload), payload.count(b"z")), (2, True, 1 << 20, 1 << 20))
                self.assertEqual(result["up"], (total, digest.hexdigest()))
        run()  # warm
        self.assertLess(self.peak_of(run), (4 << 10) + harness.SANITIZER_KIB, "KiB")
        record = self.outcome()
        self.assertGreaterEqual(min(record["bytes_up"], record["bytes_down"]), total)

    def test_a_slow_side_holds_back_the_other_only(self):
        sent, go = [], threading.Event()

        def push(exchange):
            try:
                for _ in range(100):
                    exchange.send(frame(bytes(1 << 20), 2))
                    sent.append(1)
            except OSError:
                pass
            return False

        def still():
            before = len(sent)
            go.wait(0.5)
            return len(sent) == before

        def stall():
            with self.connect(push) as channel:
                wait_until("the upstream is held back", still)
                self.assertLess(len(sent), 50, "MiB taken for a client that reads nothing")
                with tunnel(self.world, self.token, "echo.test") as other:
                    self.assertEqual(other.request("GET", "/open/other", self.host).status, 200)
                for _ in range(100):
                    self.assertEqual(len(read_frame(channel)[2]), 1 << 20)
        self.assertLess(self.peak_of(stall), (4 << 10) + harness.SANITIZER_KIB, "KiB")


class Secrets(Streams):
    def talk(self, *sends):
        """The payloads that reach the client when the upstream sends these bytes one after another."""
        go = threading.Semaphore(0)

        def serve(exchange):
            exchange.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for data in sends:
                exchange.send(data)
            go.acquire(timeout=20)
            return False
        payloads = []
        with self.connect(serve) as channel:
            while not payloads or payloads[-1] != b"END":
                payloads.append(read_frame(channel)[2])
            self.assertNoSecret(channel.raw, "frames")
            go.release()
        return payloads[:-1]

    def test_a_secret_in_a_frame_is_covered_at_its_length(self):
        secret, end = ECHO_SECRET.encode(), frame(b"END")
        cover = b"*" * len(secret)
        self.assertEqual(self.talk(frame(b"<" + secret + b">") + end), [b"<" + cover + b">"])
        self.assertEqual(self.talk(frame(secret * 1000, 2) + end), [cover * 1000])
        self.assertEqual(self.talk(frame(secret, PING) + end), [cover])
        encoded = base64.b64encode(b"bot:" + secret)
        self.assertEqual(len(self.talk(frame(encoded) + end)[0]), len(encoded))

    def test_a_secret_is_covered_wherever_it_is_split(self):
        secret, end = ECHO_SECRET.encode(), frame(b"END")
        whole = frame(b"<" + secret + b">")
        for at in range(1, len(whole), 3):
            with self.subTest("packets", at=at):
                self.assertEqual(self.talk(whole[:at], whole[at:] + end), [b"<" + b"*" * len(secret) + b">"])
        self.assertEqual(self.talk(*[bytes([b]) for b in whole + end]), [b"<" + b"*" * len(secret) + b">"])
        for at in range(1, len(secret), 4):
            with self.subTest("fragments", at=at):
                parts = self.talk(frame(secret[:at], 1, False), frame(secret[at:], 0) + end)
                self.assertEqual(parts, [b"*" * at, b"*" * (len(secret) - at)])
            with self.subTest("messages", at=at):
                parts = self.talk(frame(secret[:at]) + frame(secret[at:]) + end)
                self.assertEqual([len(p) for p in parts], [at, len(secret) - at])
                self.assertEqual(set(parts[1]), set(b"*"))

    def test_a_message_that_ends_as_the_secret_begins_does_not_wait(self):
        seen = threading.Semaphore(0)

        def serve(exchange):
            for size in range(1, 8):
                exchange.send(frame(b"value " + ECHO_SECRET.encode()[:size]))
                if not seen.acquire(timeout=10):
                    return False
            return exchange.gone(5) and False
        with self.connect(serve) as channel:
            for size in range(1, 8):
                self.assertEqual(read_frame(channel)[2], b"value " + ECHO_SECRET.encode()[:size])
                seen.release()

    def test_frames_that_cannot_be_read_end_the_connection(self):
        for name, data in (("compressed", b"\xC1\x05hello"), ("masked", frame(b"hello", masked=True)), ("no frame", b"\xFF\xFFhello")):
            with self.subTest(name):
                channel = self.connect(lambda e, data=data: (e.send(frame(b"good") + data + frame(b"never")), e.gone(10))[1] and False)
                with channel:
                    self.assertEqual(read_frame(channel)[2], b"good")
                    with self.assertRaises((EOFError, OSError)):
                        read_frame(channel)
                    self.assertNotIn(b"hello", channel.raw)
                self.assertEqual((self.outcome(outcome="failed")["code"], self.outcome()["status"]), ("upstream_malformed", 101))


class Ends(Streams):
    def next_second(self):
        """A session of a later second than all that was revoked: tokens are dated in whole seconds."""
        now = int(time.time())
        wait_until("the next second", lambda: int(time.time()) > now + 1)
        self.setUp()

    def ended(self, end, *args, door=None, **kw):
        """Opens a WebSocket, does `end`, and gives how long both sides lived on after it."""
        gone = threading.Event()

        def serve(exchange):
            exchange.send(frame(b"open"))
            if exchange.gone(20):
                gone.set()
            return False
        with self.connect(serve, door) as channel:
            self.assertEqual(read_frame(channel)[2], b"open")
            self.assertFalse(select.select([channel.socket], [], [], 0.3)[0] and channel._more(), "it ended before, or said more")
            end(*args, **kw)
            start = time.monotonic()
            channel.socket.settimeout(10)
            self.assertTrue(channel.closed(), "the client's connection lives on")
            self.assertTrue(gone.wait(10), "the upstream's connection lives on")
            return time.monotonic() - start

    def test_revocation_and_the_session_end_close_it_within_2_s(self):
        cli, doors = self.world.cli, {"tunnel": self.tunnel, "gateway": self.gateway, "proxy": self.proxy}
        for name, door in doors.items():
            with self.subTest("session close", door=name):
                self.setUp()
                self.assertLess(self.ended(cli, "session", "close", self.session, door=door()), 2)
                self.assertEqual(self.outcome()["code"], "token_revoked")
            with self.subTest("token revoke", door=name):
                self.setUp()
                self.assertLess(self.ended(cli, "token", "revoke", token=self.token, door=door()), 2)
        with self.subTest("credential"):
            self.next_second()
            self.assertLess(self.ended(cli, "token", "revoke", "--credential", "echo-key", "--reason", "leaked"), 2)
        with self.subTest("all"):
            self.next_second()
            self.assertLess(self.ended(cli, "token", "revoke", "--all", "--reason", "drill"), 2)

    def test_the_end_of_the_sessions_time_closes_it_within_2_s(self):
        self.session, self.token = self.world.open_session(scope="brief")
        opened, left = time.monotonic(), self.ended(lambda: None)
        self.assertLess(left, 4 + 2)
        self.assertGreater(time.monotonic() - opened, 3.5, "it ended before its time")
        self.assertEqual(self.outcome()["code"], "token_revoked")

    def test_the_end_of_a_token_leaves_it(self):
        """The session's end is what ends a running transfer (gate/gate.h)."""
        self.session, self.token = self.world.open_session("--ttl", "2s")
        asked = threading.Event()
        with self.connect(lambda e: (read_frame(e), e.send(frame(b"alive")), e.gone(5))[2] and False) as channel:
            asked.wait(4)
            channel.send(frame(b"?", masked=True))
            self.assertEqual(read_frame(channel)[2], b"alive")

    def test_a_policy_that_no_longer_allows_it_closes_it_within_2_s(self):
        narrower = self.with_more(self.world.policy()).replace("path: /open/**", "path: /open/other/**")
        self.addCleanup(self.world.apply, self.with_more(self.world.policy()))
        for door in (self.tunnel, self.gateway):
            self.assertLess(self.ended(self.world.apply, narrower, door=door()), 2)
            self.world.apply(self.with_more(self.world.policy()))

    def test_a_policy_that_still_allows_it_leaves_it(self):
        with self.connect(lambda e: (read_frame(e), e.send(frame(b"alive")), e.gone(5))[2] and False) as channel:
            self.world.apply(self.with_more(self.world.policy()).replace("description: fetch only", "description: only fetch"))
            other, _ = self.world.open_session()
            self.world.cli("session", "close", other)
            channel.send(frame(b"?", masked=True))
            self.assertEqual(read_frame(channel)[2], b"alive")
        self.world.apply(self.with_more(self.world.policy()))

    def test_a_client_that_leaves_ends_the_upstream(self):
        for door in (self.tunnel, self.gateway, self.proxy):
            for hard in (False, True):
                left = threading.Event()
                channel = self.connect(lambda e, left=left: e.gone(10) and left.set(), door())
                if hard:
                    channel.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                channel.close()
                self.assertTrue(left.wait(5), "the upstream's connection lives on")

    def test_an_upstream_that_leaves_ends_the_client(self):
        def cut(exchange):
            exchange.send(frame(b"last"))
            raise EOFError

        def reset(exchange):
            exchange.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise EOFError
        for end in (lambda e: (e.send(frame(b"last")), False)[1], cut, reset):
            with self.connect(end) as channel:
                channel.socket.settimeout(5)
                self.assertTrue(channel.closed())
                if end is not reset:
                    self.assertEqual(read_frame(channel)[2], b"last")

    def test_half_close_each_way(self):
        def after_the_client(exchange):
            got = read_frame(exchange)[2]
            self.assertRaises(EOFError, exchange._more)
            for part in (got, b"two", b"three"):
                exchange.send(frame(part))
            return False
        with self.connect(after_the_client, self.gateway()) as channel:
            channel.send(frame(b"one", masked=True))
            channel.socket.shutdown(socket.SHUT_WR)
            self.assertEqual([read_frame(channel)[2] for _ in range(3)], [b"one", b"two", b"three"])
            self.assertRaises(EOFError, read_frame, channel)
        heard = []

        def before_the_client(exchange):
            exchange.socket.shutdown(socket.SHUT_WR)
            heard.append(read_frame(exchange)[2])
            self.assertRaises(EOFError, exchange._more)
            heard.append(b"end")
            return False
        with self.connect(before_the_client, self.proxy()) as channel:
            self.assertRaises(EOFError, read_frame, channel)
            channel.send(frame(b"reply", masked=True))
            channel.socket.shutdown(socket.SHUT_WR)
            wait_until("the upstream hears the client out", lambda: heard == [b"reply", b"end"])


class Time(Streams):
    def test_an_event_passes_within_250_ms_B57(self):
        for kind in ("SSE", "WebSocket"):
            seen, sent = threading.Semaphore(0), []

            def events(exchange, kind=kind, seen=seen, sent=sent):
                if kind == "SSE":
                    exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
                else:
                    switch(exchange)
                for i in range(20):
                    event = b"data: number %05d\n\n" % i
                    sent.append(time.monotonic())
                    exchange.send(b"%x\r\n%s\r\n" % (len(event), event) if kind == "SSE" else frame(event))
                    if not seen.acquire(timeout=10):
                        return False
                return exchange.gone(5) and False
            channel, target, host, _ = self.tunnel()
            with self.subTest(kind), channel:
                channel.request("GET", self.on("events", events), host, [] if kind == "SSE" else fields(), read=False)
                delays = []
                for i in range(20):
                    channel.until(b"number %05d\n\n" % i)
                    delays.append(time.monotonic() - sent[i])
                    seen.release()
                self.assertLess(statistics.median(delays), 0.25, delays)

    def test_long_silence_below_the_limit_stays(self):
        """Longer than every other wait of the data plane (15 s); all streams at once."""
        pause = threading.Event()

        def silent_ws(exchange):
            switch(exchange, early=frame(b"first"))
            pause.wait(17)
            exchange.send(frame(b"second"))
            return exchange.gone(5) and False

        def silent_events(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: first\n\n")
            pause.wait(17)
            exchange.send(b"data: second\n\n")
            return False

        def silent_poll(exchange):
            pause.wait(17)
            exchange.reply("200 OK", b"first and second")
        cases = {"ws": (silent_ws, fields()), "events": (silent_events, []), "poll": (silent_poll, [])}
        channels = []
        for name, (handler, handshake) in cases.items():
            for door in (self.tunnel, self.gateway):
                channel, target, host, login = door()
                channel.request("GET", target.format(self.on("silent-" + name, handler)), host, [*login, *handshake], read=False)
                channel.socket.settimeout(40)
                channels.append(channel)
        for channel in channels:
            with channel:
                channel.until(b"first").until(b"second")

    def test_a_side_that_ignores_the_others_end_is_closed_at_the_bound(self):
        """close_wait, 10 s."""
        left = threading.Event()

        def deaf(exchange):
            left.wait(60)
            return False
        with self.connect(deaf, self.proxy()) as channel:
            start = time.monotonic()
            channel.socket.shutdown(socket.SHUT_WR)
            channel.socket.settimeout(30)
            self.assertTrue(channel.closed())
            self.assertGreater(time.monotonic() - start, 8, "an end that is not answered at once is no reason to cut")
            left.set()
        self.assertEqual(self.outcome()["outcome"], "done")


if __name__ == "__main__":
    harness.main()
