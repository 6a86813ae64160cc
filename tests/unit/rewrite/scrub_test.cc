#include "rewrite/scrub.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "base/str.h"
#include "base/text.h"
#include "kit/status_matchers.h"

namespace credbroker::rewrite {
namespace {

using testing_kit::FailsWith;

std::string Mark(std::size_t size) { return std::string(size, kCover); }
constexpr std::string_view kToken = "ghs_Zk39/x+Qa<L&m7=PqR\"s8";

std::shared_ptr<const ScrubSet> SetOf(const std::vector<std::string>& secrets, const std::string& user = "") {
  std::vector<base::Secret> kept;
  for (const std::string& text : secrets) kept.push_back(base::Secret::Copy(text));
  std::vector<ScrubSecret> entries;
  for (const base::Secret& secret : kept) entries.push_back({&secret, user});
  auto set = ScrubSet::Make(entries);
  EXPECT_THAT(set, testing_kit::IsOk());
  return *set;
}

struct Scrubbed {
  std::string text;
  std::size_t hits = 0;
  bool operator==(const Scrubbed&) const = default;
};

Scrubbed InPieces(const std::shared_ptr<const ScrubSet>& set, std::string_view in, std::size_t first,
                  std::size_t rest) {
  Scrubber fed(set), filtered(set);
  Scrubbed by_feed, by_filter;
  std::string scratch;
  for (std::size_t at = 0, size = first; at < in.size(); at += size, size = at == 0 ? first : rest) {
    if (at > 0) size = rest;
    const std::string piece(in.substr(at, size));
    fed.Feed(piece, &by_feed.text);
    by_filter.text.append(filtered.Filter(piece, &scratch));
    EXPECT_LE(fed.held_bytes(), set->max_held());
  }
  fed.Finish(&by_feed.text);
  filtered.Finish(&by_filter.text);
  by_feed.hits = fed.hits();
  by_filter.hits = filtered.hits();
  EXPECT_EQ(by_feed, by_filter);
  return by_feed;
}

// B11: whole, byte by byte, cut at every place.
Scrubbed Scrub(const std::shared_ptr<const ScrubSet>& set, std::string_view in) {
  const Scrubbed whole = InPieces(set, in, std::max<std::size_t>(in.size(), 1), 1);
  EXPECT_EQ(InPieces(set, in, 1, 1), whole);
  for (std::size_t cut = 1; cut < in.size(); ++cut)
    EXPECT_EQ(InPieces(set, in, cut, in.size()), whole) << "cut at " << cut;
  return whole;
}

TEST(ScrubTest, RemovesTheSecretWhereverItIsCut) {
  const auto set = SetOf({std::string(kToken)});
  const Scrubbed result = Scrub(set, base::StrCat("before ", kToken, " between ", kToken, kToken, " after"));
  EXPECT_EQ(result.text, "before " + Mark(kToken.size()) + " between " + Mark(2 * kToken.size()) + " after");
  EXPECT_EQ(result.hits, 3u);
}

TEST(ScrubTest, LeavesOtherTextAlone) {
  const auto set = SetOf({std::string(kToken)});
  for (const std::string& text : {std::string(), std::string("g"), std::string("ghs_"),
                                  std::string("gghs_Zk3 and ghs_Zk3"), std::string(5000, 'g')}) {
    EXPECT_EQ(Scrub(set, text), (Scrubbed{text, 0})) << text;
  }
  EXPECT_EQ(Scrub(ScrubSet::Empty(), kToken), (Scrubbed{std::string(kToken), 0}));
}

TEST(ScrubTest, RemovesEveryEncodedForm) {
  const std::string token(kToken);
  const auto set = SetOf({token}, "x-access-token");
  const std::vector<std::string> forms = {base::HexEncode(token),
                                          "ghs_Zk39%2Fx%2BQa%3CL%26m7%3DPqR%22s8",
                                          "ghs_Zk39%2fx%2bQa%3cL%26m7%3dPqR%22s8",
                                          "ghs_Zk39/x+Qa<L&m7=PqR\\\"s8",
                                          "ghs_Zk39\\/x+Qa<L&m7=PqR\\\"s8",
                                          "ghs_Zk39/x+Qa\\u003cL\\u0026m7=PqR\\\"s8",
                                          "ghs_Zk39/x+Qa\\u003CL\\u0026m7=PqR\\\"s8",
                                          "ghs_Zk39/x+Qa&lt;L&amp;m7=PqR&quot;s8",
                                          base::Base64Encode("x-access-token:" + token)};
  for (const std::string& form : forms) {
    EXPECT_EQ(Scrub(set, "{" + form + "}"), (Scrubbed{"{" + Mark(form.size()) + "}", 1})) << form;
  }
}

// The digits that depend on the secret alone go, whatever stands around it in the encoded text.
TEST(ScrubTest, RemovesBase64AtEveryAlignment) {
  const std::string token(kToken);
  const auto set = SetOf({token});
  for (const std::string before : {"", "a", "ab", "abc", "user:", "some longer text "}) {
    for (const std::string after : {"", "z", "zy", "zyx"}) {
      for (const bool url : {false, true}) {
        const std::string all = before + token + after;
        const std::string encoded = url ? base::Base64UrlEncode(all) : base::Base64Encode(all);
        const Scrubbed result = Scrub(set, encoded);
        EXPECT_EQ(result.hits, 1u) << encoded;
        // At most one digit on each side of the mark may still hold bits of the secret.
        EXPECT_EQ(result.text.size(), encoded.size());
        EXPECT_GE(std::count(result.text.begin(), result.text.end(), kCover) + 2, token.size() * 4 / 3) << encoded;
      }
    }
  }
}

TEST(ScrubTest, RemovesTheLinesOfAKey) {
  const std::string key =
      "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49\r\nAwEHBG0wawIBAQQgvcfvGZ5Xl0Tf1234\n-----END "
      "PRIVATE KEY-----\n";
  const auto set = SetOf({key});
  EXPECT_EQ(Scrub(set, "a " + key + " b").text, "a " + Mark(key.size()) + " b");
  EXPECT_EQ(Scrub(set, "1: AwEHBG0wawIBAQQgvcfvGZ5Xl0Tf1234;").text, "1: " + Mark(32) + ";");
  EXPECT_EQ(Scrub(set, "-----BEGIN PRIVATE KEY-----\nother\n").hits, 0u);
  EXPECT_EQ(Scrub(set, "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49 | AwEHBG0wawIBAQQgvcfvGZ5Xl0Tf1234").hits, 2u);
}

TEST(ScrubTest, OverlapsAndNestedSecretsLeaveNothingBehind) {
  const auto overlap = SetOf({"abcdefgh12", "gh12345678"});
  EXPECT_EQ(Scrub(overlap, "<abcdefgh12345678>"), (Scrubbed{"<" + Mark(16) + ">", 1}));
  EXPECT_EQ(Scrub(overlap, "<gh12345678abcdefgh12>").hits, 2u);
  const auto nested = SetOf({"cdefgh", "abcdefghijkl"});
  EXPECT_EQ(Scrub(nested, "<abcdefghijkl>"), (Scrubbed{"<" + Mark(12) + ">", 1}));
  EXPECT_EQ(Scrub(nested, "<abcdefghijk>"), (Scrubbed{"<ab" + Mark(6) + "ijk>", 1}));
  const auto prefix = SetOf({"abcdef", "abcdefghijkl"});
  EXPECT_EQ(Scrub(prefix, "<abcdefghijkl>"), (Scrubbed{"<" + Mark(12) + ">", 1}));
  EXPECT_EQ(Scrub(prefix, "<abcdefghijX>"), (Scrubbed{"<" + Mark(6) + "ghijX>", 1}));
  const auto periodic = SetOf({"aaaaaaaa"});
  EXPECT_EQ(Scrub(periodic, "b" + std::string(30, 'a') + "b"), (Scrubbed{"b" + Mark(30) + "b", 1}));
}

TEST(ScrubTest, AnEndInTheMiddleShowsNoTellingPart) {
  const std::string token(kToken);
  const auto set = SetOf({token});
  EXPECT_EQ(Scrub(set, "x " + token.substr(0, token.size() - 1)).text, "x " + Mark(token.size() - 1));
  EXPECT_EQ(Scrub(set, "x " + token.substr(0, 8)).text, "x " + Mark(8));
  EXPECT_EQ(Scrub(set, "x " + token.substr(0, 7)).text, "x " + token.substr(0, 7));
}

TEST(ScrubTest, HoldsBackOnlyWhatMayBeASecret) {
  Scrubber scrubber(SetOf({std::string(kToken)}));
  std::string scratch;
  const std::string plain = "data: an event\n\n";
  EXPECT_EQ(scrubber.Filter(plain, &scratch).data(), plain.data());
  EXPECT_EQ(scrubber.held_bytes(), 0u);
  const std::string doubt = "data: ghs_";
  EXPECT_EQ(scrubber.Filter(doubt, &scratch), "data: ");
  EXPECT_EQ(scrubber.held_bytes(), 4u);
  EXPECT_EQ(scrubber.Filter("other", &scratch), "ghs_other");
  EXPECT_EQ(scrubber.held_bytes(), 0u);
}

TEST(ScrubTest, SafePrefixStopsAtTheFirstDoubt) {
  const std::string token(kToken);
  const auto set = SetOf({token});
  EXPECT_EQ(set->SafePrefix("nothing here"), 12u);
  EXPECT_EQ(set->SafePrefix("ab" + token + "cd"), 2u);
  EXPECT_EQ(set->SafePrefix("ab" + token.substr(0, 9)), 2u);
  EXPECT_EQ(set->SafePrefix(""), 0u);
  EXPECT_EQ(ScrubSet::Empty()->SafePrefix(token), token.size());
}

TEST(ScrubTest, RefusesSecretsThatCannotBeLookedFor) {
  const base::Secret shorter = base::Secret::Copy("abc");
  const base::Secret longer = base::Secret::Copy(std::string(64 * 1024 + 1, 'a'));
  EXPECT_THAT(ScrubSet::Make({{&shorter, ""}}), FailsWith(base::ErrorCode::kSecretInvalid));
  EXPECT_THAT(ScrubSet::Make({{&longer, ""}}), FailsWith(base::ErrorCode::kSecretInvalid));
}

TEST(ScrubTest, FindsSecretsOfEveryLengthAndUpTo4000Bytes) {
  std::mt19937 random(7);
  for (const std::size_t size : {4, 5, 6, 8, 12, 40, 255, 256, 257, 300, 520, 1000, 4000}) {
    std::string secret;
    for (std::size_t i = 0; i < size; ++i)
      secret.push_back("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"[random() % 64]);
    const auto set = SetOf({secret});
    for (const std::size_t piece : {1, 7, 64, 100000}) {
      const Scrubbed result = InPieces(set, std::string(1000, '.') + secret + std::string(1000, '.'), piece, piece);
      EXPECT_EQ(result.text, std::string(1000, '.') + Mark(size) + std::string(1000, '.'))
          << size << " in pieces of " << piece;
    }
  }
}

// Against the plainest possible search, over an alphabet that makes near misses and overlaps common.
TEST(ScrubTest, AgreesWithANaiveSearch) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> secrets;
    for (int i = 0; i < 2; ++i) {
      std::string secret;
      for (std::size_t size = 4 + random() % 3; secret.size() < size;) secret.push_back("ab"[random() % 2]);
      secrets.push_back(secret);
    }
    const auto set = SetOf(secrets);
    std::string text;
    for (int i = 0; i < 60; ++i) text.push_back("ab"[random() % 2]);
    text += "...";
    std::vector<bool> covered(text.size(), false);
    for (const std::string& secret : secrets) {
      for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at + 1)) {
        std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(at), secret.size(), true);
      }
    }
    std::string expected = text;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (covered[i]) expected[i] = kCover;
    }
    EXPECT_EQ(Scrub(set, text).text, expected) << text << " without " << secrets[0] << " and " << secrets[1];
  }
}

// Long texts go another way than short ones and than the last bytes of a text.
TEST(ScrubTest, FindsANeedleAtEveryPlaceOfALongText) {
  const std::string secret = "s3cr3t-value";
  const auto set = SetOf({secret, "other-secret-of-the-set"});
  for (std::size_t size = secret.size(); size < 140; ++size) {
    for (std::size_t at = 0; at + secret.size() <= size; ++at) {
      std::string text(size, 's');  // the first byte of the needle everywhere
      text.replace(at, secret.size(), secret);
      const ScrubSet::Match match = set->Find(text, 0);
      ASSERT_EQ(match.start, at) << size;
      ASSERT_EQ(match.length, secret.size());
      ASSERT_EQ(set->Find(text, at + 1).start, std::string::npos);
    }
  }
}

TEST(ScrubTest, FindAgreesWithANaiveSearchOnLongTexts) {
  std::mt19937 random(12);
  constexpr std::string_view kAlphabet = "abcde01%=";
  for (int round = 0; round < 400; ++round) {
    std::vector<std::string> secrets(1 + random() % 4);
    for (std::string& secret : secrets) {
      for (std::size_t size = 4 + random() % 6; secret.size() < size;) secret.push_back(kAlphabet[random() % kAlphabet.size()]);
    }
    const auto set = SetOf(secrets);
    std::string text;
    for (std::size_t size = random() % 900; text.size() < size;) text.push_back(kAlphabet[random() % kAlphabet.size()]);
    if (!text.empty() && random() % 2 == 0) text.insert(random() % text.size(), secrets[0]);
    std::size_t first = std::string::npos;
    for (const std::string& secret : secrets) first = std::min(first, text.find(secret));
    // Encoded forms may be found before it, never after.
    ASSERT_LE(set->Find(text, 0).start, first) << text;
    const ScrubSet::Match match = set->Find(text, 0);
    if (match.start == std::string::npos) continue;
    ASSERT_EQ(set->Find(std::string_view(text).substr(match.start, match.length), 0).start, 0u);
  }
}

}  // namespace
}  // namespace credbroker::rewrite
