"""Who is at the other end: names, addresses, certificates (B59 to B75, CVE-2026-77242)."""
import datetime
import os
import socket
import ssl
import struct
import subprocess
import threading

import harness
import names
from client import Channel, basic, client_hello, connect, tunnel
from harness import Case, wait_until
from upstream import RawUpstream, issue, server_context


class NameServer:
    """Answers what `zone[name]` holds: a list of answers, each a list of addresses; the last one stays. TTL 0."""

    def __init__(self, zone):
        self.zone, self.asked = zone, []
        self.address = f"127.77.{os.getpid() >> 8 & 255}.{os.getpid() & 255 or 1}"
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((self.address, 53))
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            try:
                query, peer = self.socket.recvfrom(4096)
                self.socket.sendto(self._answer(query), peer)
            except OSError:
                return

    def _answer(self, query):
        at, labels = 12, []
        while query[at]:
            labels.append(query[at + 1:at + 1 + query[at]].decode())
            at += query[at] + 1
        question, kind, name = query[12:at + 5], struct.unpack("!H", query[at + 1:at + 3])[0], ".".join(labels).lower()
        answers = self.zone.get(name)
        if answers is None:
            return query[:2] + b"\x81\x83" + struct.pack("!HHHH", 1, 0, 0, 0) + question
        if kind == 1:
            self.asked.append(name)
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        wanted = [a for a in answers[0] if family == (socket.AF_INET6 if ":" in a else socket.AF_INET)]
        if len(answers) > 1 and kind == 28:  # each look-up asks for both kinds; the next one gets the next answer
            answers.pop(0)
        records = b"".join(b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(packed)) + packed for packed in (socket.inet_pton(family, a) for a in wanted))
        return query[:2] + b"\x81\x80" + struct.pack("!HHHH", 1, len(wanted), 0, 0) + question + records

    def close(self):
        self.socket.close()


class Peer(Case):
    def setUp(self):
        self.session, self.token = self.world.open_session()

    def ask(self, host, port, target="/x", sni=None):
        channel, answer = connect(self.world.broker.ports["proxy"], f"{host}:{port}", self.token)
        with channel:
            self.assertEqual(answer.status, 200, answer)
            channel.start_tls(sni or host.strip("[]"), self.world.bundle(self.token))
            return channel.request("GET", target, f"{host}:{port}")

    def egress(self, hosts, more=""):
        """The policy with these hosts reachable without a credential."""
        line = f"    egress:\n      - {{hosts: [{', '.join(map(repr, hosts))}], methods: [GET], upstream_ca: ca.pem{more}}}\n  reader:\n"
        self.world.apply(self.world.policy().replace("  reader:\n", line))
        self.addCleanup(self.world.apply, self.world.policy())


class Resolved(Peer):
    """Resolve once, judge every address, connect to the judged one (B69)."""
    REFUSED = {"metadata": "169.254.169.254", "link-local": "169.254.1.1", "private": "10.0.0.1", "private-172": "172.16.0.1", "private-192": "192.168.0.1",
               "nat": "100.64.0.1", "nat-metadata": "100.100.100.200", "loopback": "127.0.0.1", "loopback-8": "127.9.9.9", "unspecified": "0.0.0.0", "multicast": "224.0.0.1",
               "broadcast": "255.255.255.255", "v6-loopback": "::1", "v6-unspecified": "::", "v6-link-local": "fe80::1", "v6-private": "fd12::1",
               "v6-metadata": "fd00:ec2::254", "mapped": "::ffff:169.254.169.254", "mapped-loopback": "::ffff:127.0.0.1", "compatible": "::127.0.0.1",
               "six-to-four": "2002:a9fe:a9fe::1", "nat64": "64:ff9b::a9fe:a9fe", "nat64-private": "64:ff9b::a00:1", "teredo": "2001:0:a9fe::1"}

    @classmethod
    def setUpClass(cls):
        zone = {f"{name}.bad.test": [[address]] for name, address in cls.REFUSED.items()}
        zone |= {"rebind.dns.test": [["127.0.0.1"], ["169.254.169.254"]], "mixed.dns.test": [["127.0.0.1", "10.0.0.1"]], "mixed6.dns.test": [["127.0.0.1", "::1"]],
                 "good.dns.test": [["127.0.0.1"]], "meta.dns.test": [["169.254.169.254"]]}
        cls.server = NameServer(zone)
        cls.able = names.use_name_server(cls.server.address)
        super().setUpClass()
        cls.upstream = RawUpstream(*issue(cls.world.folder / "pki", "dns", "DNS:*.dns.test,DNS:*.bad.test"))
        port = cls.upstream.port
        cls.policy = cls.world.policy().replace("credentials:\n", f"""  bad: {{hosts: ["*.bad.test:{port}"], upstream_ca: ca.pem}}
  dns: {{hosts: ["rebind.dns.test:{port}", "mixed.dns.test:{port}", "mixed6.dns.test:{port}", "good.dns.test:{port}"], addresses: [127.0.0.0/8], upstream_ca: ca.pem}}
  meta: {{hosts: ["meta.dns.test:{port}"], addresses: [169.254.0.0/16], upstream_ca: ca.pem}}
credentials:
  bad-key: {{service: bad, provider: static, secret: secret:echo-key, place: {{header: {{name: x-api-key}}}}}}
  dns-key: {{service: dns, provider: static, secret: secret:echo-key, place: {{header: {{name: x-api-key}}}}}}
  meta-key: {{service: meta, provider: static, secret: secret:echo-key, place: {{header: {{name: x-api-key}}}}}}
""").replace("    endpoints:\n", """    endpoints:
      - {service: bad, credential: bad-key, allow: [{methods: [GET], path: /**}]}
      - {service: dns, credential: dns-key, allow: [{methods: [GET], path: /**}]}
      - {service: meta, credential: meta-key, allow: [{methods: [GET], path: /**}]}
""")
        cls.world.apply(cls.policy)

    @classmethod
    def tearDownClass(cls):
        cls.upstream.close()
        cls.server.close()
        super().tearDownClass()

    def setUp(self):
        super().setUp()
        if not self.able:
            self.skipTest("needs root: a mount namespace of its own for resolv.conf")

    def test_a_second_answer_is_judged_again_and_never_used_unjudged_B69(self):
        """TTL 0: good first, the metadata address from then on. A kept connection stays with the judged address; a new one is refused."""
        port, before = self.upstream.port, self.upstream.connections
        channel, answer = connect(self.world.broker.ports["proxy"], f"rebind.dns.test:{port}", self.token)
        with channel:
            channel.start_tls("rebind.dns.test", self.world.bundle(self.token))
            for _ in range(3):
                self.assertEqual(channel.request("GET", "/x", f"rebind.dns.test:{port}").status, 200)
            self.assertEqual(self.upstream.connections, before + 1)
            self.assertEqual(self.server.asked.count("rebind.dns.test"), 1, "resolved once for a connection")
        with tunnel_to(self, "rebind.dns.test", port) as first, tunnel_to(self, "rebind.dns.test", port) as second:
            release = threading.Event()
            self.upstream.on["/hold"] = lambda e: (release.wait(20), e.reply("200 OK", b"held"))
            first.request("GET", "/hold", f"rebind.dns.test:{port}", read=False)  # takes the pooled connection
            wait_until("the pooled connection is in use", lambda: self.upstream.seen("/hold"))
            self.assertRefused(second.request("GET", "/x", f"rebind.dns.test:{port}"), 403, "upstream_address_refused")
            release.set()
            self.assertEqual(first.read().body, b"held")
        self.assertEqual(self.upstream.connections, before + 1)

    def test_a_mixed_answer_is_refused_as_a_whole_B69(self):
        for host in ("mixed.dns.test", "mixed6.dns.test"):
            self.assertRefused(self.ask(host, self.upstream.port), 403, "upstream_address_refused")
        self.assertEqual(self.ask("good.dns.test", self.upstream.port).status, 200)

    def test_every_kind_of_inner_address_is_refused_CVE_2026_77242(self):
        before = self.upstream.connections
        for name in self.REFUSED:
            with self.subTest(name):
                self.assertRefused(self.ask(f"{name}.bad.test", self.upstream.port), 403, "upstream_address_refused")
        self.assertEqual(self.upstream.connections, before)

    def test_the_metadata_address_is_not_covered_by_a_block_around_it(self):
        self.assertRefused(self.ask("meta.dns.test", self.upstream.port), 403, "upstream_address_refused")

    def test_a_name_that_does_not_exist(self):
        self.assertRefused(self.ask("nowhere.bad.test", self.upstream.port), 502, "upstream_unresolved")


def tunnel_to(case, host, port):
    channel, answer = connect(case.world.broker.ports["proxy"], f"{host}:{port}", case.token)
    case.assertEqual(answer.status, 200, answer)
    return channel.start_tls(host, case.world.bundle(case.token))


class Names(Peer):
    def by_connect(self, authority):
        channel, answer = connect(self.world.broker.ports["proxy"], authority, self.token)
        channel.close()
        return answer

    def test_targets_and_rules_have_one_normal_form_B71(self):
        port = self.world.git.port
        self.world.apply(self.world.policy().replace(f'"api.test:{port}"', f'"API.Test.:{port}"'))
        self.addCleanup(self.world.apply, self.world.policy())
        for host in ("api.test", "API.TEST", "api.test.", "Api.Test."):
            with self.subTest(host):
                answer = self.ask(host, port, "/v1/items", sni="api.test")
                self.assertEqual(answer.status, 200, answer)
        self.assertEqual({r["host"] for r in self.world.records(self.session, kind="intent")}, {"api.test"})

    def test_odd_names_are_400_B71(self):
        for host in ("api.test..", "api..test", ".api.test", "", ".", "..", "127.0.0.1..", "-api.test", "api-.test", "a" * 64 + ".test", "a." * 127 + "test",
                     "127.1", "0x7f.0.0.1", "2130706433", "0177.0.0.1", "127.0.0.1.5", "a@api.test", "api.test%2e", "api.test/x", "api.test?"):
            with self.subTest(host):
                self.assertRefused(self.by_connect(f"{host}:443"), 400, "bad_host")

    def test_bytes_that_no_name_has_are_400(self):
        for host in ("api\x00.test", "api\x1b[2J.test", "api\xff.test", "\u202eapi.test", "api .test", "api\t.test", "api.test#"):
            with self.subTest(host), Channel(self.world.broker.ports["proxy"]) as channel:
                channel.send(f"CONNECT {host}:443 HTTP/1.1\r\nHost: api.test\r\nProxy-Authorization: {basic('x', self.token)}\r\n\r\n".encode())
                answer = channel.read()
                self.assertEqual(answer.status, 400, answer)
                self.assertTrue(channel.closed())

    def test_a_glued_port_in_a_rule_is_told_B71(self):
        for host in ("api.test:443:443", "https://api.test", "api.test/x", "api.test..", "", "*", "a.*.test", "*.test", "api.test:0", "api.test:99999"):
            with self.subTest(host):
                result = self.world.apply(self.world.policy().replace(f'"api.test:{self.world.git.port}"', f'"{host}"'), check=False)
                self.assertEqual((result.code, "5001" in result.text()), (1, True), result.text())
        self.world.apply(self.world.policy())

    def test_ports_and_brackets_B73(self):
        good = self.by_connect("[2001:db8::1]:443")
        self.assertRefused(good, 403, "host_not_allowed")
        record = self.world.records(self.session, kind="deny")[-1]
        self.assertEqual((record["host"], record["port"]), ("2001:db8::1", 443))
        for authority in ("2001:db8::1:443", "[example.com]:443", "[1.2.3.4]:443", "[::1", "[::1]", "[::1]443", "[]:443", "[fe80::1%eth0]:443", "[fe80::1%25eth0]:443",
                          "host:99999", "host:0", "host:443:80", "host:", "host", ":443", "host:+443", "host:0x1bb", "host: 443", "host:-1", "[[::1]]:443"):
            with self.subTest(authority):
                answer = self.by_connect(authority)
                self.assertEqual(answer.status, 400, answer)

    def test_an_ipv6_target_keeps_its_brackets_on_the_way_B73(self):
        try:
            upstream = RawUpstream(*issue(self.world.folder / "pki", "six", "IP:::1"), address="::1")
        except OSError:
            print("no IPv6 loopback: not tried")
            return
        self.addCleanup(upstream.close)
        self.egress([f"[::1]:{upstream.port}"], ", addresses: ['::1/128']")
        answer = self.ask("[::1]", upstream.port)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(upstream.requests[-1].get("host"), [f"[::1]:{upstream.port}"])
        record = self.world.records(self.session, kind="intent")[-1]
        self.assertEqual((record["host"], record["port"]), ("::1", upstream.port))

    def test_own_listeners_by_every_address_B75(self):
        """Its own sockets, by each address of this machine and by names for it, with a rule that allows all addresses."""
        hosts = ["127.0.0.1", "127.0.0.2", "[::1]", "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "localhost", "self.test", *own_addresses()]
        ports = self.world.broker.ports
        self.egress([f"{host}:{port}" for host in hosts for port in ports.values()], ", addresses: [0.0.0.0/0, '::/0']")
        for host in hosts:
            for name, port in ports.items():
                with self.subTest(host, listener=name), Channel(ports["gateway"]) as channel:
                    answer = channel.request("GET", f"/{host}:{port}/x", "127.0.0.1:1", [f"Authorization: Bearer {self.token}"])
                    self.assertRefused(answer, 403, "loop")

    def test_the_edge_serves_no_other_door_by_its_listeners_CVE_2025_49825(self):
        """Nothing is forwarded by the health listener and the API; their answers name no upstream."""
        host, before = self.world.url("echo.test").split("/")[2], len(self.world.raw.requests)
        for name in ("health", "api"):
            for text in (f"GET http://{host}/open/x HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: {basic('x', self.token)}\r\n\r\n",
                         f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\nProxy-Authorization: {basic('x', self.token)}\r\n\r\n",
                         f"GET /{host}/open/x HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.token}\r\n\r\n"):
                with self.subTest(name, text=text[:12]), Channel(self.world.broker.ports[name]) as channel:
                    channel.send(text)
                    channel.socket.shutdown(socket.SHUT_WR)
                    channel.closed()
                    self.assertNotRegex(bytes(channel.raw[:15]), rb"^HTTP/1\.[01] 2")
        self.assertEqual(len(self.world.raw.requests), before)


def own_addresses():
    """This machine's addresses beside loopback, as rules write them."""
    text = subprocess.run(["hostname", "-I"], stdout=subprocess.PIPE, check=False).stdout.decode()
    return [f"[{a}]" if ":" in a else a for a in text.split()]


class Leaves(Peer):
    """The certificates that the edge shows (B59, B61, B63)."""

    def leaf(self, host="api.test", port=None, sni=None):
        channel, answer = connect(self.world.broker.ports["proxy"], f"{host}:{port or self.world.git.port}", self.token)
        with channel:
            self.assertEqual(answer.status, 200, answer)
            channel.start_tls(sni or host.strip("[]"), self.world.bundle(self.token))
            der = channel.socket.getpeercert(True)
        file = self.world.folder / "leaf.pem"
        file.write_text(ssl.DER_cert_to_PEM_cert(der))
        return file

    @staticmethod
    def text(file, *args):
        return subprocess.run(["openssl", "x509", "-in", file, "-noout", *args], stdout=subprocess.PIPE, check=True).stdout.decode()

    def extension(self, file, name):
        return self.text(file, "-ext", name)

    def dates(self, file):
        lines = dict(line.split("=", 1) for line in self.text(file, "-dates").splitlines())
        return [datetime.datetime.strptime(lines[k], "%b %d %H:%M:%S %Y %Z") for k in ("notBefore", "notAfter")]

    @property
    def ca(self):
        return self.world.broker.folder / "pki/ca.pem"

    def identifier(self, text):
        return next(line.strip().removeprefix("keyid:") for line in text.splitlines() if line.count(":") > 10)

    def test_ca_and_leaf_have_what_strict_clients_want_B59(self):
        leaf = self.leaf()
        self.assertRegex(self.extension(self.ca, "basicConstraints"), r"critical\s+CA:TRUE")
        self.assertRegex(self.extension(self.ca, "keyUsage"), r"critical\s+.*Certificate Sign")
        self.assertEqual(self.identifier(self.extension(leaf, "authorityKeyIdentifier")), self.identifier(self.extension(self.ca, "subjectKeyIdentifier")))
        self.assertTrue(self.identifier(self.extension(leaf, "subjectKeyIdentifier")))
        self.assertEqual(self.extension(leaf, "subjectAltName").split("\n")[1].strip(), "DNS:api.test")
        self.assertIn("TLS Web Server Authentication", self.extension(leaf, "extendedKeyUsage"))
        self.assertNotIn("CA:TRUE", self.extension(leaf, "basicConstraints"))
        done = subprocess.run(["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "api.test", "-CAfile", self.ca, leaf],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_strict_context_connects_B59(self):
        """What Python 3.13 has as its default."""
        channel, _ = connect(self.world.broker.ports["proxy"], self.world.url("api.test").split("/")[2], self.token)
        context = ssl.create_default_context(cafile=self.world.bundle(self.token))
        context.verify_flags |= ssl.VERIFY_X509_STRICT | ssl.VERIFY_X509_PARTIAL_CHAIN
        with context.wrap_socket(channel.socket, server_hostname="api.test") as secure:
            self.assertEqual(secure.getpeercert()["subjectAltName"], (("DNS", "api.test"),))

    def test_serials_never_repeat_with_another_key_B59(self):
        seen = {}
        for restart in (False, True):
            if restart:
                self.world.broker.stop()
                self.world.broker.start()
                self.session, self.token = self.world.open_session()
            for host in ("api.test", "api.test", "git.test"):
                leaf = self.leaf(host)
                serial, key = self.text(leaf, "-serial").strip(), self.text(leaf, "-pubkey")
                self.assertGreaterEqual(len(serial.removeprefix("serial=")), 14, "random, 64 bits: two leading zero bytes are one in 65,536")
                self.assertEqual(seen.setdefault(serial, (host, key)), (host, key))
        self.assertEqual(len(seen), 4, "two hosts before the restart, two after it")

    def test_an_address_has_an_address_entry_B61(self):
        hosts = {"127.0.0.1": "IP Address:127.0.0.1", "[::1]": "IP Address:0:0:0:0:0:0:0:1"}
        self.egress([f"{host}:{self.world.raw.port}" for host in hosts], ", addresses: [127.0.0.0/8, '::1/128']")
        for host, entry in hosts.items():
            with self.subTest(host):
                leaf = self.leaf(host, self.world.raw.port)  # the client sends no server name and verifies the address
                self.assertEqual(self.extension(leaf, "subjectAltName").split("\n")[1].strip(), entry)
        channel, answer = connect(self.world.broker.ports["proxy"], "192.0.2.10:443", self.token)
        channel.close()
        self.assertRefused(answer, 403, "host_not_allowed")

    def test_clocks_may_differ_and_lives_are_short_B63(self):
        leaf, now = self.leaf(), datetime.datetime.utcnow()
        (begin, end), (ca_begin, ca_end) = self.dates(leaf), self.dates(self.ca)
        self.assertLessEqual(begin, now - datetime.timedelta(hours=1))
        self.assertGreaterEqual(begin, ca_begin)
        self.assertLessEqual(end, ca_end)
        self.assertLess(end - begin, datetime.timedelta(days=398))
        for minutes in (-5, 5):
            at = int(datetime.datetime.now().timestamp()) + 60 * minutes
            done = subprocess.run(["openssl", "verify", "-attime", str(at), "-CAfile", self.ca, leaf], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_leaf_is_for_the_connect_name_alone(self):
        leaf = self.leaf("api.test")
        for name in ("git.test", "xapi.test", "a.api.test", "test"):
            done = subprocess.run(["openssl", "verify", "-verify_hostname", name, "-CAfile", self.ca, leaf], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            self.assertNotEqual(done.returncode, 0, name)

    def test_the_ca_is_of_this_installation_alone_CVE_2025_34211(self):
        other = harness.Broker(self.world.folder / "other", self.world.bin).start()
        try:
            mine, theirs = self.text(self.ca, "-pubkey"), self.text(other.folder / "pki/ca.pem", "-pubkey")
        finally:
            other.stop()
        self.assertNotEqual(mine, theirs)


class Greetings(Peer):
    """Tunnel exceptions: the greeting must name the host (B65)."""

    def setUp(self):
        super().setUp()
        self.authority = self.world.url("pinned.test").split("/")[2]

    def send(self, data):
        """The greeting behind a CONNECT: what the other side answers, and what names the upstream was asked for."""
        before, asked = self.world.raw.connections, len(self.world.raw.names)
        channel, answer = connect(self.world.broker.ports["proxy"], self.authority, self.token)
        with channel:
            self.assertEqual(answer.status, 200, answer)
            channel.send(data)
            try:
                came = channel.socket.recv(100)
            except OSError:
                came = b""
        return came, self.world.raw.names[asked:]

    def test_only_the_connect_name_passes_B65(self):
        for name in (b"pinned.test", b"PINNED.TEST", b"PINNED.TEST."):
            came, names_ = self.send(client_hello(name))
            self.assertTrue(came.startswith((b"\x16\x03", b"\x15\x03")), (name, came))
            self.assertTrue(names_, "the greeting did not reach the upstream")

    def test_every_other_greeting_is_closed_and_recorded_B65(self):
        good = client_hello(b"pinned.test")
        cases = {"another name": client_hello(b"evil.test"), "no name": client_hello(None), "a longer name": client_hello(b"pinned.test.evil.test"),
                 "a shorter name": client_hello(b"inned.test"), "NUL in the name": client_hello(b"pinned.test\0.evil.test"), "two final dots": client_hello(b"pinned.test.."),
                 "an address": client_hello(b"127.0.0.1"), "encrypted": client_hello(b"pinned.test", encrypted=True), "plain HTTP": b"GET / HTTP/1.1\r\nHost: pinned.test\r\n\r\n",
                 "SSH": b"SSH-2.0-x\r\n", "a record that is no handshake": b"\x17" + good[1:], "bytes behind the greeting": good + b"more"}
        for name, data in cases.items():
            with self.subTest(name):
                came, names_ = self.send(data)
                if name == "bytes behind the greeting":
                    continue  # TLS 1.3 early data looks like that; the upstream judges it
                self.assertEqual((came, names_), (b"", []))
        outcomes = [r for r in self.world.records(self.session, kind="outcome") if r["exception"] == "EX-1" and r["outcome"] == "failed"]
        self.assertGreaterEqual(len(outcomes), len(cases) - 1)
        self.assertFalse([r for r in self.world.records(self.session) if r["credential"]], "no credential is involved")


class Certificates(Peer):
    """The upstream's certificate is verified against the name of the rule (B67)."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        pki = cls.world.folder / "pki"
        nul = b"nul.test\0.evil.test"
        der = b"\x30" + bytes([len(nul) + 2]) + b"\x82" + bytes([len(nul)]) + nul
        made = {"nul.test": dict(san="DER:" + der.hex(":")), "cn.test": dict(san=None, subject="/CN=cn.test"), "expired.test": dict(san="DNS:expired.test", days=-1),
                "signed.test": dict(san="DNS:signed.test", signed=False), "other.test": dict(san="DNS:evil.test,DNS:www.other.test,DNS:*.other.test")}
        for name, how in made.items():
            cls.world.raw.contexts[name] = server_context(*issue(pki, name, **how))
        cls.hosts = list(made)
        cls.world.apply(cls.with_tls())

    @classmethod
    def with_tls(cls):
        hosts = ", ".join(f'"{name}:{cls.world.raw.port}"' for name in cls.hosts)
        text = cls.world.policy().replace("credentials:\n", f"""  tls: {{hosts: [{hosts}], addresses: [127.0.0.0/8], upstream_ca: ca.pem}}
credentials:
  tls-key: {{service: tls, provider: static, secret: secret:echo-key, place: {{header: {{name: x-api-key}}}}}}
""")
        return text.replace("    endpoints:\n", "    endpoints:\n      - {service: tls, credential: tls-key, allow: [{methods: [GET, POST], path: /**}]}\n")

    def test_certificates_that_do_not_prove_the_name_B67(self):
        before = len(self.world.raw.requests)
        for host in self.hosts:
            with self.subTest(host):
                self.assertRefused(self.ask(host, self.world.raw.port), 502, "upstream_tls")
                outcome = wait_until("the outcome is recorded", lambda: [r for r in self.world.records(self.session, kind="outcome") if r["host"] == host])
                self.assertEqual((outcome[0]["outcome"], outcome[0]["code"]), ("failed", "upstream_tls"))
        self.assertEqual(len(self.world.raw.requests), before, "a request, and so a credential, was sent")

    def test_a_plain_server_where_tls_is_due(self):
        server = socket.create_server(("127.0.0.1", 0))
        got = []

        def speak():
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                got.append(connection.recv(65536))
        threading.Thread(target=speak, daemon=True).start()
        self.addCleanup(server.close)
        self.addCleanup(self.world.apply, self.with_tls())
        port = server.getsockname()[1]
        self.egress([f"self.test:{port}"], ", addresses: [127.0.0.0/8]")
        self.assertRefused(self.ask("self.test", port), 502, "upstream_tls")
        self.assertEqual([data[:1] for data in got], [b"\x16"], "nothing but a greeting was sent")


if __name__ == "__main__":
    harness.main()
