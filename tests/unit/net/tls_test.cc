#include "net/tls.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tls_fixture.h"

namespace credbroker::net {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;

TEST_F(TlsTest, BytesPassBothWaysAndTheNameIsKnown) {
  StreamPair pair(loop_);
  const Ended ended = Shake(pair, server_);
  EXPECT_EQ(ended.server, Io::kOk) << pair.b->tls_error();
  EXPECT_EQ(ended.client, Io::kOk) << pair.a->tls_error();
  EXPECT_EQ(pair.b->server_name(), "ok.test");
  Answer(pair, "HTTP/1.1 200 OK\r\n\r\n" + std::string(70'000, 'b'));
  EXPECT_EQ(pair.a->Write("GET / HTTP/1.1\r\n", std::string(20'000, 'x')), Io::kOk);
  pair.a->FinishWrites();
  Received received;
  loop_.Spawn(ReadInto(pair.b.get(), 100'000, &received));
  ASSERT_TRUE(RunAll(loop_));
  EXPECT_EQ(received.bytes, "GET / HTTP/1.1\r\n" + std::string(20'000, 'x'));
  EXPECT_EQ(received.end, Io::kEof);
}

TEST_F(TlsTest, AnEndWithoutCloseNotifyIsTruncation) {
  StreamPair pair(loop_);
  Shake(pair, server_);
  Answer(pair, "part");
  pair.b.reset();
  Received received;
  loop_.Spawn(ReadInto(pair.a.get(), 10, &received));
  ASSERT_TRUE(RunAll(loop_));
  EXPECT_EQ(received.end, Io::kTruncated);
}

TEST_F(TlsTest, CertificatesThatDoNotVerifyFail) {  // B67
  const TestCertificate stranger({.common_name = "other root", .ca = true});
  const TestCertificate nul({.dns = {std::string("ok.test\0.evil.test", 18)}, .issuer = &root_});
  const TestCertificate cn_only({.common_name = "ok.test", .issuer = &root_});
  const TestCertificate cn_beside_other({.common_name = "ok.test", .dns = {"other.test"}, .issuer = &root_});
  const TestCertificate expired({.dns = {"ok.test"}, .starts_in = -7200, .ends_in = -60, .issuer = &root_});
  const TestCertificate early({.dns = {"ok.test"}, .starts_in = 3600, .ends_in = 7200, .issuer = &root_});
  const TestCertificate self_signed({.dns = {"ok.test"}});
  const TestCertificate unknown({.dns = {"ok.test"}, .issuer = &stranger});
  const TestCertificate other(
      {.dns = {"other.test", "www.ok.test", "xok.test", "ok.test.evil.test"}, .issuer = &root_});
  const TestCertificate partial({.dns = {"o*.test", "*k.test"}, .issuer = &root_});
  const TestCertificate all_of_test({.dns = {"*"}, .issuer = &root_});
  const TestCertificate not_a_ca({.common_name = "leaf as CA", .dns = {"x.test"}, .issuer = &root_});
  const TestCertificate by_leaf({.dns = {"ok.test"}, .issuer = &not_a_ca});
  const struct {
    const char* what;
    const TestCertificate* certificate;
  } table[] = {
      {"NUL in the name", &nul},       {"common name only", &cn_only}, {"common name beside SAN", &cn_beside_other},
      {"expired", &expired},           {"not yet valid", &early},      {"self-signed", &self_signed},
      {"unknown root", &unknown},      {"other names", &other},        {"partial wildcard", &partial},
      {"bare wildcard", &all_of_test}, {"issued by a leaf", &by_leaf}};
  for (const auto& row : table) {
    StreamPair pair(loop_);
    const Ended ended = Shake(pair, ServerFor(*row.certificate));
    EXPECT_EQ(ended.client, Io::kTls) << row.what;
    EXPECT_NE(ended.server, Io::kOk) << row.what;
    EXPECT_NE(pair.a->tls_error().find("certificate"), std::string::npos) << row.what << ": " << pair.a->tls_error();
    EXPECT_NE(pair.a->Write("secret"), Io::kOk) << row.what;  // nothing can be sent afterwards
    char byte;
    EXPECT_NE(pair.a->Read({&byte, 1}).io, Io::kOk);
    ASSERT_TRUE(RunAll(loop_));
  }
}

TEST_F(TlsTest, WholeLabelWildcardsAndAddressesVerify) {
  const TestCertificate wild({.dns = {"*.ok.test"}, .issuer = &root_});
  const TestCertificate ip({.ip = {"192.0.2.10", "2001:db8::10"}, .issuer = &root_});
  const TestCertificate ip_as_dns({.dns = {"192.0.2.10"}, .issuer = &root_});
  const struct {
    const TestCertificate* certificate;
    const char* host;
    Io expected;
  } table[] = {{&wild, "a.ok.test", Io::kOk},        {&wild, "a.b.ok.test", Io::kTls}, {&wild, "ok.test", Io::kTls},
               {&ip, "192.0.2.10", Io::kOk},         {&ip, "2001:db8::10", Io::kOk},   {&ip, "192.0.2.11", Io::kTls},
               {&ip_as_dns, "192.0.2.10", Io::kTls}, {&leaf_, "OK.test", Io::kOk},     {&leaf_, "", Io::kTls}};
  for (const auto& row : table) {
    StreamPair pair(loop_);
    Ended ended;
    loop_.Spawn(Serve(pair.b.get(), ServerFor(*row.certificate), &ended.server));
    loop_.Spawn(Connect(pair.a.get(), client_, row.host, &ended.client));
    ASSERT_TRUE(RunUntil(loop_, [&] { return ended.client != Io::kAgain; }));
    EXPECT_EQ(ended.client, row.expected) << row.host << " " << pair.a->tls_error();
    pair.a.reset();
    ASSERT_TRUE(RunAll(loop_));
  }
}

TEST_F(TlsTest, SessionsResumePerHostAndNeverAcross) {
  for (const bool expected : {false, true, true}) {
    StreamPair pair(loop_);
    const Ended ended = Shake(pair, server_);
    ASSERT_EQ(ended.client, Io::kOk);
    EXPECT_EQ(pair.a->resumed(), expected);
    EXPECT_EQ(pair.b->resumed(), expected);
    Answer(pair, "ok");
  }
  const TestCertificate both({.dns = {"ok.test", "also.test"}, .issuer = &root_});
  StreamPair pair(loop_);
  const Ended ended = Shake(pair, ServerFor(both), "also.test");
  ASSERT_EQ(ended.client, Io::kOk);
  EXPECT_FALSE(pair.a->resumed());
}

TEST_F(TlsTest, AClientHelloInThePacketOfTheConnectIsUsed) {  // B45
  StreamPair pair(loop_);
  RawClient raw;
  raw.Step();
  pair.a->Write("CONNECT ok.test:443 HTTP/1.1\r\n\r\n" + raw.TakeOutput());
  loop_.RunOnce(absl::ZeroDuration());
  Io server = Io::kAgain;
  auto accept = [](Stream* stream, std::shared_ptr<const TlsServerContext> context, Io* out) -> base::Task<void> {
    co_await stream->Readable(Soon(stream->loop()));
    while (stream->Fill(16384).io == Io::kOk) {
    }
    stream->Consume(stream->buffered().find("\r\n\r\n") + 4);
    EXPECT_FALSE(stream->buffered().empty());
    *out = co_await stream->StartTlsServer(context, Soon(stream->loop()));
  };
  bool done = false;
  loop_.Spawn(accept(pair.b.get(), server_, &server));
  loop_.Spawn(raw.Handshake(pair.a.get(), &done));
  ASSERT_TRUE(RunAll(loop_));
  EXPECT_TRUE(done);
  EXPECT_EQ(server, Io::kOk);
  EXPECT_EQ(SSL_CIPHER_get_name(SSL_get_current_cipher(raw.ssl())), std::string("TLS_AES_128_GCM_SHA256"));
}

TEST_F(TlsTest, TicketLeavesWithTheFirstAnswerOnly) {
  StreamPair pair(loop_);
  RawClient raw;
  bool done = false;
  Io server = Io::kAgain;
  loop_.Spawn(Serve(pair.b.get(), server_, &server));
  loop_.Spawn(raw.Handshake(pair.a.get(), &done));
  ASSERT_TRUE(RunAll(loop_));
  ASSERT_EQ(server, Io::kOk);
  EXPECT_EQ(pair.a->Fill(16384).io, Io::kAgain);  // nothing came behind the handshake
  Io io = Io::kAgain;
  loop_.Spawn(WriteFrom(pair.b.get(), "answer", &io));
  ASSERT_TRUE(RunAll(loop_));
  ASSERT_TRUE(RunUntil(loop_, [&] { return pair.a->Fill(16384).io == Io::kOk; }));
  raw.Give(pair.a->buffered());
  char text[16];
  ASSERT_EQ(SSL_read(raw.ssl(), text, sizeof text), 6);
  EXPECT_EQ(std::string(text, 6), "answer");
  EXPECT_EQ(SSL_SESSION_has_ticket(SSL_get_session(raw.ssl())), 1);
}

TEST_F(TlsTest, OldVersionsAndOtherProtocolsAreRefused) {
  const struct {
    const char* alpn;
    int max_version;
    bool expected;
  } table[] = {{"\x08http/1.1", 0, true},
               {"\x02h2\x08http/1.1", 0, true},
               {"\x02h2", 0, false},
               {nullptr, TLS1_2_VERSION, true},
               {nullptr, TLS1_1_VERSION, false}};
  for (const auto& row : table) {
    StreamPair pair(loop_);
    RawClient raw(row.alpn, row.max_version);
    bool done = false;
    Io server = Io::kAgain;
    loop_.Spawn(Serve(pair.b.get(), server_, &server));
    loop_.Spawn(raw.Handshake(pair.a.get(), &done));
    ASSERT_TRUE(RunUntil(loop_, [&] { return server != Io::kAgain; }));
    EXPECT_EQ(server == Io::kOk, row.expected) << row.max_version;
    if (row.expected && row.alpn != nullptr) {
      const unsigned char* chosen = nullptr;
      unsigned size = 0;
      ASSERT_TRUE(RunAll(loop_));
      SSL_get0_alpn_selected(raw.ssl(), &chosen, &size);
      EXPECT_EQ(std::string(reinterpret_cast<const char*>(chosen), size), "http/1.1");
    }
    pair.a.reset();
    pair.b.reset();
    ASSERT_TRUE(RunAll(loop_));
  }
}

TEST_F(TlsTest, BytesThatAreNotTlsFail) {
  StreamPair pair(loop_);
  Io server = Io::kAgain;
  pair.a->Write("GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n");
  loop_.Spawn(Serve(pair.b.get(), server_, &server));
  ASSERT_TRUE(RunUntil(loop_, [&] { return server != Io::kAgain; }));
  EXPECT_EQ(server, Io::kTls);
  EXPECT_FALSE(pair.b->tls_error().empty());
  pair.a.reset();
  ASSERT_TRUE(RunAll(loop_));
}

TEST_F(TlsTest, BytesBeforeTheServersTlsAreRefused) {
  StreamPair pair(loop_);
  pair.b->Write("220 ready\r\n");
  ASSERT_TRUE(RunUntil(loop_, [&] { return pair.a->Fill(100).io == Io::kOk; }));
  Io client = Io::kAgain;
  loop_.Spawn(Connect(pair.a.get(), client_, "ok.test", &client));
  EXPECT_EQ(client, Io::kTls);
  pair.b.reset();
  ASSERT_TRUE(RunAll(loop_));
}

TEST_F(TlsTest, AHandshakeThatStallsEndsAtItsDeadline) {
  base::FakeClock clock;
  Loop loop(clock);
  StreamPair pair(loop);
  Io server = Io::kAgain;
  auto serve = [](Stream* stream, std::shared_ptr<const TlsServerContext> context, Io* out) -> base::Task<void> {
    *out = co_await stream->StartTlsServer(context, stream->loop().After(absl::Seconds(10)));
  };
  pair.a->Write("\x16\x03\x01");
  loop.Spawn(serve(pair.b.get(), server_, &server));
  loop.RunOnce(absl::ZeroDuration());
  EXPECT_EQ(server, Io::kAgain);
  clock.Advance(absl::Seconds(11));
  loop.RunOnce(absl::ZeroDuration());
  EXPECT_EQ(server, Io::kTimeout);
}

TEST_F(TlsTest, AnAbortInTheHandshakeEndsIt) {
  StreamPair pair(loop_);
  Io server = Io::kAgain;
  auto serve = [](Stream* stream, std::shared_ptr<const TlsServerContext> context, Io* out) -> base::Task<void> {
    *out = co_await stream->StartTlsServer(context, Soon(stream->loop()));
  };
  loop_.Spawn(serve(pair.b.get(), server_, &server));
  pair.b->Abort();
  ASSERT_TRUE(RunAll(loop_));
  EXPECT_EQ(server, Io::kAborted);
}

TEST_F(TlsTest, BadContextsDoNotLoad) {
  EXPECT_THAT(TlsServerContext::Create("not a certificate", leaf_.KeyPem()), FailsWith(ErrorCode::kConfigInvalid));
  EXPECT_THAT(TlsServerContext::Create(leaf_.Pem(), root_.KeyPem()), FailsWith(ErrorCode::kConfigInvalid));
  EXPECT_THAT(TlsKey::Load(base::Secret::Copy("no key")), FailsWith(ErrorCode::kConfigInvalid));
  TlsClientContext::Options options;
  options.extra_roots_pem = "no certificate";
  EXPECT_THAT(TlsClientContext::Create(options), FailsWith(ErrorCode::kConfigInvalid));
}

TEST_F(TlsTest, LeafCacheDropsTheLeastRecentlyUsedAndTheExpired) {
  LeafCache cache(2);
  const absl::Time now = absl::FromUnixSeconds(1'000);
  cache.Insert("a.test", server_, now + absl::Seconds(10));
  cache.Insert("b.test", server_, now + absl::Seconds(100));
  EXPECT_NE(cache.Find("a.test", now), nullptr);
  cache.Insert("c.test", server_, now + absl::Seconds(100));
  EXPECT_EQ(cache.Find("b.test", now), nullptr);
  EXPECT_NE(cache.Find("a.test", now), nullptr);
  EXPECT_EQ(cache.Find("a.test", now + absl::Seconds(10)), nullptr);
  EXPECT_EQ(cache.size(), 1u);
}

}  // namespace
}  // namespace credbroker::net
