"""Upstreams for the tests: a git host that refuses everything without the real credential, and a raw TLS server that
records every byte and misbehaves on demand."""
import json
import os
import pathlib
import pwd
import shutil
import socket
import ssl
import subprocess
import threading
import urllib.parse


def run(*command, **kw):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **kw)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}: {done.stdout.decode(errors='replace')}")
    return done.stdout


# A program that is started with this ends with the test, also when the test is killed.
LEASH = ["setpriv", "--pdeathsig", "TERM"]


def make_certificates(folder, hosts):
    """A throw-away CA and one certificate for all `hosts`: (ca, certificate, key)."""
    folder.mkdir()
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    run("openssl", "req", "-x509", *key, "-keyout", folder / "ca.key", "-out", folder / "ca.pem", "-days", "2", "-subj",
        "/CN=e2e upstream CA", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    run("openssl", "req", *key, "-keyout", folder / "host.key", "-out", folder / "host.csr", "-subj", "/CN=e2e upstream")
    names = ",".join("DNS:" + name for name in hosts)
    (folder / "ext").write_text(f"subjectAltName={names}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n")
    run("openssl", "x509", "-req", "-in", folder / "host.csr", "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key",
        "-CAcreateserial", "-days", "2", "-extfile", folder / "ext", "-out", folder / "host.pem")
    return folder / "ca.pem", folder / "host.pem", folder / "host.key"


def issue(folder, name, san, subject="/CN=e2e upstream", days=2, signed=True):
    """One more certificate of the CA in `folder`, or self-signed: (certificate, key). `san` is OpenSSL's subjectAltName, or None."""
    cert, key = folder / (name + ".pem"), folder / (name + ".key")
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-subj", subject]
    extension = f"subjectAltName={san}" if san else "basicConstraints=CA:FALSE"
    if not signed:
        run("openssl", "req", "-x509", *made, "-out", cert, "-days", days, "-addext", extension)
        return cert, key
    run("openssl", "req", *made, "-out", folder / (name + ".csr"))
    (folder / (name + ".ext")).write_text(extension + "\nextendedKeyUsage=serverAuth\n")
    run("openssl", "x509", "-req", "-in", folder / (name + ".csr"), "-CA", folder / "ca.pem", "-CAkey", folder / "ca.key", "-CAcreateserial",
        "-days", days, "-extfile", folder / (name + ".ext"), "-out", cert)
    return cert, key


NGINX = """daemon off; master_process on; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/error.log warn; {user}
events {{ worker_connections 512; }}
http {{
  access_log {dir}/access.log; client_max_body_size 0; client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2;
  fastcgi_temp_path {dir}/t3; uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
  map $http_authorization $api_ok {{ default 0; '{api}' 1; }}
  ssl_certificate {cert}; ssl_certificate_key {key};
  server {{
    listen 127.0.0.1:{port} ssl; server_name git.test;
    auth_basic "git"; auth_basic_user_file {dir}/users;
    location / {{
      gzip off; fastcgi_pass unix:{dir}/fcgi.sock; fastcgi_read_timeout 60s;
      fastcgi_param SCRIPT_FILENAME /usr/lib/git-core/git-http-backend; fastcgi_param GIT_PROJECT_ROOT {dir}/repos;
      fastcgi_param GIT_HTTP_EXPORT_ALL 1; fastcgi_param PATH_INFO $uri; fastcgi_param QUERY_STRING $args;
      fastcgi_param REQUEST_METHOD $request_method; fastcgi_param CONTENT_TYPE $content_type;
      fastcgi_param CONTENT_LENGTH $content_length; fastcgi_param REMOTE_USER $remote_user; fastcgi_param REMOTE_ADDR $remote_addr;
      fastcgi_param HTTP_CONTENT_ENCODING $http_content_encoding; fastcgi_param GIT_PROTOCOL $http_git_protocol;
    }}
    location ~ /info/lfs/ {{ proxy_pass http://127.0.0.1:{lfs_port}; proxy_set_header Host $http_host; }}
  }}
  server {{
    listen 127.0.0.1:{port} ssl; server_name api.test; default_type application/json;
    if ($api_ok = 0) {{ return 401 '{{"error":"who are you"}}'; }}
    location /v1/ {{ return 200 '{{"path":"$uri","method":"$request_method"}}'; }}
    location / {{ return 404; }}
  }}
}}
"""


class GitHost:
    """nginx with TLS in front of git http-backend, and a REST endpoint on another name."""

    def __init__(self, folder, cert, key, git_secret, api_secret):
        self.folder, self.processes = folder, []
        folder.mkdir()
        folder.chmod(0o755)
        with socket.socket() as s, socket.socket() as lfs:
            s.bind(("127.0.0.1", 0))
            lfs.bind(("127.0.0.1", 0))
            self.port, self.lfs_port = s.getsockname()[1], lfs.getsockname()[1]  # nobody serves LFS unless a test does
        hashed = run("openssl", "passwd", "-apr1", "-stdin", input=git_secret.encode()).decode().strip()
        (folder / "users").write_text(f"bot:{hashed}\n")
        user = pwd.getpwuid(os.geteuid()).pw_name
        (folder / "nginx.conf").write_text(NGINX.format(
            dir=folder, cert=cert, key=key, port=self.port, lfs_port=self.lfs_port, user=f"user {user};" if os.geteuid() == 0 else "",
            api="Bearer " + api_secret.replace("\\", "\\\\").replace("'", "\\'")))
        self.make_repository("acme/web")
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        fcgiwrap = shutil.which("fcgiwrap") or "/usr/sbin/fcgiwrap"
        log = open(folder / "out.log", "ab")
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
        for command in ([fcgiwrap, "-c", "1", "-s", f"unix:{folder}/fcgi.sock"], [nginx, "-c", str(folder / "nginx.conf")]):
            self.processes.append(subprocess.Popen(LEASH + command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env))
        log.close()
        self._wait()

    def _wait(self):
        pause = threading.Event()
        for _ in range(500):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0 and (self.folder / "fcgi.sock").exists():
                    return
            pause.wait(0.02)
        raise AssertionError("nginx does not start: " + (self.folder / "out.log").read_text())

    def bare(self, name):
        return self.folder / "repos" / (name + ".git")

    def git(self, name, *args):
        return run("git", "--git-dir", self.bare(name), *args).decode().strip()

    def make_repository(self, name):
        bare, work = self.bare(name), self.folder / "seed"
        run("git", "init", "-q", "--bare", "-b", "main", bare)
        run("git", "--git-dir", bare, "config", "http.receivepack", "true")
        run("git", "--git-dir", bare, "config", "receive.advertisePushOptions", "true")
        run("git", "init", "-q", "-b", "main", work)
        (work / "README.md").write_text("hello\n")
        run("git", "-C", work, "add", ".")
        run("git", "-C", work, "-c", "user.name=seed", "-c", "user.email=seed@git.test", "commit", "-qm", "first")
        run("git", "-C", work, "push", "-q", bare, "main")
        shutil.rmtree(work)

    def refs(self, name="acme/web"):
        lines = self.git(name, "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split() for line in lines)

    def access_log(self):
        return (self.folder / "access.log").read_text(errors="replace")

    def close(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(20)


class Exchange:
    """One request at the raw upstream."""

    def __init__(self, socket_, buffer):
        self.socket, self.buffer, self.body = socket_, bytearray(buffer), bytearray()
        self.whole = False  # the body was read to its end
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        self.head = self._take(self.buffer.index(b"\r\n\r\n"))
        del self.buffer[:4]
        lines = self.head.decode("latin-1").split("\r\n")
        self.method, self.target, _ = lines[0].split(" ", 2)
        self.path = urllib.parse.urlsplit(self.target).path
        self.headers = [tuple(part.strip() for part in line.split(":", 1)) for line in lines[1:]]

    def _more(self):
        data = self.socket.recv(65536)
        if not data:
            raise EOFError
        self.buffer += data

    def _take(self, size):
        part = bytes(self.buffer[:size])
        del self.buffer[:size]
        return part

    def get(self, name):
        return [v for k, v in self.headers if k.lower() == name]

    def read_body(self, limit=None):
        length = self.get("content-length")
        if length:
            left = int(length[0])
            while left and (limit is None or len(self.body) < limit):
                if not self.buffer:
                    self._more()
                part = self._take(left)
                self.body += part
                left -= len(part)
        elif "chunked" in "".join(self.get("transfer-encoding")).lower():
            while limit is None or len(self.body) < limit:
                while b"\r\n" not in self.buffer:
                    self._more()
                size = int(self._take(self.buffer.index(b"\r\n")).split(b";")[0], 16)
                del self.buffer[:2]
                while len(self.buffer) < size + 2:
                    self._more()
                self.body += self._take(size)
                del self.buffer[:2]
                if size == 0:
                    break
        self.whole = limit is None
        return self.body

    def send(self, data):
        self.socket.sendall(data)

    def gone(self, seconds=20):
        """Waits until the edge has closed this connection; what it sends until then is dropped."""
        self.socket.settimeout(seconds)
        try:
            while self.socket.recv(65536):
                pass
            return True
        except TimeoutError:
            return False
        except OSError:
            return True

    def reply(self, status, body=b"", headers=()):
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers)
        self.send(head.encode() + b"\r\n" + body)


def server_context(cert, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


def echo(exchange):
    exchange.read_body()
    body = json.dumps({"head": exchange.head.decode("latin-1"), "body": exchange.body.decode("latin-1")}).encode()
    exchange.reply("200 OK", body, [("Content-Type", "application/json")])


class RawUpstream:
    """TLS server in a thread, or a plain one without `cert`. `on[path] = function(exchange)` answers; without one the
    request is echoed. Returning False closes the connection, raising EOFError cuts it without close_notify.
    `contexts[name]` is the certificate for another server name; `names` are those that were asked for."""
    HOSTS = ("echo.test", "evil.test", "pinned.test", "late.test", "blob.test", "unlisted.test",
             "basic.test", "bearer.test", "custom.test", "query.test", "cookie.test", "free.test",
             "nul.test", "cn.test", "expired.test", "signed.test", "other.test", "a.wild.test", "wild.test")

    def __init__(self, cert=None, key=None, address="127.0.0.1", port=0):
        self.requests, self.on, self.connections, self.names, self.contexts = [], {}, 0, [], {}
        self.context = server_context(cert, key) if cert else None
        if cert:
            self.context.sni_callback = self._choose
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.create_server((address, port), family=family, backlog=512)
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _choose(self, secure, name, _):
        self.names.append(name)
        if name in self.contexts:
            secure.context = self.contexts[name]

    def _serve(self, connection):
        connection.settimeout(60)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # an answer leaves before a reset can drop it
        try:
            with self.context.wrap_socket(connection, server_side=True) if self.context else connection as secure:
                self.connections += 1
                buffer = b""
                while True:
                    exchange = Exchange(secure, buffer)
                    self.requests.append(exchange)
                    if self.on.get(exchange.path, echo)(exchange) is False:
                        if self.context:
                            secure.unwrap()  # a proper end: without close_notify it would be a cut
                        return
                    buffer = exchange.buffer
        except (OSError, EOFError, ValueError):
            connection.close()

    def seen(self, path):
        return [r for r in self.requests if r.path == path]

    def close(self):
        self.socket.close()
