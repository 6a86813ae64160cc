#include "policy/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/id.h"
#include "base/str.h"
#include "kit/status_matchers.h"

namespace credbroker::policy {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;
namespace fs = std::filesystem;

class SourceTest : public testing::Test {
 protected:
  SourceTest() : folder_(fs::path(testing::TempDir()) / base::RandomId("policy-")) { fs::create_directories(folder_); }
  ~SourceTest() override { fs::remove_all(folder_); }
  std::string Write(const std::string& name, std::string_view text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  fs::path folder_;
};

TEST_F(SourceTest, ReadsOneFileAndWhatItNames) {
  Write("corp-ca.pem", "PEM");
  ASSERT_OK_AND_ASSIGN(
      const PolicySource source,
      ReadPolicySource(Write("p.yaml", "services: {a: {upstream_ca: corp-ca.pem}, b: {upstream_ca: corp-ca.pem}}")));
  ASSERT_EQ(source.documents.size(), 1u);
  EXPECT_EQ(source.documents[0].name, "p.yaml");
  ASSERT_EQ(source.attachments.size(), 1u);
  EXPECT_EQ(source.attachments[0], (SourceFile{"corp-ca.pem", "PEM"}));
}

TEST_F(SourceTest, ReadsAFolderInOrderAndSkipsOtherFiles) {
  Write("b.yml", "b: 1");
  Write("a.yaml", "a: 1");
  Write(".hidden.yaml", "c: 1");
  Write("notes.txt", "x");
  ASSERT_OK_AND_ASSIGN(const PolicySource source, ReadPolicySource(folder_.string()));
  ASSERT_EQ(source.documents.size(), 2u);
  EXPECT_EQ(source.documents[0].name, "a.yaml");
  EXPECT_EQ(source.documents[1].name, "b.yml");
}

TEST_F(SourceTest, RefusesWhatCannotBeAPolicy) {
  EXPECT_THAT(ReadPolicySource((folder_ / "none.yaml").string()), FailsWith(ErrorCode::kFileUnreadable));
  EXPECT_THAT(ReadPolicySource(folder_.string()), FailsWith(ErrorCode::kPolicyInvalid));
  EXPECT_THAT(ReadPolicySource(Write("big.yaml", std::string(kMaxSourceFile + 1, '#'))),
              FailsWith(ErrorCode::kTooLarge));
  EXPECT_THAT(ReadPolicySource(Write("bytes.yaml", "a: \xff")), FailsWith(ErrorCode::kPolicyInvalid));
  const auto broken = ReadPolicySource(Write("broken.yaml", "a: 1\nb: [\n"));
  EXPECT_THAT(broken, FailsWith(ErrorCode::kPolicyInvalid));
  EXPECT_THAT(std::string(base::View(broken.status().message())), testing::HasSubstr("broken.yaml:3:1: not YAML"));
  EXPECT_THAT(ReadPolicySource(Write("ca.yaml", "a: {upstream_ca: missing.pem}")),
              FailsWith(ErrorCode::kFileUnreadable));
}

TEST_F(SourceTest, RefusesAFolderOverTheWholeLimit) {
  for (int i = 0; i < 5; ++i) Write(base::StrCat("f", i, ".yaml"), std::string(kMaxSourceFile - 10, '#'));
  EXPECT_THAT(ReadPolicySource(folder_.string()), FailsWith(ErrorCode::kTooLarge));
}

TEST_F(SourceTest, RefusesAFolderOfMoreThanThousandFiles) {
  for (int i = 0; i < 1001; ++i) Write(base::StrCat("f", i, ".yaml"), "");
  EXPECT_THAT(ReadPolicySource(folder_.string()), FailsWith(ErrorCode::kTooLarge));
}

TEST(SerializeTest, IsOneTextPerSource) {
  const PolicySource source{.documents = {{"b.yaml", "x: \"ü\n\""}, {"a.yaml", ""}},
                            .attachments = {{"ca.pem", "PEM\n"}}};
  const std::string text = Serialize(source);
  EXPECT_EQ(text,
            "{\"attachments\":[{\"name\":\"ca.pem\",\"text\":\"PEM\\n\"}],\"documents\":[{\"name\":\"b.yaml\",\"text\":"
            "\"x: \\\"ü\\n\\\"\"},"
            "{\"name\":\"a.yaml\",\"text\":\"\"}],\"schema\":\"credbroker/policy-source/v1\"}");
  ASSERT_OK_AND_ASSIGN(const PolicySource back, Parse(text));
  EXPECT_EQ(back, source);
}

TEST(SerializeTest, ParseTakesTheCanonicalTextOnly) {
  const std::string good = Serialize({});
  EXPECT_THAT(Parse(good), IsOk());
  for (const std::string& text :
       {std::string(), std::string("null"), std::string("[]"), std::string("{}"), good + " ", " " + good,
        std::string(R"({"documents":[],"attachments":[],"schema":"credbroker/policy-source/v1"})"),
        std::string(R"({"attachments":[],"documents":[],"schema":"credbroker/policy-source/v2"})"),
        std::string(R"({"attachments":[],"documents":[],"schema":1})"),
        std::string(R"({"attachments":[],"documents":[{"name":"a"}],"schema":"credbroker/policy-source/v1"})"),
        std::string(R"({"attachments":[],"documents":[],"documents":[],"schema":"credbroker/policy-source/v1"})"),
        std::string(100'000, '[')}) {
    EXPECT_THAT(Parse(text), FailsWith(ErrorCode::kPolicyInvalid)) << text.substr(0, 80);
  }
}

}  // namespace
}  // namespace credbroker::policy
