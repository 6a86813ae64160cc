#!/usr/bin/env python3
"""The process that parses hostile bytes holds no code that opens secrets or mints tokens (design 3; reads the symbols)."""
import pathlib
import re
import subprocess
import sys

FORBIDDEN = re.compile(r"credbroker::(vault|store|providers|control)::|credbroker::token::(mint::|Minter|Mint[A-Z(])|sqlite3_|crypto_pwhash")


def symbols(program):
    out = subprocess.run(["nm", "-C", str(program)], stdout=subprocess.PIPE, check=True).stdout.decode(errors="replace")
    return [line.split(" ", 2)[-1] for line in out.splitlines() if "credbroker::" in line or "sqlite3_" in line or "crypto_" in line]


def main():
    folder = pathlib.Path(sys.argv[1])
    edge, broker = folder / "credbroker-edged", folder / "credbrokerd"
    for program in (edge, broker):
        if not program.exists():
            sys.exit(f"{program.name} is not built: build the whole tree first")
    found = symbols(edge)
    if len([s for s in found if "credbroker::" in s]) < 100:
        sys.exit("too few symbols: the program is stripped, nothing can be told")
    if not any(FORBIDDEN.search(s) for s in symbols(broker)):
        sys.exit("the pattern finds nothing in credbrokerd either: it is out of date")
    bad = [s for s in found if FORBIDDEN.search(s)]
    for symbol in bad[:20]:
        print("custody code in credbroker-edged:", symbol)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
