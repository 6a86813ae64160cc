"""WebSocket (RFC 6455) by hand, for both ends: what a library would tidy up must be sendable."""
import base64
import hashlib
import os
import struct

CLOSE, PING, PONG = 8, 9, 10


def accept_of(key):
    return base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()


def fields(*more, key=None):
    """A client's handshake."""
    key = key or base64.b64encode(os.urandom(16)).decode()
    return ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", *more]


def key_of(handshake):
    return next(f.split(": ")[1] for f in handshake if f.startswith("Sec-WebSocket-Key"))


def switch(exchange, *more, early=b""):
    """The upstream's 101."""
    lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade",
             f"Sec-WebSocket-Accept: {accept_of(exchange.get('sec-websocket-key')[0])}", *more]
    exchange.send("\r\n".join(lines).encode() + b"\r\n\r\n" + early)


def frame(payload, opcode=1, last=True, masked=False):
    head = bytes([opcode | (0x80 if last else 0)])
    mask = 0x80 if masked else 0
    if len(payload) < 126:
        head += bytes([mask | len(payload)])
    else:
        head += bytes([mask | 126]) + struct.pack("!H", len(payload)) if len(payload) < 65536 else bytes([mask | 127]) + struct.pack("!Q", len(payload))
    if not masked:
        return head + payload
    key = os.urandom(4)
    pad = key * (len(payload) // 4 + 1)
    return head + key + (int.from_bytes(payload, "big") ^ int.from_bytes(pad[:len(payload)], "big")).to_bytes(len(payload), "big")


def read_frame(peer):
    """(opcode, last, payload) of a channel or an upstream's exchange; EOFError at the end."""
    def take(size):
        while len(peer.buffer) < size:
            if peer._more() is False:
                raise EOFError
        part = bytes(peer.buffer[:size])
        del peer.buffer[:size]
        return part
    first, second = take(2)
    size = second & 0x7F
    if size > 125:
        size = struct.unpack("!H" if size == 126 else "!Q", take(2 if size == 126 else 8))[0]
    key = take(4) if second & 0x80 else b""
    payload = take(size)
    if key:
        pad = key * (size // 4 + 1)
        payload = (int.from_bytes(payload, "big") ^ int.from_bytes(pad[:size], "big")).to_bytes(size, "big")
    return first & 0x0F, bool(first & 0x80), payload


def echo(exchange, *more):
    """An upstream that answers each message with the same, a ping with a pong, a close with its code, then ends."""
    switch(exchange, *more)
    while True:
        opcode, last, payload = read_frame(exchange)
        exchange.send(frame(payload, PONG if opcode == PING else opcode, last))
        if opcode == CLOSE:
            return False
