#include "edge/websocket.h"

#include <random>
#include <string>
#include <vector>

#include "kit/status_matchers.h"

namespace credbroker::edge {
namespace {

using namespace std::string_literals;

constexpr std::string_view kSecret = "s3cr3t-0123456789-abcdef";
enum class Last { kNo, kYes };

std::string Frame(int opcode, std::string_view payload, Last last = Last::kYes) {
  std::string out(1, static_cast<char>(opcode | (last == Last::kYes ? 0x80 : 0)));
  if (payload.size() < 126) {
    out += static_cast<char>(payload.size());
  } else {
    out += {126, static_cast<char>(payload.size() >> 8), static_cast<char>(payload.size() & 0xFF)};
  }
  return out.append(payload);
}

std::string Cover(std::size_t size) { return std::string(size, rewrite::kCover); }

// Made once: it takes milliseconds.
std::shared_ptr<const rewrite::ScrubSet> Set() {
  static const auto kSet = [] {
    const base::Secret secret = base::Secret::Copy(kSecret);
    return rewrite::ScrubSet::Make({{&secret, ""}});
  }();
  EXPECT_THAT(kSet, testing_kit::IsOk());
  return *kSet;
}

// A server whose bytes come in pieces; what was not taken is given again, as a stream's buffer does.
class Server {
 public:
  // What the client has seen when these bytes came and nothing more is at hand.
  std::string Says(std::string_view bytes) {
    std::string out = Sends(bytes);
    scrubber_.Pause(&out);
    return out;
  }
  // The same, with more at hand already.
  std::string Sends(std::string_view bytes) {
    std::string out;
    std::size_t consumed = 0;
    buffer_.append(bytes);
    good_ = scrubber_.Feed(buffer_, &consumed, &out);
    buffer_.erase(0, consumed);
    return out;
  }
  std::string Ends() {
    std::string out;
    scrubber_.Finish(&out);
    return out;
  }
  bool good() const { return good_; }

 private:
  FrameScrubber scrubber_{Set()};
  std::string buffer_;
  bool good_ = true;
};

TEST(FrameScrubberTest, CoversTheSecretWithinAMessage) {
  Server server;
  EXPECT_EQ(server.Says(Frame(1, "key is s3cr3t-0123456789-abcdef!")), Frame(1, "key is " + Cover(kSecret.size()) + "!"));
  EXPECT_EQ(server.Says(Frame(2, "nothing here")), Frame(2, "nothing here"));
  const std::string in_ping = Frame(9, kSecret), in_close = Frame(8, "\x03\xE8" + std::string(kSecret));
  EXPECT_EQ(server.Says(in_ping), Frame(9, Cover(kSecret.size())));
  EXPECT_EQ(server.Says(in_close), Frame(8, "\x03\xE8" + Cover(kSecret.size())));
}

TEST(FrameScrubberTest, CoversASecretThatIsSplitOverFragmentsAndMessages) {
  for (std::size_t at = 1; at < kSecret.size(); ++at) {
    const std::string_view first = kSecret.substr(0, at), second = kSecret.substr(at);
    Server fragments, messages;
    std::string out = fragments.Says(Frame(1, first, Last::kNo));
    out += fragments.Says(Frame(0, second));
    EXPECT_EQ(out, Frame(1, Cover(at), Last::kNo) + Frame(0, Cover(second.size()))) << at;
    out = messages.Sends(Frame(1, first) + Frame(1, second));
    EXPECT_EQ(out, Frame(1, Cover(at)) + Frame(1, Cover(second.size()))) << at;
  }
}

TEST(FrameScrubberTest, AWholeMessageIsNotHeldBack) {
  Server server;
  // Ends as the secret begins.
  EXPECT_EQ(server.Says(Frame(1, "this is s3c")), Frame(1, "this is s3c"));
  // And when it does go on, the rest is covered.
  EXPECT_EQ(server.Says(Frame(1, "r3t-0123456789-abcdef.")), Frame(1, Cover(kSecret.size() - 3) + "."));
  // A part that tells something is covered at once.
  EXPECT_EQ(server.Says(Frame(1, "s3cr3t-01")), Frame(1, Cover(9)));
  EXPECT_EQ(server.Says(Frame(1, "23456789-abcdef.")), Frame(1, Cover(kSecret.size() - 9) + "."));
  // Grown from a part that told nothing, without ever being whole.
  EXPECT_EQ(server.Says(Frame(1, "s3cr3")), Frame(1, "s3cr3"));
  EXPECT_EQ(server.Says(Frame(1, "t-012")), Frame(1, Cover(5)));
  EXPECT_EQ(server.Says(Frame(1, " and on")), Frame(1, " and on"));
}

TEST(FrameScrubberTest, WithinAMessageTheStartOfASecretWaits) {
  Server server;
  const std::string frame = Frame(1, "abc s3cr3t-0123456789-abcdef def");
  EXPECT_EQ(server.Says(frame.substr(0, 9)), frame.substr(0, 6));
  EXPECT_EQ(server.Says(frame.substr(9)), Cover(kSecret.size()) + " def");
  EXPECT_EQ(server.Says(Frame(1, "more s3", Last::kNo)), Frame(1, "more s3", Last::kNo).substr(0, 7));
  // A ping does not wait for the next fragment.
  EXPECT_EQ(server.Says(Frame(9, "p")), "s3" + Frame(9, "p"));
  EXPECT_EQ(server.Says(Frame(0, "cr3t-0123456789-abcdef")), Frame(0, Cover(kSecret.size() - 2)));
}

TEST(FrameScrubberTest, EmptyFragmentsBehindHeldBytesAreBounded) {
  Server server;
  std::string in = Frame(1, "s", Last::kNo), out = server.Sends(in);
  EXPECT_EQ(out.size(), 2u);
  for (int i = 0; i < 100000; ++i) {
    in += Frame(0, "", Last::kNo);
    out += server.Sends(Frame(0, "", Last::kNo));
    ASSERT_LE(in.size() - out.size(), FrameScrubber::kMaxWaiting + 16);
  }
  EXPECT_EQ(out + server.Ends(), in);
}

TEST(FrameScrubberTest, TheEndOfTheStreamGivesWhatIsHeldUnlessItTells) {
  Server little, much;
  EXPECT_EQ(little.Sends(Frame(1, "x s3c", Last::kNo)), Frame(1, "x s3c", Last::kNo).substr(0, 4));
  EXPECT_EQ(little.Ends(), "s3c");
  EXPECT_EQ(much.Sends(Frame(1, "x s3cr3t-012", Last::kNo)), Frame(1, "x s3cr3t-012", Last::kNo).substr(0, 4));
  EXPECT_EQ(much.Ends(), Cover(10));
}

TEST(FrameScrubberTest, StopsAtWhatIsNoFrame) {
  Server server;
  EXPECT_EQ(server.Says(Frame(1, "ok") + "\xC1\5hello"), Frame(1, "ok"));
  EXPECT_FALSE(server.good());
}

// Whatever is sent and however it is cut: the frames keep their places and lengths, and the secret is never whole.
TEST(FrameScrubberTest, KeepsFramesAndNeverShowsTheSecret) {
  std::mt19937 random(20261201);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 3000; ++round) {
    std::string text;  // all payloads
    while (text.size() < 120) text += below(3) == 0 ? std::string(kSecret) : std::string(kSecret.substr(0, below(12))) + std::string(below(9), 's');
    std::string in, shape;  // `shape` marks the bytes of headers and control frames
    bool open = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = std::min(below(30), text.size() - at);
      const Last last = below(2) == 0 ? Last::kYes : Last::kNo;
      const std::string frame = Frame(open ? 0 : 1, std::string_view(text).substr(at, size), last);
      in += frame;
      shape += frame.substr(0, 2) + std::string(size, '\0');
      at += size;
      open = last == Last::kNo;
      if (below(4) != 0) continue;
      in += Frame(9, "ping");
      shape += Frame(9, "ping");
    }
    Server server;
    std::string out;
    for (std::size_t at = 0; at < in.size();) {
      const std::size_t piece = below(40) + 1;
      out += below(2) == 0 ? server.Says(std::string_view(in).substr(at, piece)) : server.Sends(std::string_view(in).substr(at, piece));
      at += piece;
    }
    out += server.Ends();
    ASSERT_TRUE(server.good());
    ASSERT_EQ(out.size(), in.size());
    std::string payload;
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (shape[i] != '\0' || out[i] == in[i] || out[i] == rewrite::kCover) continue;
      ADD_FAILURE() << "byte " << i << " was changed";
    }
    for (std::size_t at = 0; at < in.size();) {  // all lengths are below 126
      const std::size_t size = static_cast<unsigned char>(in[at + 1]);
      ASSERT_EQ(out.substr(at, 2), in.substr(at, 2));
      if ((in[at] & 0x08) == 0) payload += out.substr(at + 2, size);
      at += 2 + size;
    }
    ASSERT_EQ(payload.find(kSecret), std::string::npos);
    ASSERT_EQ(payload.find(kSecret.substr(8)), std::string::npos) << "of a secret that was begun, the rest is covered";
  }
}

}  // namespace
}  // namespace credbroker::edge
