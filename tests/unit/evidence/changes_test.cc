#include "evidence/changes.h"

#include <nlohmann/json.hpp>

#include "fixture.h"

namespace credbroker::evidence {
namespace {

using testing_kit::FailsWith;

std::string Text(const Situation& situation) { return ToJson(*MakePack(situation)).dump(); }

TEST(ChangesTest, TellsMaterialChanges) {
  const Situation before = Fixture();
  Situation after = Fixture();
  after.rules = Rules(std::string(kPolicy) + std::string(kTunnel));
  after.declared.by = "jo";
  after.declared.on = "2027-01-01";
  after.declared.fields = {{"isolation.kind", "container"}, {"retention.audit", "two years"}};
  ASSERT_OK_AND_ASSIGN(const std::vector<Change> changes, Compare(Text(before), Text(after)));
  std::map<std::string, std::string> material;
  bool ordinary_seen = false;
  for (const Change& change : changes) {
    material[change.id] = change.material;
    ordinary_seen = ordinary_seen || change.material.empty();
    EXPECT_TRUE(change.material.empty() || !ordinary_seen) << change.id << ": material changes come first";
  }
  EXPECT_EQ(material["S3"], "isolation");
  EXPECT_EQ(material["S20"], "retention");
  EXPECT_EQ(material["S8"], "network defaults");
  EXPECT_EQ(material.at("S33"), "");
  EXPECT_EQ(material.count("S28"), 0u);
}

TEST(ChangesTest, TheTimeIsNoDifference) {
  Situation later = Fixture();
  later.now += absl::Seconds(1);
  ASSERT_OK_AND_ASSIGN(const std::vector<Change> changes, Compare(Text(Fixture()), Text(later)));
  EXPECT_TRUE(changes.empty());
}

TEST(ChangesTest, WhatIsNoPackIsRefused) {
  for (const char* text : {"", "{}", "[]", "{\"schema\":\"credbroker/evidence/v1\",\"answers\":[{}]}", "{\"schema\":\"credbroker/evidence/v1\",\"answers\":[1]}"}) {
    EXPECT_THAT(Compare(text, Text(Fixture())), FailsWith(base::ErrorCode::kBadArgument)) << text;
  }
}

}  // namespace
}  // namespace credbroker::evidence
