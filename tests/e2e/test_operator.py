"""Tools around a running system: doctor, simulate."""
import json
import pathlib
import subprocess
import tempfile

import harness
from client import tunnel
from harness import Case


class Operator(Case):
    def setUp(self):
        self.session, self.token = self.world.open_session()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name):
        return pathlib.Path(self.folder.name) / name

    def use(self, path="/open/export"):
        host = self.world.url("echo.test").split("/")[2]
        with tunnel(self.world, self.token, "echo.test") as channel:
            return channel.request("GET", path, host).status

    def test_doctor_finds_a_sound_system_sound_and_a_fault_S62(self):
        found = {d["id"]: d for d in json.loads(self.world.cli("doctor", "--output", "json", check=False).out)}
        self.assertEqual({d["id"] for d in found.values() if d["severity"] == "fault"}, set(), found)
        self.assertLess(10, len(found))
        key = pathlib.Path(self.world.broker.folder) / "keys" / "master.key"
        key.chmod(0o644)
        self.addCleanup(key.chmod, 0o600)
        done = self.world.cli("doctor", check=False)
        self.assertEqual(done.code, 1)
        self.assertIn(b"findings", done.err)
        self.assertIn(b"chmod 0600", done.out)

    def test_doctor_works_without_a_broker(self):
        done = subprocess.run([self.world.bin / "credbroker", "--data-dir", self.folder.name, "doctor", "--output", "json"], capture_output=True, env=harness.SANITIZER, timeout=60, check=False)
        self.assertEqual(done.returncode, 1)
        found = {d["id"]: d["severity"] for d in json.loads(done.stdout)}
        self.assertEqual(found["broker.answers"], "fault")
        self.assertEqual(found["data.modes"], "fault", "a folder without a master key")

    def test_simulate_tells_what_a_new_policy_would_decide_otherwise(self):
        self.assertEqual(self.use("/open/simulated"), 200)
        self.assertEqual(self.use("/secret"), 403)
        folder = self.file("policy")
        folder.mkdir()
        (folder / "ca.pem").write_bytes(pathlib.Path(self.world.ca).read_bytes())
        (folder / "policy.yaml").write_text(self.world.policy().replace("path: /open/**", "path: /secret"))
        answer = self.world.json("policy", "simulate", "-f", folder / "policy.yaml", "--since", "1h")
        mine = {(c["asked"].split("/", 3)[3], c["before"].split()[0], c["after"].split()[0]) for c in answer["changes"] if c["session"] == self.session}
        self.assertEqual(mine, {("open/simulated", "allow", "deny"), ("secret", "deny", "allow")})
        same = self.world.json("policy", "simulate", "-f", self.world.folder / "policy" / "policy.yaml", "--since", "1h")
        self.assertEqual([c for c in same["changes"] if c["session"] == self.session], [])


if __name__ == "__main__":
    harness.main()
