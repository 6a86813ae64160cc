#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/str.h"
#include "net/io_buffers.h"
#include "net/stream.h"
#include "net/tls_native.h"

namespace credbroker::net {
namespace {

// Only a left-over error needs the walk through the thread's whole queue that ERR_clear_error makes.
void ClearErrors() {
  if (ERR_peek_error() != 0) ERR_clear_error();
}

}  // namespace

// OpenSSL's side of the socket: reads come out of the loop's receive buffer, writes go to its send buffer. Neither
// waits, neither resumes a coroutine.
struct Stream::TlsBio {
  static Stream* Of(BIO* bio) { return static_cast<Stream*>(BIO_get_data(bio)); }

  static int Read(BIO* bio, char* out, int size) {
    BIO_clear_retry_flags(bio);
    Stream* const stream = Of(bio);
    const std::size_t got = stream->ReadCipher(out, static_cast<std::size_t>(size));
    if (got > 0) return static_cast<int>(got);
    if (stream->eof_) return 0;
    if (stream->read_end_ == Io::kOk) BIO_set_retry_read(bio);
    return -1;
  }

  static int Write(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    Of(bio)->Emit(bytes, static_cast<std::size_t>(size));
    return size;
  }

  static long Control(BIO* bio, int command, long, void*) {
    if (command == BIO_CTRL_EOF) return Of(bio)->eof_ ? 1 : 0;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
  }

  static const BIO_METHOD* Method() {
    static BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "credbroker stream");
      BIO_meth_set_read(made, Read);
      BIO_meth_set_write(made, Write);
      BIO_meth_set_ctrl(made, Control);
      return made;
    }();
    return method;
  }

  static bool Attach(Stream* stream, SSL* ssl) {
    BIO* const bio = BIO_new(Method());
    if (bio == nullptr) return false;
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, stream);
    return true;
  }

  static int OnNewSession(SSL* ssl, SSL_SESSION* session) {
    const auto* stream = static_cast<const Stream*>(SSL_get_app_data(ssl));
    if (stream == nullptr || stream->client_context_ == nullptr || stream->tls_failed_) return 0;
    stream->client_context_->sessions().Put(stream->session_key_, session);
    return 1;
  }
};

namespace {

// Strict host verification: SAN only, whole labels only.
bool VerifyHost(SSL* ssl, const std::string& host) {
  X509_VERIFY_PARAM* const param = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  if (IpAddress::Parse(host).ok()) return X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) == 1;
  if (host.empty() || host.find('\0') != std::string::npos) return false;
  return X509_VERIFY_PARAM_set1_host(param, host.data(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

}  // namespace

void Stream::KeepSessions(SSL_CTX* ctx) { SSL_CTX_sess_set_new_cb(ctx, TlsBio::OnNewSession); }

std::size_t Stream::ReadCipher(char* out, std::size_t size) {
  if (!stash_.empty()) return TakeStash(out, size);
  IoBuffers& shared = loop_.buffers();
  if (const std::size_t taken = shared.TakeReceived(this, out, size); taken > 0) return taken;
  if (!socket_readable_) {  // do not disturb what another stream has in the buffer
    starved_ = true;
    return 0;
  }
  char* const buffer = shared.ClaimReceive(this);
  const std::size_t got = Receive(buffer, IoBuffers::kReceiveBytes);
  if (got == 0) return 0;
  shared.SetReceived(got);
  return shared.TakeReceived(this, out, size);
}

IoResult Stream::ReceiveTls(std::span<char> into) {
  if (read_end_ != Io::kOk) return {read_end_};
  if (!tls_done_) return {Io::kTls};
  if (starved_) return {Io::kAgain};  // OpenSSL would take half a microsecond to say the same
  std::size_t total = 0;
  while (total < into.size()) {
    ClearErrors();
    std::size_t got = 0;
    if (SSL_read_ex(ssl_, into.data() + total, into.size() - total, &got) != 1) {
      const int error = SSL_get_error(ssl_, 0);
      if (error != SSL_ERROR_WANT_READ) read_end_ = TlsFailure(error);
      break;
    }
    total += got;
    const bool more = SSL_pending(ssl_) > 0 || !stash_.empty() || loop_.buffers().HasReceived(this) || socket_readable_;
    if (!more) {
      starved_ = true;
      break;
    }
  }
  if (total > 0) return {Io::kOk, total};
  return {read_end_ != Io::kOk ? read_end_ : Io::kAgain};
}

Io Stream::WriteTls(std::string_view bytes) {
  if (tls_failed_ || !tls_done_) return Io::kTls;
  ClearErrors();
  std::size_t written = 0;
  if (SSL_write_ex(ssl_, bytes.data(), bytes.size(), &written) != 1) return TlsFailure(SSL_get_error(ssl_, 0));
  return send_failed_ ? Io::kReset : Io::kOk;
}

Io Stream::TlsFailure(int ssl_error) {
  if (ssl_error == SSL_ERROR_ZERO_RETURN) return Io::kEof;
  tls_failed_ = true;
  if (aborted_) return Io::kAborted;
  if (eof_) {
    ClearErrors();
    return Io::kTruncated;
  }
  if (read_end_ == Io::kReset) {
    ClearErrors();
    return Io::kReset;
  }
  NoteTlsError(TakeOpensslErrors());
  return Io::kTls;
}

void Stream::NoteTlsError(std::string_view reason) {
  const long verify = ssl_ == nullptr ? X509_V_OK : SSL_get_verify_result(ssl_);
  if (client_context_ != nullptr && verify != X509_V_OK) {
    tls_error_ = base::StrCat("certificate: ", std::string_view(X509_verify_cert_error_string(verify)));
    return;
  }
  tls_error_ = std::string(reason);
}

Io Stream::BeginTls(SSL* ssl) {
  ssl_ = ssl;
  // A ClientHello may have come in the packet of what was read before it.
  stash_.assign(buffered());
  ReleaseInput();
  starved_ = false;
  if (TlsBio::Attach(this, ssl_)) return Io::kOk;
  NoteTlsError("no memory");
  return Io::kTls;
}

base::Task<Io> Stream::StartTlsServer(std::shared_ptr<const TlsServerContext> context, Deadline deadline) {
  if (aborted_) co_return Io::kAborted;
  SSL* const ssl = ssl_ == nullptr ? SSL_new(context->native()) : nullptr;
  if (ssl == nullptr) co_return Io::kTls;
  server_context_ = std::move(context);
  const Io begun = BeginTls(ssl);
  if (begun != Io::kOk) co_return begun;
  SSL_set_accept_state(ssl_);
  const Io io = co_await Handshake(deadline);
  co_return io;
}

base::Task<Io> Stream::StartTlsClient(std::shared_ptr<const TlsClientContext> context, std::string host, uint16_t port,
                                      Deadline deadline) {
  if (aborted_) co_return Io::kAborted;
  if (!buffered().empty()) {
    tls_error_ = "the server sent bytes before TLS";
    co_return Io::kTls;
  }
  SSL* const ssl = ssl_ == nullptr ? SSL_new(context->native()) : nullptr;
  if (ssl == nullptr) co_return Io::kTls;
  client_context_ = std::move(context);
  session_key_ = base::StrCat(host, ":", port);
  const Io begun = BeginTls(ssl);
  if (begun != Io::kOk) co_return begun;
  if (!VerifyHost(ssl_, host)) {
    tls_error_ = "the host name cannot be verified";
    co_return Io::kTls;
  }
  if (SSL_SESSION* session = client_context_->sessions().Get(session_key_); session != nullptr) {
    SSL_set_session(ssl_, session);
    SSL_SESSION_free(session);
  }
  SSL_set_connect_state(ssl_);
  const Io io = co_await Handshake(deadline);
  co_return io;
}

base::Task<Io> Stream::Handshake(Deadline deadline) {
  loop_.buffers().NoteHandshake();
  while (true) {
    if (aborted_) co_return Io::kAborted;
    SendShared();
    ClearErrors();
    if (SSL_do_handshake(ssl_) == 1) break;
    const int error = SSL_get_error(ssl_, 0);
    if (error != SSL_ERROR_WANT_READ) {
      const Io failure = TlsFailure(error);
      read_end_ = failure == Io::kEof ? Io::kTruncated : failure;
      SendShared();  // the alert tells the peer why
      co_return read_end_;
    }
    if (send_failed_) co_return Io::kReset;
    const Io io = co_await Readable(deadline);
    if (io != Io::kOk) co_return io;
  }
  // Belt and braces: the handshake itself fails on a bad certificate.
  const bool verified = client_context_ == nullptr ||
                        (SSL_get_verify_result(ssl_) == X509_V_OK && SSL_get0_peer_certificate(ssl_) != nullptr);
  if (!verified) {
    tls_failed_ = true;
    NoteTlsError("certificate: not verified");
    co_return Io::kTls;
  }
  tls_done_ = true;
  HoldTickets();
  co_return Io::kOk;
}

// TLS 1.3: all that the server writes in the call that ends its handshake are session tickets. They leave with the
// first answer instead of in a packet of their own (7 % of a handshake's cost).
void Stream::HoldTickets() {
  const bool only_tickets = SSL_is_server(ssl_) == 1 && SSL_version(ssl_) == TLS1_3_VERSION && out_.empty();
  if (!only_tickets || piece_.size == 0) return;
  held_ = loop_.buffers().View(piece_);
  loop_.buffers().Release(&piece_);
}

std::string Stream::server_name() const {
  const char* const name = ssl_ == nullptr ? nullptr : SSL_get_servername(ssl_, TLSEXT_NAMETYPE_host_name);
  return name == nullptr ? std::string() : std::string(name);
}

bool Stream::resumed() const { return ssl_ != nullptr && SSL_session_reused(ssl_) == 1; }

void Stream::SendCloseNotify() {
  // Useless to a peer that has closed, and OpenSSL forbids it after a failure.
  if (!tls_done_ || tls_failed_ || hung_up() || aborted_) return;
  ClearErrors();
  SSL_shutdown(ssl_);
}

void Stream::TrimTls() {
  if (ssl_ != nullptr && tls_done_) SSL_free_buffers(ssl_);
}

void Stream::FreeTls() {
  if (ssl_ == nullptr) return;
  // Otherwise OpenSSL takes a connection without close_notify for a reason to forget the session.
  if (!tls_failed_) SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
  SSL_set_app_data(ssl_, nullptr);
  SSL_free(ssl_);
  ssl_ = nullptr;
}

}  // namespace credbroker::net
