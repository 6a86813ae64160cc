"""HTTP/1.1 without ambiguity on both sides, over raw sockets (B3, B35, B37, B39, B41, B43, B45, B53; the header and framing CVEs)."""
import gzip
import json
import socket
import threading
import unittest

import harness
from client import Channel, EarlyTls, basic, connect, tunnel
from harness import ECHO_SECRET, Case, wait_until


class Framing(Case):
    def setUp(self):
        self.session, self.token = self.world.open_session()
        self.host = self.world.url("echo.test").split("/")[2]
        self.upstream = self.world.raw

    def open(self):
        return tunnel(self.world, self.token, "echo.test")

    def on(self, handler):
        """A path of this test's own that `handler` answers."""
        path = f"/open/{self.id().rsplit('.', 1)[1]}/{len(self.upstream.on)}"
        self.upstream.on[path] = handler
        return path

    def raw(self, data):
        """A path that is answered with exactly these bytes; then the upstream closes."""
        def send(exchange):
            exchange.read_body()
            exchange.send(data)
            return False
        return self.on(send)

    def get(self, path, method="GET", headers=()):
        with self.open() as channel:
            return channel.request(method, path, self.host, headers)

    def gateway(self):
        return Channel(self.world.broker.ports["gateway"])

    def login(self):
        return f"Authorization: Bearer {self.token}"


class Requests(Framing):
    """What is refused: the whole list at each door; nothing reaches the upstream, the connection ends, one record tells why."""
    FIELDS = {  # in place of the framing fields of a POST with the body `hello`
        "ambiguous_framing": {
            "two lengths (B35)": "Content-Length: 5\r\nContent-Length: 50",
            "length list (B35)": "Content-Length: 5, 5",
            "length and chunked (B35)": "Content-Length: 5\r\nTransfer-Encoding: chunked",
            "chunked and length (B35)": "Transfer-Encoding: chunked\r\nContent-Length: 5",
            "xchunked (B35)": "Transfer-Encoding: xchunked",
            "chunked, identity (B35)": "Transfer-Encoding: chunked, identity",
            "chunked twice": "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            "gzip, chunked": "Transfer-Encoding: gzip, chunked",
            "identity": "Transfer-Encoding: identity",
            "signed length": "Content-Length: +5",
            "hex length": "Content-Length: 0x5",
            "leading zero": "Content-Length: 05",
            "empty length": "Content-Length:",
            "length beyond 64 bits": "Content-Length: 18446744073709551621",
        },
        "malformed_http": {
            "space before colon (B35)": "Content-Length : 5",
            "space before the colon of the coding (B35)": "Transfer-Encoding : chunked",
            "underscore length (CVE-2026-54763)": "Content-Length: 5\r\nContent_Length: 50",
            "underscore coding": "Content-Length: 5\r\nTransfer_Encoding: chunked",
            "underscore login (CVE-2026-54763)": "Content-Length: 5\r\nX_Auth_User: root",
            "underscore proxy login": "Content-Length: 5\r\nproxy_authorization: x",
            "obs-fold": "Content-Length: 5\r\nX-A: b\r\n c",
            "control byte before chunked": "Transfer-Encoding: \x0bchunked",
            "obs-fold by tab": "Content-Length: 5\r\nX-A: b\r\n\tc",
            "fold before the first field": " X: y\r\nContent-Length: 5",
            "lone LF between fields (GHSA-q5vx-44v4-gch4)": "X-A: b\nContent-Length: 5",
            "lone CR in a value (GHSA-q5vx-44v4-gch4)": "Content-Length: 5\r\nX-A: b\rTransfer-Encoding: chunked",
            "CR before CRLF": "Content-Length: 5\r\nX-A: b\r",
            "NUL in a value (CVE-2019-9900)": "Content-Length: 5\r\nX-A: a\0b",
            "NUL in a name (CVE-2019-9900)": "Content-Length: 5\r\nX-A\0: b",
            "escape in a value": "Content-Length: 5\r\nX-A: \x1b[2J",
            "DEL in a value": "Content-Length: 5\r\nX-A: \x7f",
            "byte FF in a value (CVE-2026-73552)": "Content-Length: 5\r\nX-A: \xff",
            "UTF-8 in a value (CVE-2026-73552)": "Content-Length: 5\r\nX-A: \xc3\xa4",
            "byte FF in a name": "Content-Length: 5\r\nX-\xff: a",
            "no colon": "Content-Length: 5\r\nX-A",
            "no name": "Content-Length: 5\r\n: b",
            "bracket in a name": "Content-Length: 5\r\nX[A]: b",
            "Content-Type twice (CVE-2026-26308)": "Content-Length: 5\r\nContent-Type: a/b\r\nContent-Type: a/b",
            "Git-Protocol twice (CVE-2026-26308)": "Content-Length: 5\r\nGit-Protocol: version=2\r\nGit-Protocol: version=1",
            "Connection names the length (B3)": "Content-Length: 5\r\nConnection: Content-Length",
            "Connection names the credential (B3)": "Content-Length: 5\r\nConnection: close, Authorization, Host",
            "Connection is no list of tokens": "Content-Length: 5\r\nConnection: close; x",
        },
        "bad_host": {"Host twice (CVE-2026-26308)": "Content-Length: 5\r\nHost: {h}", "Host twice, unlike": "Content-Length: 5\r\nHost: evil.test"},
        "ambiguous_token": {"Authorization twice (CVE-2026-26308)": "Content-Length: 5\r\nAuthorization: Bearer a\r\nAuthorization: Bearer a"},
        "head_too_large": {"129 fields": "Content-Length: 5\r\n" + "\r\n".join(f"X-{i}: y" for i in range(129))},
    }
    LINES = {
        "malformed_http": {
            "lone LF": "POST {t} HTTP/1.1\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello",
            "lone LF ends the head": "POST {t} HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\n\nhello",
            "empty line before the request": "\r\nPOST {t} HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello",
            "two spaces": "POST  {t} HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello",
            "tab": "POST\t{t} HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello",
            "space in the target": "POST {t} x HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello",
            "fragment": "POST {t}#x HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello",
            "byte FF in the target": "POST {t}\xff HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello",
            "no version": "POST {t}\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello",
            "space after the version": "POST {t} HTTP/1.1 \r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello",
        },
        "http_version": {"HTTP/1.2": "POST {t} HTTP/1.2\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello",
                         "HTTP/2.0": "POST {t} HTTP/2.0\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello"},
        "method_not_supported": {"TRACE": "TRACE {t} HTTP/1.1\r\nHost: {h}\r\n\r\n", "lower case": "post {t} HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello"},
        "bad_host": {"no Host": "POST {t} HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello"},
        "expectation": {"unknown expectation (B39)": "POST {t} HTTP/1.1\r\nHost: {h}\r\nExpect: 200-ok\r\nContent-Length: 5\r\n\r\nhello"},
        "ambiguous_framing": {"chunked in HTTP/1.0": "POST {t} HTTP/1.0\r\nHost: {h}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
        "uri_too_long": {"target above 8 KiB": "POST {t}" + "a" * 9000 + " HTTP/1.1\r\nHost: {h}\r\nContent-Length: 5\r\n\r\nhello"},
    }
    CHUNKS = {  # B37, CVE-2025-22871, GHSA-fghv-69vj-qj49
        "size ended by LF": "5\nhello\r\n0\r\n\r\n",
        "size ended by CR": "5\rhello\r\n0\r\n\r\n",
        "extension": "5;a=b\r\nhello\r\n0\r\n\r\n",
        "LF in an extension": "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "space after the size": "5 \r\nhello\r\n0\r\n\r\n",
        "no CRLF after the data": "5\r\nhello0\r\n\r\n",
        "LF after the data": "5\r\nhello\n0\r\n\r\n",
        "longer than its size": "5\r\nhelloo\r\n0\r\n\r\n",
        "signed size": "+5\r\nhello\r\n0\r\n\r\n",
        "hex prefix": "0x5\r\nhello\r\n0\r\n\r\n",
        "size of 65 bits": "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "no size": "\r\nhello\r\n0\r\n\r\n",
        "end by LF": "5\r\nhello\r\n0\n\n",
        "fold in a trailer": "5\r\nhello\r\n0\r\nX-A: b\r\n c\r\n\r\n",
        "space before the colon of a trailer": "5\r\nhello\r\n0\r\nX-A : b\r\n\r\n",
        "lone LF in a trailer": "5\r\nhello\r\n0\r\nX-A: b\n\r\n",
        "NUL in a trailer": "5\r\nhello\r\n0\r\nX-A: \0\r\n\r\n",
        "trailers above 8 KiB": "5\r\nhello\r\n0\r\n" + "X-A: bbbbbbbbbbbbbbbbbbbbbb\r\n" * 400 + "\r\n",
    }

    def refused(self, channel, text, code):
        """Sends it with a second request right behind; gives the answer."""
        hidden = f"GET /open/hidden HTTP/1.1\r\nHost: {self.host}\r\n\r\n"
        channel.send((text + hidden).encode("latin-1"))
        answer = channel.read("GET")
        status = {"bad_host": 400, "ambiguous_token": 400, "malformed_http": 400, "ambiguous_framing": 400, "head_too_large": 431, "http_version": 505,
                  "method_not_supported": 405, "expectation": 417, "uri_too_long": 414}[code]
        self.assertRefused(answer, status, code)
        self.assertIn("close", answer.get("connection"))
        self.assertTrue(channel.closed(), "the connection must end")
        self.assertNotIn(b"HTTP/1.1", channel.buffer, "a second answer")
        return json.loads(answer.body)["error"]["request_id"]

    def doors(self, text):
        """The same text at the tunnel, at the gateway and on the proxy's own listener."""
        with self.open() as channel:
            yield "tunnel", channel, text.replace("{t}", "/open/refused").replace("{h}", self.host)
        gateway = f"127.0.0.1:{self.world.broker.ports['gateway']}"
        with self.gateway() as channel:
            yield "gateway", channel, text.replace("{t}", f"/{self.host}/open/refused").replace("{h}", gateway)
        with Channel(self.world.broker.ports["proxy"]) as channel:
            yield "proxy", channel, text.replace("{t}", f"http://{self.host}/open/refused").replace("{h}", self.host)

    def test_fields_that_two_readers_could_read_differently_B35(self):
        ids = set()
        for code, cases in self.FIELDS.items():
            for name, fields in cases.items():
                for door, channel, text in self.doors("POST {t} HTTP/1.1\r\nHost: {h}\r\n" + fields + "\r\n\r\nhello"):
                    with self.subTest(name, door=door):
                        request_id = self.refused(channel, text, code)
                        ids |= {request_id} if door == "tunnel" else set()
        self.assertFalse(self.upstream.seen("/open/refused") + self.upstream.seen("/open/hidden"))
        denies = [r["request_id"] for r in self.world.records(self.session, kind="deny")]
        self.assertEqual(sorted(denies), sorted(ids), "one record for each refusal, with the client's request id")

    def test_request_lines_that_are_not_strict(self):
        for code, cases in self.LINES.items():
            for name, line in cases.items():
                for door, channel, text in self.doors(line):
                    with self.subTest(name, door=door):
                        self.refused(channel, text, code)
        self.assertFalse(self.upstream.seen("/open/refused") + self.upstream.seen("/open/hidden"))

    def test_chunked_bodies_that_are_not_strict_B37(self):
        def read(exchange):
            exchange.read_body()
            exchange.reply("200 OK", b"whole")
        path = self.on(read)
        for name, body in self.CHUNKS.items():
            with self.subTest(name), self.open() as channel:
                self.refused(channel, f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\nTransfer-Encoding: chunked\r\n\r\n{body}", "malformed_http")
        self.assertFalse(self.upstream.seen("/open/hidden"))
        self.assertFalse([r for r in self.upstream.seen(path) if r.whole], "a body was given an end that the client did not send")

    def test_an_identical_length_is_folded_B35(self):
        with self.open() as channel:
            channel.send(f"POST /open/folded HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello")
            self.assertEqual(channel.read().status, 200)
        seen = self.upstream.seen("/open/folded")[-1]
        self.assertEqual((seen.get("content-length"), bytes(seen.body)), (["5"], b"hello"))

    def test_a_head_that_comes_byte_by_byte_is_the_same_head(self):
        with self.open() as channel:
            for byte in f"POST /open/slow HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: 2\r\n\r\nab".encode():
                channel.send(bytes([byte]))
            self.assertEqual(json.loads(channel.read().body)["body"], "ab")

    def test_trailers_are_dropped(self):
        with self.open() as channel:
            channel.send(f"POST /open/trailer HTTP/1.1\r\nHost: {self.host}\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n"
                         "2\r\nab\r\n0\r\nAuthorization: Bearer mine-0001\r\nContent-Length: 9\r\n\r\n")
            self.assertEqual(channel.read().status, 200)
            self.assertEqual(channel.request("GET", "/open/after", self.host).status, 200)
        seen = self.upstream.seen("/open/trailer")[-1]
        self.assertEqual((bytes(seen.body), seen.get("trailer")), (b"ab", []))
        self.assertNotIn(b"mine-0001", b"".join(r.head for r in self.upstream.requests))

    def test_upgrades_and_h2c_are_refused_CVE_2024_23326(self):
        for fields, status, code in ((["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"], 403, "upgrade_not_supported"),
                                     (["Upgrade: websocket"], 400, "bad_handshake")):
            with self.open() as channel:
                self.assertRefused(channel.request("GET", "/open/upgrade", self.host, fields), status, code)
        self.assertFalse(self.upstream.seen("/open/upgrade"))


class Order(Framing):
    """Several requests on one connection, and connections that end early."""

    def test_pipelined_requests_of_every_kind_keep_their_order(self):
        requests = [f"POST /open/o1 HTTP/1.1\r\nHost: {self.host}\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n",
                    f"HEAD /open/o2 HTTP/1.1\r\nHost: {self.host}\r\n\r\n", f"GET /closed/o3 HTTP/1.1\r\nHost: {self.host}\r\n\r\n",
                    f"POST /closed/o4 HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: 27\r\n\r\nGET /open/no HTTP/1.1\r\nX: y",
                    f"PUT /open/o5 HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: 4\r\n\r\nfive", f"GET /open/o6 HTTP/1.1\r\nHost: {self.host}\r\n\r\n"]
        with self.open() as channel:
            channel.send("".join(requests))
            self.assertEqual(json.loads(channel.read().body)["body"], "one")
            self.assertEqual(channel.read("HEAD").status, 200)
            self.assertRefused(channel.read(), 403, "no_rule")
            self.assertRefused(channel.read(), 403, "no_rule")
            self.assertEqual(json.loads(channel.read().body)["body"], "five")
            self.assertIn("/open/o6", json.loads(channel.read().body)["head"])
        self.assertFalse(self.upstream.seen("/open/no"))

    def test_what_follows_connection_close_is_dropped(self):
        with self.open() as channel:
            channel.send(f"GET /open/last HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n\r\nGET /open/beyond HTTP/1.1\r\nHost: {self.host}\r\n\r\n")
            answer = channel.read()
            self.assertEqual((answer.status, answer.get("connection")), (200, ["close"]))
            self.assertTrue(channel.closed())
            self.assertEqual(bytes(channel.buffer), b"")
        self.assertFalse(self.upstream.seen("/open/beyond"))

    def test_only_a_safe_request_is_sent_again_after_an_idle_race(self):
        """A pooled connection that the upstream closes just as the next request comes: GET is repeated, POST and PUT are not."""
        for method, status, times in (("GET", 200, 2), ("HEAD", 200, 2), ("POST", 502, 1), ("PUT", 502, 1)):
            with self.subTest(method):
                first = []

                def race(exchange):
                    if first:
                        return exchange.reply("200 OK", b"again" if exchange.method == "GET" else b"")
                    first.append(exchange)
                    return False  # read, and closed without a word
                path = self.on(race)
                with self.open() as channel:
                    self.assertEqual(channel.request("GET", "/open/warm", self.host).status, 200)
                    channel.send(f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Length: 0\r\n\r\n" if method in ("POST", "PUT") else
                                 f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\n\r\n")
                    self.assertEqual(channel.read(method).status, status)
                self.assertEqual(len(self.upstream.seen(path)), times)

    def test_a_fresh_connection_that_closes_is_not_tried_again(self):
        def close(exchange):
            return False
        path = self.on(close)
        self.assertRefused(self.get(path), 502, "upstream_closed")
        self.assertLessEqual(len(self.upstream.seen(path)), 2, "one on a pooled connection, one on a fresh one")

    def test_a_client_that_half_closes_still_gets_its_answer(self):
        started = threading.Event()

        def late(exchange):
            body = exchange.read_body()
            started.wait(20)
            exchange.reply("200 OK", b"got " + body)
        path = self.on(late)
        with self.gateway() as channel:
            channel.send(f"POST /{self.host}{path} HTTP/1.1\r\nHost: 127.0.0.1:1\r\n{self.login()}\r\nContent-Length: 4\r\n\r\nhalf")
            channel.socket.shutdown(socket.SHUT_WR)
            wait_until("the upstream has the request", lambda: self.upstream.seen(path))
            started.set()
            self.assertEqual(channel.read().body, b"got half")
            self.assertTrue(channel.closed())

    def test_a_client_that_half_closes_within_its_body_gives_no_whole_request(self):
        def read(exchange):
            exchange.read_body()
            exchange.reply("200 OK", b"whole")
        path = self.on(read)
        for framing, body in (("Content-Length: 9", "half"), ("Transfer-Encoding: chunked", "4\r\nhalf\r\n")):
            with self.gateway() as channel:
                channel.send(f"POST /{self.host}{path} HTTP/1.1\r\nHost: 127.0.0.1:1\r\n{self.login()}\r\n{framing}\r\n\r\n{body}")
                wait_until("the upstream has the body's start", lambda: self.upstream.seen(path) and self.upstream.seen(path)[-1].body == b"half")
                channel.socket.shutdown(socket.SHUT_WR)
                self.assertTrue(channel.closed())
                self.assertNotIn(b"200 OK", channel.buffer)
                self.assertFalse(self.upstream.seen(path)[-1].whole)
            path = self.on(read)

    def test_an_upstream_that_half_closes_after_its_answer_is_heard(self):
        def half(exchange):
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nanswer")
            exchange.socket.unwrap()  # close_notify; the other direction stays
            return exchange.gone() and None
        answer = self.get(self.on(half))
        self.assertEqual((answer.status, answer.body), (200, b"answer"))


class Responses(Framing):
    OK = b"HTTP/1.1 200 OK\r\n"
    BAD = {  # B37, and the cases of llhttp that a strict reader refuses
        "two lengths": OK + b"Content-Length: 2\r\nContent-Length: 20\r\n\r\nab",
        "length list": OK + b"Content-Length: 2, 2\r\n\r\nab",
        "length and chunked": OK + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "last coding is not chunked": OK + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
        "xchunked": OK + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "chunked twice": OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "chunked in HTTP/1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "space before colon": OK + b"Content-Length : 2\r\n\r\nab",
        "obs-fold": OK + b"X-A: b\r\n c\r\nContent-Length: 2\r\n\r\nab",
        "lone LF in the head": OK + b"X-A: b\nContent-Length: 2\r\n\r\nab",
        "lone CR in a value": OK + b"X-A: b\rContent-Length: 9\r\nContent-Length: 2\r\n\r\nab",
        "NUL in a value": OK + b"X-A: \0\r\nContent-Length: 2\r\n\r\nab",
        "no reason and no space": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/0.9": b"hello",
        "HTTP/2 status line": b"HTTP/2 200 OK\r\n\r\n",
        "status 99": b"HTTP/1.1 099 OK\r\n\r\n",
        "status 600": b"HTTP/1.1 600 OK\r\n\r\n",
        "length with 204": b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello",
        "switching unasked (CVE-2024-23326)": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        "head above 64 KiB": OK + b"X-A: " + b"b" * 70000 + b"\r\n\r\n",
        "129 fields": OK + b"X: y\r\n" * 129 + b"Content-Length: 0\r\n\r\n",
        "chunk size ended by LF": OK + b"Transfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n",
        "LF in a chunk extension": OK + b"Transfer-Encoding: chunked\r\n\r\n5;a\nb\r\nhello\r\n0\r\n\r\n",
        "chunk size ended by CR": OK + b"Transfer-Encoding: chunked\r\n\r\n5\rhello\r\n0\r\n\r\n",
        "huge chunk size": OK + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\nx",
        "end of chunks by LF": OK + b"Transfer-Encoding: chunked\r\n\r\n0\n\n",
        "fold in a trailer": OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-A: b\r\n c\r\n\r\n",
        "nothing at all": b"",
        "half a head": b"HTTP/1.1 200 OK\r\nContent-Le",
    }

    def test_answers_that_two_readers_could_read_differently_B37(self):
        for name, data in self.BAD.items():
            path = self.raw(data)
            with self.subTest(name), self.open() as channel:
                answer = channel.request("GET", path, self.host)
                self.assertRefused(answer, 502, "upstream_closed" if name.startswith(("nothing", "half")) else "upstream_malformed")
                self.assertNotIn(b"hello", channel.raw)
                connections = self.upstream.connections
                self.assertEqual(channel.request("GET", "/open/after", self.host).status, 200, "the client's connection goes on")
                self.assertEqual(self.upstream.connections, connections + 1, "the upstream connection is not used again")

    def test_a_fault_after_the_first_chunk_shows_as_a_cut_B37(self):
        for name, rest in (("LF", b"5\nhello\r\n0\r\n\r\n"), ("no CRLF", b"5\r\nhelloX0\r\n\r\n"), ("trailer", b"0\r\nX : y\r\n\r\n"), ("end", b"5\r\nhel")):
            path = self.raw(self.OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n" + rest)
            with self.subTest(name), self.open() as channel:
                try:
                    answer = channel.request("GET", path, self.host)
                    self.assertEqual(answer.status, 502, answer)
                except (EOFError, OSError, ValueError):
                    self.assertNotIn(b"\r\n0\r\n\r\n", channel.raw)

    def test_a_cut_answer_never_looks_whole_to_an_old_client_B53(self):
        """HTTP/1.0 without a length ends with the connection, so a cut has to be a reset."""
        go = threading.Event()

        def cut(exchange):
            exchange.send(self.OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n")
            go.wait(20)
            exchange.send(b"5\r\nhel")
            return False
        path = self.on(cut)
        with self.gateway() as channel:
            channel.send(f"GET /{self.host}{path} HTTP/1.0\r\nHost: 127.0.0.1:1\r\n{self.login()}\r\n\r\n")
            channel.until(b"first")
            go.set()
            with self.assertRaises(ConnectionResetError):
                while channel._more():
                    pass

    def test_bytes_behind_an_answer_are_never_the_next_answer(self):
        evil = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
        go, sent = threading.Event(), threading.Event()

        def together(exchange):
            exchange.send(self.OK + b"Content-Length: 4\r\n\r\ngood" + evil)

        def later(exchange):
            exchange.reply("200 OK", b"good")
            go.wait(20)
            exchange.send(evil)
            sent.set()
        for handler in (together, later):
            path = self.on(handler)
            with self.subTest(handler.__name__), self.open() as channel:
                self.assertEqual(channel.request("GET", path, self.host).body, b"good")
                go.set()
                self.assertTrue(handler is together or sent.wait(20))
                for i in range(3):
                    self.assertIn(b"/open/mine", channel.request("GET", "/open/mine", self.host).body)

    def test_bodyless_answers_B43(self):
        """HEAD, 204 and 304 have no body whatever their fields say; the next request is served at once, with and without a credential."""
        cases = {
            "head": ("HEAD", self.OK + b"Content-Length: 1488324\r\n\r\n", 200, ["1488324"]),
            "head chunked": ("HEAD", self.OK + b"Transfer-Encoding: chunked\r\n\r\n", 200, []),
            "head 404": ("HEAD", b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\n", 404, ["7"]),
            "304 with a length": ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", 304, ["10"]),
            "304 without": ("GET", b"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n", 304, []),
            "204": ("GET", b"HTTP/1.1 204 No Content\r\n\r\n", 204, []),
            "204 with length 0": ("GET", b"HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204, []),
            "204 chunked": ("GET", b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n", 204, []),
            "204 chunked with its end": ("GET", b"HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 204, []),
            "205": ("GET", b"HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n", 205, ["0"]),
        }
        for name, (method, data, status, length) in cases.items():
            path = self.on(lambda exchange, data=data: exchange.send(data))
            with self.subTest(name), self.open() as channel:
                answer = channel.request(method, path, self.host)
                self.assertEqual((answer.status, answer.get("content-length"), answer.get("transfer-encoding")), (status, length, []), answer)
                self.assertIn(b"/open/after", channel.request("GET", "/open/after", self.host).body)
                self.assertEqual(channel.buffer, b"")

    def test_interim_answers_are_dropped_and_bounded(self):
        path = self.on(lambda e: e.send(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + self.OK + b"Content-Length: 2\r\n\r\nok"))
        with self.open() as channel:
            answer = channel.request("GET", path, self.host, read=False) or channel.read(interim=True)
            self.assertEqual((answer.status, answer.body), (200, b"ok"))

    def test_interim_answers_without_end_are_cut(self):
        ended = threading.Event()

        def flood(exchange):
            try:
                for _ in range(400):
                    exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 1000)
                exchange.reply("200 OK", b"after 400,000")
            finally:
                ended.set()
        path = self.on(flood)
        with self.open() as channel:
            channel.send(f"PUT {path} HTTP/1.1\r\nHost: {self.host}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab")
            answer = channel.read()
            self.assertRefused(answer, 502, "upstream_malformed")
            self.assertLessEqual(channel.raw.count(b"100 Continue"), 1)
        self.assertTrue(ended.wait(20))

    def test_trailers_of_an_answer_are_dropped(self):
        path = self.raw(self.OK + b"Transfer-Encoding: chunked\r\nTrailer: X-T\r\n\r\n2\r\nok\r\n0\r\nX-T: " + ECHO_SECRET.encode() + b"\r\n\r\n")
        with self.open() as channel:
            self.assertEqual(channel.request("GET", path, self.host).body, b"ok")
            self.assertNotIn(b"X-T:", channel.raw)
            self.assertNoSecret(channel.raw, "an answer with trailers")

    def test_old_answers_and_old_clients(self):
        until_close = self.raw(b"HTTP/1.0 200 OK\r\n\r\nuntil close")
        self.assertEqual(self.get(until_close).body, b"until close")
        chunked = self.on(lambda e: e.send(self.OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nchunk\r\n0\r\n\r\n"))
        with self.gateway() as channel:
            channel.send(f"GET /{self.host}{chunked} HTTP/1.0\r\nHost: 127.0.0.1:1\r\n{self.login()}\r\n\r\n")
            answer = channel.read()
            self.assertEqual((answer.body, answer.get("transfer-encoding")), (b"chunk", []))

    def test_hop_by_hop_fields_of_an_answer_stay_here_B3(self):
        path = self.on(lambda e: e.reply("200 OK", b"x", [("Connection", "X-Foo"), ("X-Foo", "1"), ("Keep-Alive", "timeout=5"), ("Proxy-Authenticate", "Basic"),
                                                          ("Upgrade", "h2c"), ("X-Bar", "2")]))
        answer = self.get(path)
        self.assertEqual([answer.get(n) for n in ("x-foo", "keep-alive", "proxy-authenticate", "upgrade", "x-bar")], [[], [], [], [], ["2"]])


class Continue(Framing):
    """Expect: 100-continue, in all four cases and their neighbours (B39)."""
    HEAD = "PUT {} HTTP/1.1\r\nHost: {}\r\nExpect: 100-Continue\r\nContent-Length: {}\r\n\r\n"
    BODY = b"x" * (5 << 20)

    def test_the_upstream_says_100_B39a(self):
        def go_on(exchange):
            self.assertEqual([v.lower() for v in exchange.get("expect")], ["100-continue"])
            exchange.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            exchange.reply("200 OK", str(len(exchange.read_body())).encode())
        path = self.on(go_on)
        with self.open() as channel:
            channel.send(self.HEAD.format(path, self.host, len(self.BODY)))
            self.assertEqual(channel.read(interim=True).status, 100)
            self.assertEqual(channel.send(self.BODY).read().body, b"5242880")
            self.assertEqual(channel.request("GET", "/open/after", self.host).status, 200)

    def test_the_upstream_refuses_at_once_B39b(self):
        for status in ("417 Expectation Failed", "401 Unauthorized"):
            def refuse(exchange, status=status):
                exchange.reply(status, b"no")
                return exchange.gone() and None
            path = self.on(refuse)
            with self.subTest(status), self.open() as channel:
                channel.send(self.HEAD.format(path, self.host, len(self.BODY)))
                answer = channel.read(interim=True)
                self.assertEqual((answer.status, answer.body, answer.get("connection")), (int(status[:3]), b"no", ["close"]))
                self.assertTrue(channel.closed())

    def test_the_upstream_is_silent_B39c(self):
        def silent(exchange):
            exchange.reply("200 OK", str(len(exchange.read_body())).encode())
        path = self.on(silent)
        with self.open() as channel:
            channel.send(self.HEAD.format(path, self.host, len(self.BODY)))
            wait_until("the head has arrived", lambda: self.upstream.seen(path))
            self.assertEqual(bytes(channel.buffer), b"", "a 100 that nobody sent")
            self.assertEqual(channel.send(self.BODY).read().body, b"5242880")

    def test_the_rule_refuses_B39d(self):
        for path, status, code in (("/closed/x", 403, "no_rule"), ("/open/../x", 400, "bad_path")):
            with self.subTest(path), self.open() as channel:
                channel.send(self.HEAD.format(path, self.host, len(self.BODY)))
                answer = channel.read(interim=True)
                self.assertRefused(answer, status, code)
                self.assertEqual(answer.get("connection"), ["close"])
                self.assertTrue(channel.closed())
        self.assertFalse(self.upstream.seen("/closed/x"))

    def test_a_body_that_comes_without_waiting_is_fine(self):
        with self.open() as channel:
            channel.send(f"PUT /open/eager HTTP/1.1\r\nHost: {self.host}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab")
            self.assertEqual(json.loads(channel.read().body)["body"], "ab")
            self.assertEqual(channel.request("GET", "/open/after", self.host).status, 200)

    def test_an_old_client_does_not_wait(self):
        with self.gateway() as channel:
            channel.send(f"PUT /{self.host}/open/old HTTP/1.0\r\nHost: 127.0.0.1:1\r\n{self.login()}\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab")
            answer = channel.read(interim=True)
            self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.upstream.seen("/open/old")[-1].get("expect"), [])


class Early(Framing):
    """An answer before the upload has ended arrives, and nothing hangs (B41)."""

    def upload(self, channel, path, chunked):
        """30 MB while the other side answers. The client only reads when it can write no more."""
        channel.send(f"POST {path} HTTP/1.1\r\nHost: {self.host}\r\n" + ("Transfer-Encoding: chunked" if chunked else "Content-Length: 31457280") + "\r\n\r\n")
        block = b"z" * 65536
        try:
            for _ in range(480):
                channel.send(b"10000\r\n" + block + b"\r\n" if chunked else block)
        except OSError:
            pass
        return channel.read()

    def test_413_in_the_middle_of_an_upload_B41(self):
        def close(exchange):
            exchange.read_body(limit=65536)
            exchange.reply("413 Too Large", b"too large", [("Connection", "close")])
            return False

        def cut(exchange):
            exchange.read_body(limit=65536)
            exchange.reply("413 Too Large", b"too large")
            raise EOFError

        def stay(exchange):
            exchange.read_body(limit=65536)
            exchange.reply("413 Too Large", b"too large")
            return exchange.gone() and None
        for handler in (close, cut, stay):
            for chunked in (False, True) if handler is stay else (False,):
                path = self.on(handler)
                with self.subTest(handler.__name__, chunked=chunked), self.open() as channel:
                    answer = self.upload(channel, path, chunked)
                    self.assertEqual((answer.status, answer.body), (413, b"too large"))
                    self.assertEqual(answer.get("connection"), ["close"])

    def test_our_own_413_in_the_middle_of_an_upload_B41(self):
        """A git body that unpacks to more than 16 MiB; incompressible, so that the upload is long too."""
        host = self.world.url("git.test").split("/")[2]
        noise = b"".join((i * 2654435761 % 2**32).to_bytes(4, "big") for i in range(1 << 20))
        want = b"0032want " + b"a" * 40 + b"\n0000"
        packed = gzip.compress(want + noise * 6, 1)
        self.assertGreater(len(packed), 2 << 20)
        with tunnel(self.world, self.token, "git.test") as channel:
            channel.send(f"POST /acme/web.git/git-upload-pack HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-git-upload-pack-request\r\n"
                         f"Content-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n")
            try:
                channel.send(packed)
            except OSError:
                pass
            answer = channel.read()
            self.assertRefused(answer, 413, "body_too_large")


class Connects(Framing):
    """Bytes around CONNECT (B45, CVE-2025-64763)."""

    def connect_head(self, authority, token=None, version="1.1"):
        login = f"Proxy-Authorization: {basic('x', token)}\r\n" if token else ""
        return f"CONNECT {authority} HTTP/{version}\r\nHost: {authority}\r\n{login}\r\n".encode()

    def test_bytes_behind_a_refused_connect_are_dropped_B45(self):
        inner = f"GET http://{self.host}/open/early HTTP/1.1\r\nHost: {self.host}\r\nProxy-Authorization: {basic('x', self.token)}\r\n\r\n".encode()
        again = self.connect_head(self.host, self.token)
        for name, head, status in (("403", self.connect_head("unlisted.test:443", self.token), 403), ("407", self.connect_head(self.host), 407),
                                   ("407 for a bad token", self.connect_head(self.host, "cbt_bad"), 407), ("400", self.connect_head("a..b:443", self.token), 400),
                                   ("421", self.connect_head(self.host, self.token).replace(b"Host: echo", b"Host: evil"), 421)):
            for early in (inner, again):
                with self.subTest(name, early=early[:7]), Channel(self.world.broker.ports["proxy"]) as channel:
                    answer = channel.send(head + early).read("GET")
                    self.assertEqual((answer.status, answer.get("connection")), (status, ["close"]), answer)
                    self.assertTrue(channel.closed())
                    self.assertEqual(bytes(channel.buffer), b"", "a second answer")
        self.assertFalse(self.upstream.seen("/open/early"))

    def test_a_greeting_in_the_packet_of_the_connect_is_used_B45(self):
        tls = EarlyTls("echo.test", self.world.bundle(self.token))
        with Channel(self.world.broker.ports["proxy"]) as channel:
            channel.send(self.connect_head(self.host, self.token) + tls.hello)
            self.assertEqual(channel.read("CONNECT").status, 200)
            tls.finish(channel)
            tls.tls.write(f"GET /open/with-hello HTTP/1.1\r\nHost: {self.host}\r\nConnection: close\r\n\r\n".encode())
            channel.send(tls.outgoing.read())
            channel.closed()
            tls.incoming.write(bytes(channel.buffer))
            self.assertIn(b"200 OK", tls.tls.read(65536))

    def test_plain_requests_behind_the_connect_are_not_swapped(self):
        """A request in clear right behind CONNECT: refused, since no rule allows plain http; nothing goes out."""
        with Channel(self.world.broker.ports["proxy"]) as channel:
            channel.send(self.connect_head(self.host, self.token) + f"GET /open/clear HTTP/1.1\r\nHost: {self.host}\r\n\r\n".encode())
            self.assertEqual(channel.read("CONNECT").status, 200)
            self.assertRefused(channel.read(), 403, "plain_http_not_allowed")
        self.assertFalse(self.upstream.seen("/open/clear"))

    def test_connect_with_a_body_is_refused(self):
        for fields in ("Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"):
            with Channel(self.world.broker.ports["proxy"]) as channel:
                channel.send(self.connect_head(self.host, self.token)[:-2] + fields.encode() + b"\r\nhello")
                self.assertRefused(channel.read(), 400, "ambiguous_framing")
                self.assertTrue(channel.closed())

    def test_connect_in_http_1_0(self):
        channel = Channel(self.world.broker.ports["proxy"])
        channel.send(f"CONNECT {self.host} HTTP/1.0\r\nProxy-Authorization: {basic('x', self.token)}\r\n\r\n")
        self.assertEqual(channel.read("CONNECT").status, 200)
        with channel.start_tls("echo.test", self.world.bundle(self.token)):
            self.assertEqual(channel.request("GET", "/open/old-connect", self.host).status, 200)


if __name__ == "__main__":
    harness.main()
