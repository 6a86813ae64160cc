#!/usr/bin/env python3
"""Each rule is shown a tree that breaks it, so that no rule is asleep."""
import pathlib
import shutil
import tempfile
import unittest

import check_tree


class Rules(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, name, body):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(body)
        return path

    def broken(self, check):
        return "\n".join(check_tree.CHECKS[check](self.root))

    def test_sources(self):
        self.write("broker/x/long.cc", "\n" * 401)
        self.write("broker/x/long.h", "\n" * 201)
        self.write("broker/x/up.cc", '#include "' '../y.h"\n')
        self.write("tests/unit/x_test.cc", "std::this_thread::sleep" "_for(1s);\nGTEST_SK" "IP();\n")
        self.write("client/a.cc", "// TO" "DO: later\n// TO" "DO(#12): fine\n")
        self.write("deploy/a.md", "see /wo" "rk/x and pypi." "org\n")
        found = self.broken("sources")
        for word in ("long.cc: 401", "long.h: 201", "up.cc:1", "x_test.cc:1", "x_test.cc:2", "a.cc:1", "path of one machine"):
            self.assertIn(word, found)
        self.assertNotIn("a.cc:2", found)

    def test_rooms(self):
        self.write("broker/x/CMakeLists.txt", "room(x LEVEL 2 SOURCES a.cc)\n")
        self.write("broker/README.md", "| 3 | `x` | purpose |\n| 1 | `gone` | purpose |\n")
        self.write("broker/x/a.cc", '#include "credbroker/v1/token.pb.h"\n')
        self.write("broker/x/lost.cc", "")
        found = self.broken("rooms")
        for word in ("room x", "room gone", "a.cc: includes generated", "lost.cc: is in no target"):
            self.assertIn(word, found)

    def test_secrets(self):
        self.write("broker/policy/a.cc", "secret.Reveal(base::SecretReveal{});\n")
        self.write("broker/policy/CMakeLists.txt", "room(policy LEVEL 2 USES reveal)\n")
        self.write("deploy/k.pem", "-----BEGIN PRIVATE KEY-----\n" + "A" * 60 + "\n")
        found = self.broken("secrets")
        for word in ("policy/a.cc", "links the room reveal", "private key in the tree"):
            self.assertIn(word, found)

    def test_errors(self):
        self.write("broker/base/errors.def", 'BROKER_ERROR(1, kA, kX, 403, "a", "b")\nBROKER_ERROR(1, kB, kX, 200, "a.", "b")\nBROKER_ERROR(x)\n')
        found = self.broken("errors")
        for word in ("already A", "HTTP status 200", "no final stop", "not in the catalogue's form"):
            self.assertIn(word, found)

    def test_docs(self):
        self.write("README.md", "[x](nowhere.md) deploy/no-such-thing `credbroker fly`\n")
        self.write("client/a.cc", 'app.add_subcommand("status");')
        found = self.broken("docs")
        for word in ("nowhere.md", "deploy/no-such-thing", "does not name tests/run", "LICENSE is missing", "`credbroker fly`"):
            self.assertIn(word, found)

    def test_evidence(self):
        row = 'QUESTION(S{}, kGit, kEnforced, "security", "q", Value, "{}", "{}", "")\n'
        self.write("README.md", "# A\n## What it does: all\n")
        self.write("tests/unit/x/a_test.cc", "TEST(X, Holds) {}\n")
        self.write("broker/evidence/questions.def", row.format(1, "README.md#what-it-does-all", "unit/x/a_test.cc Holds") + row.format(3, "README.md#gone", "unit/x/a_test.cc Hold"))
        found = self.broken("evidence")
        for word in ("S1 to S77", "S3: README.md#gone", "S3: the test unit/x/a_test.cc Hold does not exist"):
            self.assertIn(word, found)
        self.assertNotIn("S1: ", found)

    def test_limits(self):
        self.write("broker/x/a.h", "std::size_t max_a = 4 * 1024;  // bytes\nstd::size_t max_forgotten = 7;\n")
        self.write("broker/x/b.cc", "constexpr int kMaxB = 5;\nconstexpr int kMaxForgotten = 6;\nconst int kMaxLocal = 8;\n")
        self.write("tests/unit/x/a_test.cc", "TEST(X, KeepsItsLimits) {}\n")
        row = "| 1 | of | `x/{}` `{}` | 403 | {} |\n"
        self.write("broker/LIMITS.md", row.format("a.h", "max_a = 4 * 1024", "`unit/x/a_test.cc` `KeepsItsLimits`")
                   + row.format("a.h", "max_a = 4 * 1025", "none: a reason") + row.format("b.cc", "kMaxB = 5", "`unit/x/a_test.cc` `Gone`")
                   + row.format("b.cc", "kMaxB = 5", "none") + "| 1 | of | nothing | 403 | none: x |\n")
        found = self.broken("limits").splitlines()
        self.assertEqual(sorted(line.split(" ", 1)[0] for line in found),
                         [f"broker/LIMITS.md:{n}:" for n in (2, 3, 4, 5)] + ["broker/x/a.h:2:", "broker/x/b.cc:2:"])

    def test_scripts(self):
        self.write("deploy/quickstart", "#!/usr/bin/env bash\nif\n")
        self.write("deploy/packages", "Bad Name\ncurl\ncurl\n")
        found = self.broken("scripts")
        for word in ("no run bit", "tests/run is missing", "no package name", "twice", "pipefail"):
            self.assertIn(word, found)


if __name__ == "__main__":
    unittest.main()
