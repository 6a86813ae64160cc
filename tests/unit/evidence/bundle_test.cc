#include "evidence/bundle.h"

#include "fixture.h"

namespace credbroker::evidence {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

std::string Bundle(std::vector<Part> parts) {
  std::string text = ManifestText("digest", &parts);
  return PackBundle(std::move(text), std::move(parts));
}

// S45: same input, same bytes.
TEST(BundleTest, TheSameInputGivesTheSameBytes) {
  ASSERT_OK_AND_ASSIGN(const Pack pack, MakePack(Fixture()));
  EXPECT_EQ(Bundle(AnswerParts(pack)), Bundle(AnswerParts(pack)));
  std::vector<Part> turned = AnswerParts(pack);
  std::reverse(turned.begin(), turned.end());
  EXPECT_EQ(Bundle(turned), Bundle(AnswerParts(pack))) << "the order in which parts were made is nobody's business";
}

TEST(BundleTest, ComesBackAsItWasAndNamesWhatWasChanged) {
  const std::vector<Part> parts = {{"a.txt", "one"}, {"b.txt", std::string(1000, 'b')}, {"c", ""}};
  ASSERT_OK_AND_ASSIGN(std::vector<Part> back, UnpackTar(Bundle(parts)));
  const std::string manifest = back.front().content;
  back.erase(back.begin());
  EXPECT_EQ(back, parts);
  EXPECT_THAT(CheckParts(manifest, back), IsOk());
  std::vector<Part> changed = back;
  changed[1].content[7] = 'x';
  EXPECT_THAT(CheckParts(manifest, changed), FailsWith(ErrorCode::kBundleInvalid));
  EXPECT_THAT(std::string(CheckParts(manifest, changed).message()), testing::HasSubstr("b.txt was changed"));
  changed = back;
  changed.erase(changed.begin());
  EXPECT_THAT(std::string(CheckParts(manifest, changed).message()), testing::HasSubstr("a.txt is missing"));
  changed = back;
  changed.push_back({"d", "more"});
  EXPECT_THAT(std::string(CheckParts(manifest, changed).message()), testing::HasSubstr("d is not in the manifest"));
}

// Every flipped byte and every cut is found.
TEST(BundleTest, NothingHidesInTheFile) {
  const std::string good = Bundle({{"a.txt", "one"}, {"b.txt", "two"}});
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    const auto parts = UnpackTar(bad);
    if (!parts.ok()) continue;
    std::vector<Part> rest(parts->begin() + 1, parts->end());
    const bool manifest_differs = parts->front().content != UnpackTar(good)->front().content;
    EXPECT_TRUE(manifest_differs || !CheckParts(parts->front().content, rest).ok()) << "byte " << i;
  }
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_THAT(UnpackTar(std::string_view(good).substr(0, size)), FailsWith(ErrorCode::kBundleInvalid)) << size;
  EXPECT_THAT(UnpackTar(good + "x"), FailsWith(ErrorCode::kBundleInvalid));
}

}  // namespace
}  // namespace credbroker::evidence
