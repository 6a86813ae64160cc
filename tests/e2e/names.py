"""The tests' names resolve to loopback, for these tests only: a private mount namespace with its own hosts file."""
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

NAMES = ["git.test", "api.test", "echo.test", "evil.test", "pinned.test", "late.test", "blob.test", "self.test", "unlisted.test",
         "basic.test", "bearer.test", "custom.test", "query.test", "cookie.test", "free.test", "plain.test",
         "nul.test", "cn.test", "expired.test", "signed.test", "other.test", "a.wild.test", "wild.test"]
MARK = "CREDBROKER_E2E_NAMES"


def resolve():
    try:
        return all(socket.gethostbyname(name) == "127.0.0.1" for name in NAMES)
    except OSError:
        return False


def enter():
    """Starts the program anew inside the namespace; returns there. Without the right to make one, adds the names to
    /etc/hosts when that may be written; otherwise says what to do and ends."""
    if resolve():
        return
    if os.environ.get(MARK):
        mount_hosts()
        return
    probe = subprocess.run(["unshare", "--mount", "true"], stderr=subprocess.DEVNULL, check=False) if os.geteuid() == 0 else None
    if probe and probe.returncode == 0:
        os.environ[MARK] = "1"
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])
    line = "127.0.0.1 " + " ".join(NAMES) + "\n"
    try:
        with open("/etc/hosts", "a", encoding="ascii") as hosts:
            hosts.write(line)
    except OSError:
        sys.exit("e2e: run as root, or add this line to /etc/hosts: " + line)


def mount_hosts():
    with tempfile.NamedTemporaryFile("w", suffix=".hosts", delete=False) as file:
        file.write(pathlib.Path("/etc/hosts").read_text() + "\n127.0.0.1 " + " ".join(NAMES) + "\n")
    os.chmod(file.name, 0o644)
    subprocess.run(["mount", "--bind", file.name, "/etc/hosts"], check=True)
    os.unlink(file.name)
    if not resolve():
        sys.exit("e2e: the test names do not resolve in the mount namespace")


def use_name_server(address):
    """Makes `address` the only name server for these tests. False where there is no mount namespace of their own."""
    if not os.environ.get(MARK):
        return False
    with tempfile.NamedTemporaryFile("w", suffix=".resolv", delete=False) as file:
        file.write(f"nameserver {address}\n")
    os.chmod(file.name, 0o644)
    subprocess.run(["mount", "--bind", file.name, "/etc/resolv.conf"], check=True)
    os.unlink(file.name)
    return True
