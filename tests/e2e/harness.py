"""Real binaries on real upstreams: starts credbrokerd, nginx with git http-backend, and a raw TLS upstream.

Everything lives in one temporary folder and on loopback ports that the kernel chooses. Names end in .test; they resolve
through a hosts file that only the tests' own mount namespace sees (see names.py).
"""
import base64
import json
import os
import pathlib
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

import names
from upstream import LEASH, GitHost, RawUpstream, make_certificates

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DEADLINE = float(os.environ.get("CREDBROKER_E2E_DEADLINE", "30"))  # seconds; sanitizer builds need the room
# A sanitizer keeps freed memory back to see its misuse: what is gathered shows all the same, since bodies are 60 MiB and more.
SANITIZER_KIB = int(os.environ.get("CREDBROKER_E2E_SANITIZER_KIB", "0"))
SANITIZER = {name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}  # our programs need them
GIT_SECRET = "S3cret/gIt+" + "q8Zr2Lx9" + "=="
API_SECRET = "ap1-" + "K3y.7f+/~c4n4ry"
ECHO_SECRET = "ech0-" + "c4n4ry\"&<" + "0123456789abcdef"


def catalogue():
    """Name to number, as the tree's error catalogue has them."""
    words = re.findall(r"^BROKER_ERROR\((\d+), k(\w+),", (SOURCE / "broker/base/errors.def").read_text(), re.M)
    return {re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower(): int(number) for number, name in words}


CODES = catalogue()


def binaries():
    given = os.environ.get("CREDBROKER_BIN")
    for folder in [given] if given else [SOURCE / "build/dev/bin", SOURCE / "build/release/bin"]:
        if (pathlib.Path(folder) / "credbrokerd").exists():
            return pathlib.Path(folder).resolve()
    raise SystemExit("e2e: no binaries; set CREDBROKER_BIN to the folder that holds credbrokerd")


def wait_until(what, predicate, seconds=DEADLINE):
    """Level-triggered: asks again until true, fails with `what` at the deadline."""
    end, pause = time.monotonic() + seconds, threading.Event()
    while True:
        value = predicate()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        pause.wait(0.02)


def forms_of(secret):
    """Every text in which a secret would still be readable (S12)."""
    raw = secret.encode()
    forms = {"raw": raw, "url": urllib.parse.quote(secret, safe="").encode(), "json": json.dumps(secret)[1:-1].encode(),
             "hex": raw.hex().encode()}
    for shift in range(3):  # base64 at each alignment, without the characters that neighbours can change
        text = base64.b64encode(b"x" * shift + raw)
        forms[f"base64+{shift}"] = text[0 if shift == 0 else 4:len(text) // 4 * 4 - 4]
    forms["basic"] = base64.b64encode(b"bot:" + raw)
    return forms


def refuse_crash(log):
    """Fails when a process ended by a fault of its own or a sanitizer spoke; the broker restarts an edge in silence."""
    found = re.search(r'ERROR: \w+Sanitizer|WARNING: \w+Sanitizer|runtime error: |"how":"signal (?:4|6|7|8|11)"', log)
    if found:
        raise AssertionError(f"a fault in the log:\n{log[max(0, found.start() - 500):found.start() + 6000]}")


def find_secrets(data, secrets):
    return [f"{s[:4]}... as {form}" for s in secrets for form, needle in forms_of(s).items() if needle in data]


class Result:
    def __init__(self, process, out, err):
        self.code, self.out, self.err = process.returncode, out, err

    def json(self):
        return json.loads(self.out)

    def text(self):
        return (self.out + self.err).decode(errors="replace")


class Broker:
    """credbrokerd with its edge on a data folder of its own; restarts on the same folder and ports."""

    def __init__(self, folder, binary_folder, extra=()):
        self.folder, self.bin, self.extra = pathlib.Path(folder), binary_folder, list(extra)
        self.process, self.ports, self.lines = None, {}, queue.Queue()
        self.log = self.folder.parent / (self.folder.name + ".log")

    @property
    def address(self):
        return f"unix:{self.folder}/run/api.sock"

    def start(self, wait=True, **ports):
        listen = []
        for name in ("api", "proxy", "gateway", "health"):
            listen += [f"--listen-{name}", f"127.0.0.1:{ports.get(name, self.ports.get(name, 0))}"]
        self.lines = queue.Queue()
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*LEASH, self.bin / "credbrokerd", "serve", "--data-dir", self.folder, *listen, *self.extra],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        self.reader = threading.Thread(target=self._read, args=(self.process, self.lines), daemon=True)
        self.reader.start()
        if wait:
            self.wait_ready()
        return self

    @staticmethod
    def _read(process, lines):
        for line in process.stdout:
            lines.put(line.decode().rstrip("\n"))
        lines.put(None)

    def wait_ready(self):
        end = time.monotonic() + DEADLINE
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"credbrokerd was not ready in {DEADLINE} s\n{self.log_text()[-3000:]}") from None
            if line is None:
                raise AssertionError(f"credbrokerd ended with {self.process.wait()}\n{self.log_text()[-3000:]}")
            if line == "ready":
                return
            words = line.split()
            if len(words) == 3 and words[0] == "listening" and words[2].startswith("http"):
                self.ports[words[1]] = int(words[2].rsplit(":", 1)[1])

    def log_text(self):
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def children(self):
        """(pid, command line) of the broker's child processes."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                if int(stat[1]) == self.process.pid and stat[0] != "Z":
                    found.append((int(entry.name), (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
            except OSError:
                pass
        return found

    def edge_pid(self):
        return next((pid for pid, line in self.children() if "edged" in line.split(" ")[0]), None)

    def stop(self):
        """SIGTERM; gives the exit status."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(DEADLINE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError("credbrokerd did not end on SIGTERM\n" + self.log_text()[-3000:]) from None
        self.reader.join()
        self.process.stdout.close()
        self.process = None
        return status

    def kill(self):
        """kill -9, then waits until its edge is gone too, as it would be after a crash of the machine."""
        children = [pid for pid, _ in self.children()]
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process = None
        wait_until("the edge ends with its broker", lambda: not any(alive(pid) for pid in children))


def alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class World:
    """One folder with certificates, upstreams, a broker, and everything that a sandbox ever got from it."""

    def __init__(self, start=True, extra=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="credbroker-e2e-"))
        self.bin = binaries()
        self.ca, self.cert, self.key = make_certificates(self.folder / "pki", names.NAMES)
        self.git = GitHost(self.folder / "githost", self.cert, self.key, GIT_SECRET, API_SECRET)
        self.raw = RawUpstream(self.cert, self.key)
        self.broker = Broker(self.folder / "data", self.bin, extra)
        self.received, self.secrets, self.bundle_file = [], [GIT_SECRET, API_SECRET, ECHO_SECRET], None
        self.home = self.folder / "home"
        self.home.mkdir()
        if start:
            self.broker.start()
            self.prepare()

    def close(self):
        try:
            status = self.broker.stop()
            refuse_crash(self.broker.log_text())
            if status:
                raise AssertionError(f"credbrokerd ended with {status}\n{self.broker.log_text()[-3000:]}")
        finally:
            self.git.close()
            self.raw.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- admin side
    def prepare(self):
        for name, value in (("git-bot", GIT_SECRET), ("api-key", API_SECRET), ("echo-key", ECHO_SECRET)):
            self.cli("secret", "put", name, input=value.encode())
        self.apply(self.policy())

    def policy(self, **change):
        words = {"GIT": self.git.port, "RAW": self.raw.port, "EXTRA": "", **change}
        text = (pathlib.Path(__file__).parent / "policy.yaml").read_text()
        for key, value in words.items():
            text = text.replace(f"@{key}@", str(value))
        return text

    def apply(self, text, check=True):
        folder = self.folder / "policy"
        folder.mkdir(exist_ok=True)
        shutil.copy(self.ca, folder / "ca.pem")
        (folder / "policy.yaml").write_text(text)
        return self.cli("apply", "-f", folder / "policy.yaml", check=check)

    def cli(self, *args, token=None, input=None, check=True, env=None, timeout=DEADLINE * 2):
        variables = {**SANITIZER, "PATH": os.environ["PATH"], "HOME": str(self.home), "CREDBROKER_ADDRESS": self.broker.address,
                     **({"CREDBROKER_TOKEN": token} if token else {}), **(env or {})}
        done = subprocess.run([self.bin / "credbroker", *map(str, args)], input=input if input is not None else b"",
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables, timeout=timeout, check=False)
        result = Result(done, done.stdout, done.stderr)
        refuse_crash(result.err.decode(errors="replace"))
        if check and result.code != 0:
            raise AssertionError(f"credbroker {' '.join(map(str, args))}: exit {result.code}\n{result.text()}")
        return result

    def json(self, *args, **kw):
        return self.cli(*args, "--output", "json", **kw).json()

    def open_session(self, *more, scope="web-agent"):
        answer = self.json("session", "open", "--requester", "team-web", "--scope", scope, *more)
        return answer["session"]["id"], answer["token"]["text"]

    def records(self, session, **match):
        found = self.json("audit", "list", "--session", session, "--limit", "10000")
        return [r for r in found if all(r.get(k) == v for k, v in match.items())]

    # ---- sandbox side
    def environment(self, token):
        variables = self.json("env", token=token)
        self.received.append(json.dumps(variables).encode())
        return {**SANITIZER, "PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
                "GIT_AUTHOR_NAME": "agent", "GIT_AUTHOR_EMAIL": "agent@sandbox.test", "GIT_COMMITTER_NAME": "agent",
                "GIT_COMMITTER_EMAIL": "agent@sandbox.test", **variables}

    def sandbox(self, token, *command, cwd=None, input=None, env=None, timeout=DEADLINE * 3):
        """Runs a tool as a sandbox would, with what `credbroker env` sets; keeps all that it printed."""
        done = subprocess.run(list(map(str, command)), cwd=cwd or self.home, env={**self.environment(token), **(env or {})},
                              input=input if input is not None else b"", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=timeout, check=False)
        self.received += [done.stdout, done.stderr]
        return Result(done, done.stdout, done.stderr)

    def url(self, host, path="/"):
        port = self.raw.port if host in RawUpstream.HOSTS else self.git.port
        return f"https://{host}:{port}{path}"

    def bundle(self, token):
        """The CA bundle that `credbroker env` names: one for the installation, so it is asked for once."""
        if self.bundle_file is None or not os.path.exists(self.bundle_file):
            self.bundle_file = self.environment(token)["SSL_CERT_FILE"]
        return self.bundle_file


class Case(unittest.TestCase):
    """A test with a world that the whole class shares."""
    world = None
    extra = ()
    config = ""  # the broker's configuration file, as text

    @classmethod
    def setUpClass(cls):
        extra = cls.extra
        if cls.config:
            file = tempfile.NamedTemporaryFile("w", prefix="credbroker-", suffix=".yaml")
            cls.addClassCleanup(file.close)
            file.write(cls.config)
            file.flush()
            extra = ("--config", file.name)
        cls.world = World(extra=extra)

    @classmethod
    def tearDownClass(cls):
        if cls.world:
            cls.world.close()

    def assertNoSecret(self, data, where):
        self.assertEqual(find_secrets(data, self.world.secrets), [], f"a real credential in {where}")

    def assertRefused(self, response, status, code):
        """A refusal in the promised form (design 11)."""
        self.assertEqual(response.status, status, response)
        error = json.loads(response.body)["error"]
        self.assertLessEqual({"code", "reason", "rule", "request_id", "next_step"}, set(error), error)
        self.assertEqual(error["code"], CODES[code], error)
        self.assertTrue(error["reason"] and error["next_step"] and error["request_id"], error)
        return error


def main():
    names.enter()
    unittest.main(verbosity=2)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


if __name__ == "__main__":
    sys.exit("run one of the test_*.py files")
