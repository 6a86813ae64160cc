"""A client that writes raw bytes, so that nothing tidies up what a test wants to send."""
import base64
import socket
import ssl


class Response:
    def __init__(self, status, reason, headers, body, raw):
        self.status, self.reason, self.headers, self.body, self.raw = status, reason, headers, body, raw

    def get(self, name):
        return [v for k, v in self.headers if k.lower() == name]

    def __repr__(self):
        return f"<{self.status} {self.headers} {self.body[:400]!r}>"


class Channel:
    def __init__(self, port, timeout=20):
        """To a port of this machine, or to a Unix socket's path."""
        if isinstance(port, int):
            self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        else:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(port)
        self.buffer, self.head = bytearray(), b""
        self.raw = bytearray()  # all that ever came
        self.socket.settimeout(timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data if isinstance(data, bytes) else data.encode())
        return self

    def start_tls(self, host, bundle, versions=None):
        context = ssl.create_default_context(cafile=bundle)
        context.set_alpn_protocols(["http/1.1"])
        if versions:
            context.minimum_version = context.maximum_version = versions
        self.socket = context.wrap_socket(self.socket, server_hostname=host)
        return self

    def _more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        self.raw += data
        return bool(data)

    def _take(self, size):
        while len(self.buffer) < size:
            if not self._more():
                raise EOFError(f"closed with {len(self.buffer)} of {size} bytes")
        part = bytes(self.buffer[:size])
        del self.buffer[:size]
        return part

    def read_line(self):
        while b"\r\n" not in self.buffer:
            if not self._more():
                raise EOFError(f"closed within a line: {self.buffer[:200]!r}")
        line = self._take(self.buffer.index(b"\r\n"))
        del self.buffer[:2]
        self.head += line + b"\r\n"
        return line

    def read_head(self):
        self.head = b""
        version, status, *reason = self.read_line().decode("latin-1").split(" ", 2)
        assert version.startswith("HTTP/1."), version
        headers = []
        while True:
            line = self.read_line().decode("latin-1")
            if not line:
                return Response(int(status), "".join(reason), headers, b"", self.head)
            name, value = line.split(":", 1)
            headers.append((name, value.strip()))

    def read(self, method="GET", interim=False):
        """One answer with its body. 1xx answers are skipped unless `interim`."""
        while True:
            response = self.read_head()
            if response.status >= 200 or interim:
                break
        if method == "HEAD" or response.status < 200 or response.status in (204, 304):
            return response
        if "chunked" in "".join(response.get("transfer-encoding")).lower():
            body = bytearray()
            while True:
                size = int(self.read_line().split(b";")[0], 16)
                body += self._take(size)
                if size == 0:
                    while self.read_line():
                        pass
                    response.body = bytes(body)
                    return response
                self._take(2)
        if response.get("content-length"):
            response.body = self._take(int(response.get("content-length")[0]))
        elif not (method == "CONNECT" and response.status == 200):
            while self._more():
                pass
            response.body = self._take(len(self.buffer))
        return response

    def until(self, part):
        """Reads on until `part` is there."""
        while part not in self.buffer:
            if not self._more():
                raise EOFError(f"closed before {part!r}: {bytes(self.buffer[-200:])!r}")
        return self

    def closed(self):
        """Waits for the other side to close; what came before it stays in `buffer`."""
        try:
            while self._more():
                pass
            return True
        except (ConnectionResetError, BrokenPipeError, ssl.SSLError):
            return True
        except TimeoutError:
            return False

    def request(self, method, target, host, headers=(), body=b"", read=True):
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)
        return self.read(method) if read else None


def basic(user, password):
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


class EarlyTls:
    """A TLS client on memory, for bytes that must leave in one packet with others."""

    def __init__(self, host, bundle):
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = ssl.create_default_context(cafile=bundle)
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname=host)
        try:
            self.tls.do_handshake()
        except ssl.SSLWantReadError:
            pass
        self.hello = self.outgoing.read()

    def finish(self, channel):
        """The rest of the handshake over a channel that sent `hello`."""
        self.incoming.write(bytes(channel.buffer))
        channel.buffer.clear()
        while True:
            try:
                self.tls.do_handshake()
                return channel.send(self.outgoing.read())
            except ssl.SSLWantReadError:
                channel.send(self.outgoing.read())
                data = channel.socket.recv(65536)
                if not data:
                    raise EOFError("closed within the handshake") from None
                self.incoming.write(data)


def client_hello(name, encrypted=False):
    """A greeting with that server name exactly as given (bytes; None for none), in one record."""
    def block(width, data):
        return len(data).to_bytes(width, "big") + data

    extensions = b"" if name is None else b"\0\0" + block(2, block(2, b"\0" + block(2, name)))
    extensions += bytes.fromhex("000a00040002001d" "000d00060004" "04030804" "002b0003020304")
    extensions += b"\0\x33" + block(2, block(2, b"\0\x1d" + block(2, b"\x09" + b"\0" * 31)))
    extensions += b"\xfe\x0d" + block(2, b"\0" * 40) if encrypted else b""
    body = b"\3\3" + b"r" * 32 + b"\0" + block(2, b"\x13\x01\x13\x02") + block(1, b"\0") + block(2, extensions)
    return b"\x16\3\1" + block(2, b"\1" + block(3, body))


def connect(port, authority, token=None, more=(), early=b""):
    """CONNECT through the proxy: (channel, answer)."""
    channel = Channel(port)
    login = [f"Proxy-Authorization: {basic('credbroker', token)}"] if token else []
    head = "\r\n".join([f"CONNECT {authority} HTTP/1.1", f"Host: {authority}", *login, *more])
    channel.send(head.encode() + b"\r\n\r\n" + early)
    return channel, channel.read("CONNECT")


def tunnel(world, token, host, sni=None):
    """An intercepted TLS channel to `host`."""
    authority = world.url(host).split("/")[2]
    channel, answer = connect(world.broker.ports["proxy"], authority, token)
    assert answer.status == 200, answer
    return channel.start_tls(sni or host, world.bundle(token))
