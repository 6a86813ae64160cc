#pragma once

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "harness.h"
#include "kit/status_matchers.h"
#include "net/stream.h"
#include "net/tls.h"
#include "pki.h"

namespace credbroker::net {

using testing_kit::IsOk;

struct Ended {
  Io server = Io::kAgain;
  Io client = Io::kAgain;
};

inline base::Task<void> Serve(Stream* stream, std::shared_ptr<const TlsServerContext> context, Io* out) {
  *out = co_await stream->StartTlsServer(context, Soon(stream->loop()));
  if (*out != Io::kOk) co_await stream->Close(Soon(stream->loop()));
}
inline base::Task<void> Connect(Stream* stream, std::shared_ptr<const TlsClientContext> context, std::string host,
                                Io* out) {
  *out = co_await stream->StartTlsClient(context, host, 443, Soon(stream->loop()));
  if (*out != Io::kOk) co_await stream->Close(Soon(stream->loop()));
}
inline base::Task<void> ReadInto(Stream* stream, std::size_t size, Received* out) {
  *out = co_await ReadExactly(stream, size);
}
inline base::Task<void> WriteFrom(Stream* stream, std::string bytes, Io* out) {
  *out = co_await WriteAll(stream, bytes);
}

class TlsTest : public testing::Test {
 protected:
  TlsTest() : root_({.common_name = "root", .ca = true}), leaf_({.dns = {"ok.test"}, .issuer = &root_}) {
    server_ = ServerFor(leaf_);
    client_ = ClientTrusting(root_);
  }

  static std::shared_ptr<const TlsServerContext> ServerFor(const TestCertificate& certificate) {
    auto context = TlsServerContext::Create(certificate.Pem(), certificate.KeyPem());
    EXPECT_THAT(context, IsOk());
    return context.ok() ? *context : nullptr;
  }
  static std::shared_ptr<const TlsClientContext> ClientTrusting(const TestCertificate& root) {
    TlsClientContext::Options options;
    options.system_roots = false;
    options.extra_roots_pem = root.Pem();
    auto context = TlsClientContext::Create(options);
    EXPECT_THAT(context, IsOk());
    return context.ok() ? *context : nullptr;
  }

  Ended Shake(StreamPair& pair, std::shared_ptr<const TlsServerContext> server, const std::string& host = "ok.test") {
    Ended ended;
    loop_.Spawn(Serve(pair.b.get(), std::move(server), &ended.server));
    loop_.Spawn(Connect(pair.a.get(), client_, host, &ended.client));
    EXPECT_TRUE(RunUntil(loop_, [&] { return ended.server != Io::kAgain && ended.client != Io::kAgain; }));
    return ended;
  }

  // One answer from b to a, which also carries the session ticket.
  void Answer(StreamPair& pair, const std::string& text) {
    Received received;
    Io io = Io::kAgain;
    loop_.Spawn(ReadInto(pair.a.get(), text.size(), &received));
    loop_.Spawn(WriteFrom(pair.b.get(), text, &io));
    ASSERT_TRUE(RunAll(loop_));
    EXPECT_EQ(received.bytes, text);
    EXPECT_EQ(io, Io::kOk);
  }

  Loop loop_{base::SystemClock()};
  TestCertificate root_;
  TestCertificate leaf_;
  std::shared_ptr<const TlsServerContext> server_;
  std::shared_ptr<const TlsClientContext> client_;
};

// Another implementation of the client's side: OpenSSL on memory BIOs.
class RawClient {
 public:
  explicit RawClient(const char* alpn = nullptr, int max_version = 0) : ctx_(SSL_CTX_new(TLS_client_method())) {
    if (max_version != 0) SSL_CTX_set_max_proto_version(ctx_, max_version);
    ssl_ = SSL_new(ctx_);
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_, in_, out_);
    SSL_set_connect_state(ssl_);
    SSL_set_tlsext_host_name(ssl_, "ok.test");
    if (alpn != nullptr) {
      SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(alpn), static_cast<unsigned>(strlen(alpn)));
    }
  }
  ~RawClient() {
    SSL_free(ssl_);
    SSL_CTX_free(ctx_);
  }

  bool Step() { return SSL_do_handshake(ssl_) == 1; }
  std::string TakeOutput() {
    std::string bytes(BIO_ctrl_pending(out_), '\0');
    BIO_read(out_, bytes.data(), static_cast<int>(bytes.size()));
    return bytes;
  }
  void Give(std::string_view bytes) { BIO_write(in_, bytes.data(), static_cast<int>(bytes.size())); }
  SSL* ssl() { return ssl_; }

  // Carries bytes between this client and `wire` until the handshake is done or the wire ends.
  base::Task<void> Handshake(Stream* wire, bool* done) {
    while (true) {
      *done = Step();
      wire->Write(TakeOutput());
      if (*done) break;
      char block[4096];
      const IoResult read = wire->Read(block);
      if (read.io == Io::kOk) {
        Give({block, read.bytes});
        continue;
      }
      if (read.io != Io::kAgain) co_return;
      const Io io = co_await wire->Readable(Soon(wire->loop()));
      if (io != Io::kOk) co_return;
    }
    co_await wire->Flush(Soon(wire->loop()));
  }

 private:
  SSL_CTX* ctx_;
  SSL* ssl_;
  BIO* in_;
  BIO* out_;
};

}  // namespace credbroker::net
