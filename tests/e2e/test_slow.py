"""Peers that send a byte now and then (B109, CVE-2026-7776, CVE-2026-25949). Takes as long as the stated wait for a head."""
import pathlib
import ssl
import threading
import time

import harness
from client import Channel, connect, tunnel
from harness import Case, wait_until


class Slow(Case):
    """One deadline for a whole head and for a handshake, whatever drips in (B109, CVE-2026-7776, CVE-2026-25949)."""

    def setUp(self):
        self.session, self.token = self.world.open_session()
        self.host, self.ports = self.world.url("echo.test").split("/")[2], self.world.broker.ports

    def open(self):
        return tunnel(self.world, self.token, "echo.test")

    def descriptors(self):
        return len(list(pathlib.Path(f"/proc/{self.world.broker.edge_pid()}/fd").iterdir()))

    def assertServed(self):
        """A sandbox with a good token is served, on a new connection."""
        with self.open() as channel:
            self.assertEqual(channel.request("GET", "/open/served", self.host).status, 200)

    def drips(self):
        """(what, channel, the bytes to drip): strangers and one sandbox that is slow itself."""
        for i in range(64):
            yield "stranger", Channel(self.ports["proxy" if i % 2 else "gateway"], 60), b"GET / HTTP/1.1\r\nX-Slow: " + b"x" * 100
        yield "CONNECT", Channel(self.ports["proxy"], 60), b"CONNECT " + b"x" * 100
        yield "TLS at the gateway", Channel(self.ports["gateway"], 60), b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"r" * 100
        channel, _ = connect(self.ports["proxy"], self.host, self.token)
        channel.socket.settimeout(60)
        yield "TLS in a tunnel", channel, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"r" * 100
        channel, _ = connect(self.ports["proxy"], self.world.url("pinned.test").split("/")[2], self.token)
        channel.socket.settimeout(60)
        yield "TLS in an exception's tunnel", channel, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"r" * 100
        channel = self.open()
        channel.socket.settimeout(60)
        yield "head in a tunnel", channel, b"GET /open/slow HTTP/1.1\r\nX-Slow: " + b"x" * 100
        yield "first line in a tunnel", self.open(), b"GET /open/" + b"x" * 100

    def test_dripped_bytes_end_at_the_deadline_and_others_are_served_B109(self):
        started = time.monotonic()
        open_, ended, at, pause = list(self.drips()), {}, 0, threading.Event()
        before = self.descriptors() - len(open_)
        while len(ended) < len(open_) and time.monotonic() < started + 45:
            for i, (_, channel, data) in enumerate(open_):
                if i in ended:
                    continue
                try:
                    channel.send(data[at:at + 1])
                except OSError:
                    pass
                raw = channel.socket
                raw.settimeout(0)
                try:
                    if not channel._more():
                        ended[i] = time.monotonic() - started
                except (ssl.SSLWantReadError, BlockingIOError):
                    pass
                except OSError:
                    ended[i] = time.monotonic() - started
                raw.settimeout(20)
            self.assertServed()
            at += 1
            pause.wait(1)
        left = [what for i, (what, _, _) in enumerate(open_) if i not in ended]
        self.assertEqual(left, [], "still open after 45 s")
        self.assertGreater(min(ended.values()), 25, "ended before the stated 30 s")
        self.assertLess(max(ended.values()), 40)
        for what, channel, _ in open_:
            if "TLS" not in what:
                self.assertRegex(bytes(channel.buffer[:12]), rb"HTTP/1.1 408", what)
            channel.close()
        wait_until("the edge's descriptors are back", lambda: self.descriptors() <= before + 10)


if __name__ == "__main__":
    harness.main()
