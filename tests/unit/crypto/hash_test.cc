#include "crypto/hash.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/text.h"
#include "crypto/random.h"
#include "vectors.h"

namespace credbroker::crypto {
namespace {

TEST(HashTest, Sha256MatchesFips180) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(HashTest, TwoPiecesEqualTheirConcatenation) {
  EXPECT_EQ(Sha256("ab", "c"), Sha256("abc"));
  EXPECT_EQ(Sha256("", "abc"), Sha256("abc"));
}

TEST(HashTest, StreamStartsAnewAfterFinish) {
  Sha256Stream stream;
  stream.Update("a");
  stream.Update("bc");
  EXPECT_EQ(stream.Finish(), Sha256("abc"));
  stream.Update("abc");
  Sha256Stream moved = std::move(stream);
  EXPECT_EQ(moved.Finish(), Sha256("abc"));
}

TEST(HashTest, ThreadsDoNotShareAContext) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      const std::string text(static_cast<std::size_t>(t) * 100 + 1, 'x');
      const Sha256Digest first = Sha256(text);
      for (int i = 0; i < 2000; ++i) wrong[static_cast<std::size_t>(t)] += Sha256(text) != first;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(HashTest, HmacMatchesWycheproof) {
  const auto vectors = ReadVectors("wycheproof/hmac_sha256_test.json");
  if (!vectors) return;
  for (const auto& group : (*vectors)["testGroups"]) {
    const std::size_t tag_size = group["tagSize"].get<std::size_t>() / 8;
    for (const auto& test : group["tests"]) {
      const Sha256Digest tag = HmacSha256(Unhex(test["key"]), Unhex(test["msg"]));
      const bool same = View(tag).substr(0, tag_size) == Unhex(test["tag"]);
      EXPECT_EQ(same, test["result"] == "valid") << test["tcId"];
    }
  }
}

TEST(HashTest, Blake2bMatchesRfc7693AndDependsOnItsKey) {
  EXPECT_EQ(base::HexEncode(Blake2b("abc", 64)),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc95"
            "18d38aa8dbf1925ab92386edd4009923");
  EXPECT_NE(Blake2b("abc", 32, "k1"), Blake2b("abc", 32, "k2"));
  EXPECT_EQ(Blake2b("abc", 33).size(), 33u);
}

TEST(HashTest, ConstantTimeComparison) {
  EXPECT_TRUE(EqualConstantTime("abc", "abc"));
  EXPECT_TRUE(EqualConstantTime("", ""));
  EXPECT_FALSE(EqualConstantTime("abc", "abd"));
  EXPECT_FALSE(EqualConstantTime("abc", "ab"));
}

TEST(RandomTest, BytesDiffer) {
  EXPECT_EQ(RandomBytes(32).size(), 32u);
  EXPECT_NE(RandomBytes(32), RandomBytes(32));
  EXPECT_EQ(RandomSecret(7).size(), 7u);
}

}  // namespace
}  // namespace credbroker::crypto
