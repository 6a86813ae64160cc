#include "wire/client_hello.h"

#include <string>
#include <vector>

#include "cuts.h"
#include "kit/status_matchers.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using testing::ElementsAre;

std::string Number(std::size_t value, int width) {
  std::string out;
  for (int i = width - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}
std::string Vector(const std::string& body, int width) { return Number(body.size(), width) + body; }
std::string Extension(std::size_t type, const std::string& body) { return Number(type, 2) + Vector(body, 2); }
std::string Sni(const std::string& name, char type = 0) {
  return Extension(0, Vector(std::string(1, type) + Vector(name, 2), 2));
}
std::string Alpn(const std::string& list) { return Extension(16, Vector(list, 2)); }

std::string Handshake(const std::string& extensions) {
  const std::string body = "\x03\x03" + std::string(32, 'r') + Vector(std::string(32, 's'), 1) + Vector("\x13\x01", 2) +
                           Vector(std::string(1, '\0'), 1) + (extensions.empty() ? "" : Vector(extensions, 2));
  return "\x01" + Vector(body, 3);
}
std::string Record(const std::string& fragment) { return "\x16\x03\x01" + Vector(fragment, 2); }

ParseResult Parse(const std::string& bytes, ClientHello* out) {
  const ParseResult result = ParseAtEveryCut(bytes, [&](std::string_view part) { return ParseClientHello(part, out); });
  ParseClientHello(bytes, out);
  return result;
}

TEST(ClientHelloTest, ReadsNameProtocolsAndEch) {
  ClientHello hello;
  const std::string bytes = Record(Handshake(Extension(0x0a0a, "") + Sni("Pinned.Vendor.example") +
                                             Alpn("\x02h2\x08http/1.1") + Extension(0xfe0d, "x")));
  const ParseResult result = Parse(bytes + "more", &hello);
  ASSERT_TRUE(result.complete());
  EXPECT_EQ(result.consumed, bytes.size());
  EXPECT_EQ(hello.sni, "pinned.vendor.example");
  EXPECT_THAT(hello.alpn, ElementsAre("h2", "http/1.1"));
  EXPECT_TRUE(hello.has_ech);
}

TEST(ClientHelloTest, ReadsOneWithoutName) {
  ClientHello hello;
  ASSERT_TRUE(Parse(Record(Handshake("")), &hello).complete());
  EXPECT_EQ(hello.sni, std::nullopt);
  ASSERT_TRUE(Parse(Record(Handshake(Extension(23, ""))), &hello).complete());
  EXPECT_FALSE(hello.has_ech);
}

TEST(ClientHelloTest, JoinsRecordsCutAnywhere) {
  const std::string handshake = Handshake(Sni("a.test") + Alpn("\x02h2"));
  for (std::size_t cut = 1; cut < handshake.size(); ++cut) {
    ClientHello hello;
    ASSERT_TRUE(Parse(Record(handshake.substr(0, cut)) + Record(handshake.substr(cut)), &hello).complete()) << cut;
    EXPECT_EQ(hello.sni, "a.test");
  }
}

TEST(ClientHelloTest, OneFinalDotIsTheSameName) {  // B65, B71
  ClientHello hello;
  ASSERT_TRUE(Parse(Record(Handshake(Sni("A.Test."))), &hello).complete());
  EXPECT_EQ(hello.sni, "a.test");
}

TEST(ClientHelloTest, RefusesNamesThatAreNone) {
  for (const std::string& name :
       {std::string(), std::string("."), std::string("a.test.."), std::string(".a.test"), std::string("a..test"), std::string("192.0.2.1"),
        std::string("[::1]"), std::string("a.test:443"), std::string("a.test\0", 7), std::string("a b.test"),
        std::string("\xc3\xa4.test"), std::string(254, 'a'), std::string("a/b")}) {
    ClientHello hello;
    EXPECT_EQ(Parse(Record(Handshake(Sni(name))), &hello).error, ErrorCode::kBadHost) << name;
  }
}

TEST(ClientHelloTest, RefusesWhatIsBroken) {
  const std::string good = Handshake(Sni("a.test"));
  std::string long_length = good;
  long_length[1] = 1;  // 64 KiB and more
  const std::string name = std::string(1, '\0') + Vector("a.test", 2);
  const std::vector<std::string> cases = {"GET / HTTP/1.1\r\n",
                                          "\x17\x03\x01",
                                          "\x16\x02\x01",
                                          Record(""),
                                          Record("\x02" + good.substr(1)),
                                          Record(good + "x"),
                                          Record(long_length),
                                          "\x16\x03\x01\x40\x01",
                                          Record(Handshake(Sni("a.test") + Sni("a.test"))),
                                          Record(Handshake(Sni("a.test", 1))),
                                          Record(Handshake(Extension(0, Vector(name + name, 2)))),
                                          Record(Handshake(Extension(0, ""))),
                                          Record(Handshake(Alpn(""))),
                                          Record(Handshake(Alpn(std::string(1, '\0')))),
                                          Record(Handshake(Alpn("\x05h2"))),
                                          Record(Handshake(Extension(5, "x").substr(0, 4)))};
  for (const std::string& bytes : cases) {
    ClientHello hello;
    EXPECT_EQ(Parse(bytes, &hello).error, ErrorCode::kMalformedTls) << testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace credbroker::wire
