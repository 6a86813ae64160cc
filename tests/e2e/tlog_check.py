"""A third party's view of a ledger: its checkpoint and inclusion proofs, read by the public formats alone (RFC 6962, and c2sp.org
signed-note, tlog-checkpoint, tlog-proof). Shares no code with the product; Ed25519 is the openssl program's."""
import base64
import hashlib
import pathlib
import subprocess
import tempfile

SPKI_ED25519 = bytes.fromhex("302a300506032b6570032100")


def read_key(vkey):
    """`name+hash+base64(0x01 || key)`; the hash must be the key's own."""
    name, number, text = vkey.strip().split("+", 2)
    raw = base64.b64decode(text, validate=True)
    if raw[0] != 1 or len(raw) != 33:
        raise ValueError("not an Ed25519 key")
    if hashlib.sha256(name.encode() + b"\n" + raw).hexdigest()[:8] != number:
        raise ValueError("the key's hash is another's")
    return name, bytes.fromhex(number), raw[1:]


def ed25519_verifies(key, message, signature):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file, content in (("key", SPKI_ED25519 + key), ("message", message), ("signature", signature)):
            (folder / file).write_bytes(content)
        done = subprocess.run(["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", folder / "key", "-keyform", "DER", "-rawin", "-in",
                               folder / "message", "-sigfile", folder / "signature"], capture_output=True, check=False)
        return done.returncode == 0


def open_checkpoint(note, vkey):
    """(origin, size, root) of a checkpoint that the key signed; ValueError otherwise."""
    name, number, key = read_key(vkey)
    text, mark, signatures = note.partition("\n\n")
    if not mark:
        raise ValueError("no signatures")
    text += "\n"
    for line in signatures.splitlines():
        dash, signer, blob = line.split(" ")
        raw = base64.b64decode(blob, validate=True)
        if dash == "\u2014" and signer == name and raw[:4] == number and ed25519_verifies(key, text.encode(), raw[4:]):
            break
    else:
        raise ValueError("not signed by this key")
    origin, size, root = text.split("\n")[:3]
    if origin != name:
        raise ValueError("another log's checkpoint")
    return origin, int(size), base64.b64decode(root, validate=True)


def leaf_hash(leaf):
    return hashlib.sha256(b"\0" + leaf).digest()


def check_inclusion(value, index, size, root, path):
    """RFC 9162 section 2.1.3.2; `value` is the leaf's hash."""
    if any(len(part) != 32 for part in (value, root, *path)):
        raise ValueError("a hash has another length")
    if index >= size:
        raise ValueError("index beyond the tree")
    node, last = index, size - 1
    for sibling in path:
        if last == 0:
            raise ValueError("the proof is too long")
        if node & 1 or node == last:
            value = hashlib.sha256(b"\1" + sibling + value).digest()
            while not node & 1 and node:
                node, last = node >> 1, last >> 1
        else:
            value = hashlib.sha256(b"\1" + value + sibling).digest()
        node, last = node >> 1, last >> 1
    if last != 0 or value != root:
        raise ValueError("the proof does not lead to the root")


def check_proof(proof, leaf, vkey):
    """A c2sp.org/tlog-proof text: header, index, hashes, an empty line, the checkpoint."""
    head, _, note = proof.partition("\n\n")
    lines = head.split("\n")
    if lines[0] != "c2sp.org/tlog-proof@v1":
        raise ValueError("not a proof")
    rest = [line for line in lines[1:] if not line.startswith("extra ")]
    if not rest[0].startswith("index "):
        raise ValueError("no index")
    _, size, root = open_checkpoint(note, vkey)
    check_inclusion(leaf_hash(leaf), int(rest[0][6:]), size, root, [base64.b64decode(line, validate=True) for line in rest[1:]])
    return int(rest[0][6:])
