#!/usr/bin/env python3
"""Rules of the tree: `check_tree.py CHECK [ROOT]` prints what breaks one and exits 1. CONTRIBUTING.md has them in words."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIP = {"build", ".git", ".cache", "__pycache__"}
CODE = {".h", ".cc", ".def"}
TEXT = CODE | {".md", ".py", ".yaml", ".yml", ".json", ".proto", ".txt", ".cmake", ".service", ".sh", ""}


def files(root, *tops):
    for top in tops or ("",):
        for folder, names, leaves in os.walk(root / top):
            names[:] = [n for n in names if n not in SKIP]
            for leaf in leaves:
                yield pathlib.Path(folder) / leaf


def text(path):
    try:
        return path.read_text(encoding="utf-8")
    except (UnicodeDecodeError, OSError):
        return ""


def place(root, path, line=None):
    return f"{path.relative_to(root)}{'' if line is None else f':{line}'}"


def grep(root, paths, pattern, why, allow=None):
    found = re.compile(pattern)
    for path in paths:
        for number, line in enumerate(text(path).splitlines(), 1):
            if found.search(line) and not (allow and re.search(allow, line)):
                yield f"{place(root, path, number)}: {why}: {line.strip()[:100]}"


# Words are split so that this file does not break its own rules.
BANNED = [
    (r"\b(sleep_f" r"or|sleep_un" r"til|usl" r"eep|nano" r"sleep|absl::Sleep" r"For|time\.sl" r"eep)\b", "a sleep: wait for a condition"),
    (r"\b(FIX" r"ME|X" r"XX|HA" r"CK)\b|\bTO" r"DO\b(?!\(#\d+\))", "a mark of unfinished work without an issue"),
    (r"GTEST_SK" r"IP|\bDISABL" r"ED_|EXPECT_TRUE\(true\)|SUCC" r"EED\(\)", "a test that cannot fail, or is off"),
    (r"(^|[^\w./-])/(wo" r"rk|ho" r"me/\w+|Us" r"ers)/", "a path of one machine"),
    (r"\b(deb\.deb" r"ian|py" r"pi\.org|registry\.n" r"pm|crat" r"es\.io|proxy\.gol" r"ang|archive\.ubu" r"ntu)", "a registry host"),
]


def check_sources(root):
    code = [p for p in files(root, "broker", "client", "include", "proto") if p.suffix in CODE]
    tests = [p for p in files(root, "tests") if p.suffix in CODE | {".py"}]
    for path in code:
        lines = text(path).count("\n")
        limit = 200 if path.suffix == ".h" else 400
        if path.suffix != ".def" and lines > limit:
            yield f"{place(root, path)}: {lines} lines, at most {limit}: split by noun"
    yield from grep(root, code + tests, r'#\s*include\s+[<"]\.\./', 'an include with "../" walks around the room views')
    everything = [p for p in files(root) if p.suffix in TEXT and p.name not in ("LICENSE",)]
    for pattern, why in BANNED:
        yield from grep(root, everything, pattern, why)


PB_ALLOWED = re.compile(r"^(broker/control/|broker/edge/(broker_link|grpc_\w+|\w*link\w*)\.|broker/app/|client/|tests/|include/)")


def check_rooms(root):
    """Generated headers stay where conversion happens; the map's table equals the room() calls."""
    for path in files(root, "broker", "client", "tests"):
        where = place(root, path)
        if path.suffix in CODE and re.search(r'#\s*include\s+[<"][^">]*\.pb\.h[">]', text(path)):
            if not PB_ALLOWED.match(where):
                yield f"{where}: includes generated protobuf code; only control, the broker link and the client convert it"
            elif path.suffix == ".h" and where.startswith("broker/edge/"):
                yield f"{where}: generated protobuf code in a header of edge"
    rooms = {}
    for path in files(root, "broker"):
        if path.name != "CMakeLists.txt":
            continue
        for name, level in re.findall(r"^\s*room\((\w+)\s+LEVEL\s+(\d+)", text(path), re.M):
            rooms[name] = level
    table = dict((name, level) for level, name in re.findall(r"^\|\s*(\d)\s*\|\s*`([\w]+)`\s*\|", text(root / "broker/README.md"), re.M))
    for name in sorted(rooms.keys() | table.keys()):
        if rooms.get(name) != table.get(name):
            yield f"broker/README.md: room {name}: the table says level {table.get(name)}, CMakeLists.txt says {rooms.get(name)}"
    for path in files(root, "broker"):
        where = place(root, path)
        if path.suffix == ".cc" and path.name not in text(path.parent / "CMakeLists.txt"):
            yield f"{where}: is in no target of its folder"


# Rooms whose work is on the bytes of secrets, and single files elsewhere with the reason why they must read one.
REVEAL_ROOMS = ("broker/base/", "broker/reveal/", "broker/crypto/", "broker/vault/", "broker/rewrite/", "broker/providers/", "broker/net/")
REVEAL_FILES = {
    "broker/control/servers.cc": "the API's TLS key goes to gRPC",
    "broker/control/convert.cc": "a new token's text goes into the one answer that carries it",
    "broker/edge/ledger_key.cc": "the edge's own ledger key",
    "broker/edge/broker_link.cc": "a sealed lease is opened",
    "broker/edge/lfs_links.cc": "a sealed LFS link is opened",
    "broker/edge/lfs_call.cc": "its signed query goes into the one request that it is for",
    "broker/edge/heads.cc": "its fields go into the head of that request",
}
REVEAL_LINKS = REVEAL_ROOMS + ("broker/CMakeLists.txt", "broker/control/", "broker/edge/")


def check_secrets(root):
    """SecretReveal is used only by the rooms and files that must read a secret's bytes."""
    for path in files(root, "broker", "client"):
        where = place(root, path)
        if path.suffix in CODE and re.search(r"SecretReveal\s*[{(]", text(path)) and not where.startswith(REVEAL_ROOMS) and where not in REVEAL_FILES:
            yield f"{where}: reads a secret's bytes; if it must, add it to REVEAL_FILES with the reason"
        if path.name == "CMakeLists.txt" and re.search(r"\breveal\b", text(path)) and not where.startswith(REVEAL_LINKS):
            yield f"{where}: links the room reveal"
    for path in files(root):  # nothing secret is shipped
        if path.suffix in (".key", ".p12", ".pfx") or re.search(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n[A-Za-z0-9+/]{40}", text(path) if path.suffix in TEXT | {".pem"} else ""):
            yield f"{place(root, path)}: a private key in the tree"


def check_errors(root):
    """The catalogue: numbers are unique and in their range, texts are whole, every code is used."""
    entry = re.compile(r'^BROKER_ERROR\((\d+), k(\w+), k(\w+), (\d+), "([^"]+)", "([^"]+)"\)$')
    seen, names = {}, {}
    for number, line in enumerate(text(root / "broker/base/errors.def").splitlines(), 1):
        if not line.startswith("BROKER_ERROR"):
            continue
        match = entry.match(line)
        if not match:
            yield f"errors.def:{number}: not in the catalogue's form"
            continue
        code, name = int(match[1]), match[2]
        if code in seen:
            yield f"errors.def:{number}: {code} is already {seen[code]}"
        if name in names:
            yield f"errors.def:{number}: {name} has the number {names[name]} already"
        seen[code], names[name] = name, code
        if not 400 <= int(match[4]) <= 599:
            yield f"errors.def:{number}: HTTP status {match[4]}"
        for words in (match[5], match[6]):
            if words != words.strip() or words.endswith("."):
                yield f"errors.def:{number}: texts have no final stop and no blanks around them"
    if len(seen) < 50:
        yield "errors.def: fewer than 50 entries were read"


def check_docs(root):
    """Links lead somewhere, commands exist, the examples of the README are the files they quote."""
    for path in files(root):
        if path.suffix != ".md":
            continue
        body = text(path)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", body):
            if not re.match(r"[a-z]+:", target) and not (path.parent / target).exists():
                yield f"{place(root, path)}: the link {target} leads nowhere"
        for command in re.findall(r"(?<![\w/.])((?:deploy|tests|\.ci)/[a-z][\w/.-]*)", body):
            if not (root / command.rstrip(".")).exists():
                yield f"{place(root, path)}: {command} does not exist"
        for source in re.findall(r"(?<![\w/.])((?:broker|client|proto|include)/[\w/.-]+\.(?:h|cc|def|proto|md|cmake))\b", body):
            if not (root / source).exists():
                yield f"{place(root, path)}: {source} does not exist"
    for name in ("README.md", "broker/README.md", "deploy/README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "LICENSE"):
        if not (root / name).exists():
            yield f"{name} is missing"
    readme = text(root / "README.md")
    for command in ("deploy/quickstart", "tests/run"):
        if command not in readme:
            yield f"README.md does not name {command}"
    quoted = re.search(r"```yaml\n(apiVersion:.*?)```", readme, re.S)
    example = text(root / "deploy/examples/first-policy.yaml")
    if not quoted or quoted[1].strip() not in example:
        yield "README.md: the policy is not the one in deploy/examples/first-policy.yaml"
    client = "".join(text(p) for p in files(root, "client") if p.suffix in CODE)
    known = set(re.findall(r'(?:add_subcommand|AddLeaf|AddGroup)\(\s*(?:\*?\w+,\s*)?"([\w-]+)"', client))
    if known:
        for path in ("README.md", "deploy/README.md", "broker/README.md"):
            for word in re.findall(r"`credbroker ([a-z][\w-]*)", text(root / path)):
                if word not in known:
                    yield f"{path}: `credbroker {word}` is no sub-command"


LIMIT = re.compile(r"\b(kMax\w+|max_\w+) = [^;=,]*\d")


def check_limits(root):
    """broker/LIMITS.md says what the sources say, names tests that exist, and has every kMax constant and max_ member."""
    page, named = root / "broker/LIMITS.md", set()
    for number, line in enumerate(text(page).splitlines(), 1):
        where = re.search(r"\| `([\w/]+\.(?:h|cc))` `(\w+) = ([^`]+)` \|", line)
        if not where:
            if re.match(r"\| (?!limit )", line):
                yield f"{place(root, page, number)}: no `file` `name = value` here"
            continue
        named.add((where[1], where[2]))
        source = text(root / "broker" / where[1])
        if not re.search(rf"\b{where[2]} = {re.escape(where[3])}[;,)]", source):
            yield f"{place(root, page, number)}: {where[1]} does not say {where[2]} = {where[3]}"
        cell = line.rstrip(" |").rsplit(" | ", 1)[-1]
        tests = re.findall(r"`((?:unit|e2e)/[\w/]+\.(?:cc|py))` `([^`]+)`", cell)
        if not tests and not re.match(r"none: \w", cell):
            yield f"{place(root, page, number)}: names no test, and no reason why there is none"
        for path, name in tests:
            if name not in text(root / "tests" / path):
                yield f"{place(root, page, number)}: tests/{path} has no {name}"
    for path in files(root, "broker"):
        if path.suffix not in (".h", ".cc"):
            continue
        name = str(path.relative_to(root / "broker"))
        for number, line in enumerate(text(path).splitlines(), 1):
            found = LIMIT.search(line.split("//")[0])
            counts = found and (path.suffix == ".h" if found[1].startswith("max_") else "constexpr" in line)
            if counts and (name, found[1]) not in named:
                yield f"{place(root, path, number)}: {found[1]} has no row in broker/LIMITS.md"


def check_scripts(root):
    """Scripts start, have the run bit and parse; the package list is clean."""
    for name in ("deploy/quickstart", "deploy/install-packages", "tests/run", ".ci/run", "tests/bench/sut"):
        path = root / name
        if not path.exists():
            yield f"{name} is missing"
            continue
        if not os.access(path, os.X_OK):
            yield f"{name} has no run bit"
        if text(path).startswith("#!/usr/bin/env bash"):
            done = subprocess.run(["bash", "-n", path], stderr=subprocess.PIPE, check=False)
            if done.returncode:
                yield f"{name}: {done.stderr.decode().strip()}"
            if "set -euo pipefail" not in text(path):
                yield f"{name}: no `set -euo pipefail`"
    if "tests/run" not in text(root / ".ci/run"):
        yield ".ci/run does not call tests/run"
    packages = [l for l in text(root / "deploy/packages").splitlines() if l and not l.startswith(("#", "["))]
    for package in packages:
        if not re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", package):
            yield f"deploy/packages: {package!r} is no package name"
    if len(packages) != len(set(packages)):
        yield "deploy/packages: a package stands there twice"


def anchors(path):
    """The anchors of a Markdown file's headings, as its readers make them."""
    out = set()
    for line in text(path).splitlines():
        if re.match(r"#+ ", line):
            words = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower())
            out.add(words.replace(" ", "-"))
    return out


def check_evidence(root):
    """Each question of the evidence stands once and in order, and its documentation and its test exist (S2)."""
    path = root / "broker/evidence/questions.def"
    if not path.exists():
        return
    rows = re.findall(r'^QUESTION\((S\d+), .*?, "([^"]*)", "([^"]*)", "[^"]*"\)$', text(path), re.MULTILINE)
    if [row[0] for row in rows] != [f"S{i}" for i in range(1, 78)]:
        yield f"{path.relative_to(root)}: the questions are not S1 to S77, each once and in order"
    for name, docs, test in rows:
        page, _, anchor = docs.partition("#")
        if not (root / page).exists() or anchor not in anchors(root / page):
            yield f"{name}: {docs} does not exist"
        file, _, case = test.partition(" ")
        where = root / "tests" / file
        if test and not (where.exists() and re.search(rf"\b{re.escape(case)}\b", text(where))):
            yield f"{name}: the test {test} does not exist"


CHECKS = {name[6:]: function for name, function in list(globals().items()) if name.startswith("check_")}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in CHECKS:
        sys.exit(f"usage: check_tree.py {'|'.join(CHECKS)} [ROOT]")
    root = pathlib.Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else ROOT
    found = list(CHECKS[sys.argv[1]](root))
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
