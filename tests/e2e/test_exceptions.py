"""Exceptions: named, owned, expiring, counted; nothing passes uninspected without one (S7, S13; B65)."""
import socket
import ssl
import unittest

import harness
from client import connect
from harness import Case, wait_until


class Tunnels(Case):
    def setUp(self):
        self.session, self.token = self.world.open_session()
        self.authority = self.world.url("pinned.test").split("/")[2]

    def hello(self, sni, authority=None):
        """CONNECT, then a TLS greeting for `sni`: (CONNECT's answer, channel or None when the other side ended it)."""
        channel, answer = connect(self.world.broker.ports["proxy"], authority or self.authority, self.token)
        if answer.status != 200:
            channel.close()
            return answer, None
        context = ssl.create_default_context(cafile=str(self.world.ca))  # the upstream's own CA: the tunnel is not intercepted
        context.check_hostname = False
        try:
            channel.socket = context.wrap_socket(channel.socket, server_hostname=sni)
        except (OSError, ssl.SSLError):
            channel.close()
            return answer, None
        return answer, channel

    def uses(self, name):
        rows = self.world.json("exception", "list")
        return next(int(r["uses"]) for r in rows if r["id"] == name)

    def test_a_tunnel_is_not_intercepted_and_gets_no_credential(self):
        before = self.uses("EX-1")
        _, channel = self.hello("pinned.test")
        self.assertIsNotNone(channel)
        answer = channel.request("GET", "/pinned", self.authority)
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.world.raw.seen("/pinned")[-1].get("authorization"), [])
        channel.close()
        wait_until("the use is counted", lambda: self.uses("EX-1") > before)
        records = wait_until("the use is recorded", lambda: [r for r in self.world.records(self.session) if r["exception"] == "EX-1"])
        self.assertEqual(records[0]["host"], "pinned.test")

    def test_another_server_name_is_refused_B65(self):
        connections = self.world.raw.connections
        for sni in ("evil.test", None, "x.pinned.test"):
            with self.subTest(sni=sni):
                _, channel = self.hello(sni)
                self.assertIsNone(channel, "the greeting went through")
        self.assertEqual(self.world.raw.connections, connections)

    def test_plain_text_in_a_tunnel_is_refused_B65(self):
        connections = self.world.raw.connections
        channel, answer = connect(self.world.broker.ports["proxy"], self.authority, self.token)
        self.assertEqual(answer.status, 200)
        channel.send(b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        self.assertTrue(channel.closed())
        self.assertEqual(self.world.raw.connections, connections)
        channel.close()

    def test_an_expired_exception_is_blocked(self):
        answer, _ = self.hello("blob.test", self.world.url("blob.test").split("/")[2])
        self.assertRefused(answer, 403, "exception_expired")
        rows = self.world.json("exception", "list")
        self.assertEqual({r["id"]: r["state"] for r in rows if r["id"].startswith("EX-")}, {"EX-1": "active", "EX-2": "expired"})

    def add(self, name, *more, check=True, **change):
        words = {"host": "later.test", "reason": "pins its certificate", "owner": "jo", "approved-by": "sec", "expires": "2031-01-31", **change}
        flags = [part for key, value in words.items() if value for part in (f"--{key}", value)]
        return self.world.cli("exception", "add", name, *flags, *more, check=check)

    def state(self, name):
        return {r["id"]: r["state"] for r in self.world.json("exception", "list")}.get(name)

    def test_one_that_is_added_by_command_acts_at_once_and_outlives_an_apply_S13(self):
        host = f"blob.test:{self.world.raw.port}"
        self.addCleanup(self.world.cli, "exception", "disable", "EX-9")
        self.assertRefused(self.hello("blob.test", host)[0], 403, "exception_expired")
        self.add("EX-9", "--address", "127.0.0.0/8", host=host)
        _, channel = self.hello("blob.test", host)
        self.assertIsNotNone(channel)
        channel.close()
        wait_until("the use is counted", lambda: self.uses("EX-9") > 0)
        self.world.apply(self.world.policy().replace("idle: 20m", "idle: 19m"))
        self.addCleanup(self.world.apply, self.world.policy())
        self.assertEqual(self.state("EX-9"), "active")
        self.world.cli("exception", "disable", "EX-9")
        self.assertEqual(self.state("EX-9"), "off")
        self.assertRefused(self.hello("blob.test", host)[0], 403, "exception_expired")
        actions = [(r["action"], r["actor"]) for r in self.world.json("audit", "list", "--kind", "admin") if r.get("exception") == "EX-9"]
        self.assertEqual([a for a, _ in actions][:2], ["exception.add", "exception.disable"])
        self.assertTrue(all(actor.startswith("uid:") for _, actor in actions))

    def test_one_that_nobody_answers_for_is_refused(self):
        for change in ({"owner": ""}, {"approved-by": ""}, {"reason": ""}, {"expires": ""}, {"host": ""}, {"approved-by": "JO"}):
            with self.subTest(change):
                done = self.add("EX-8", check=False, **change)
                self.assertEqual(done.code, 1)
                self.assertIn(b"exception_invalid", done.err)
        self.assertIn(b"policy_invalid", self.add("EX-8", check=False, expires="soon").err)
        self.assertIn(b"policy_invalid", self.add("EX-1", check=False).err, "the policy has one of this name")
        self.assertIsNone(self.state("EX-8"))
        self.assertIn(b"exception_not_found", self.world.cli("exception", "disable", "EX-8", check=False).err)

    def test_one_of_the_policy_can_be_turned_off_S13(self):
        self.addCleanup(self.world.cli, "exception", "enable", "EX-1")
        self.world.cli("exception", "disable", "EX-1")
        self.assertRefused(self.hello("pinned.test")[0], 403, "exception_expired")
        self.world.cli("exception", "enable", "EX-1")
        _, channel = self.hello("pinned.test")
        self.assertIsNotNone(channel)
        channel.close()

    def test_built_in_ones_are_listed(self):
        built_in = [r for r in self.world.json("exception", "list") if r["built_in"]]
        self.assertEqual([r["id"] for r in built_in], ["builtin.websocket"])
        self.assertTrue(all(r["passes"] for r in self.world.json("exception", "list")))

    def test_closing_the_session_ends_the_tunnel(self):
        _, channel = self.hello("pinned.test")
        self.assertEqual(channel.request("GET", "/pinned", self.authority).status, 200)
        self.world.cli("session", "close", self.session)
        channel.socket.settimeout(5)
        try:
            ended = channel.closed()
        except socket.timeout:
            ended = False
        self.assertTrue(ended, "the tunnel of a closed session lives on")
        channel.close()


if __name__ == "__main__":
    harness.main()
