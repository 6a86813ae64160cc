#include "wire/graphql.h"

#include <gtest/gtest.h>

namespace credbroker::wire {
namespace {

bool Parses(std::string_view text) { return ParseGraphql(text, {}).ok(); }

TEST(GraphqlTest, ADocumentBecomesATree) {
  const auto document = ParseGraphql("\xEF\xBB\xBFquery Q($a: [ID!]! = [\"x\"], $b: Int) { k: f(a: $a, o: {p: [1, E, null]}) @skip(if: $b) { ...F ... on T { g } } }\n"
                                     "# a comment\nfragment F on T { h }", {});
  ASSERT_TRUE(document.ok());
  const GraphqlOperation& operation = document->operations.at(0);
  EXPECT_EQ(operation.name, "Q");
  ASSERT_EQ(operation.variables.size(), 2u);
  EXPECT_TRUE(operation.variables[0].second);
  const GraphqlSelection& field = operation.selections.at(0);
  EXPECT_EQ(field.key, "k");
  EXPECT_EQ(field.name, "f");
  EXPECT_EQ(field.arguments.at(1).value.items.at(0).value.items.at(1).value.text, "E");
  EXPECT_EQ(field.directives.at(0).name, "skip");
  EXPECT_EQ(field.selections.at(0).kind, GraphqlSelection::Kind::kSpread);
  EXPECT_EQ(field.selections.at(1).selections.at(0).name, "g");
  EXPECT_EQ(document->fragments.at(0).name, "F");
}

TEST(GraphqlTest, WhatIsNotExecutableOrHasTwoReadingsIsRefused) {
  for (const char* text : {"", "{", "{}", "{a", "query", "{a(b:1 b:2)}", "{a(b:{c:1 c:2})}", "query($a:Int $a:Int){a}", "{a(b:\"\"\"x\"\"\")}", "{a(b:01)}", "{a(b:1x)}",
                           "{a()}", "type T { a: Int }", "{a} {b}", "query A{a} query A{b}", "{...F} fragment F on T{a} fragment F on T{b}", "fragment on on T{a} {a}",
                           "query($a:Int=$b){a}", "{a(b:\"\n\")}", "{a;b}", "{\xC3\xA9}", "fragment F on T{a}", "{a(b:.5)}", "query($a:Int){a}}"}) {
    EXPECT_FALSE(Parses(text)) << text;
  }
}

TEST(GraphqlTest, LimitsHold) {
  const auto nested = [](int depth) {
    std::string out = "{a";
    for (int i = 0; i < depth; ++i) out += "{a";
    return out + std::string(static_cast<std::size_t>(depth) + 1, '}');
  };
  EXPECT_TRUE(Parses(nested(30)));
  EXPECT_FALSE(Parses(nested(40)));
  EXPECT_FALSE(Parses("{a(b:" + std::string(40, '[') + std::string(40, ']') + ")}"));
  EXPECT_FALSE(Parses("{" + std::string(257, 'a') + "}"));
  std::string many = "{";
  for (int i = 0; i < 20'000; ++i) many += "a ";
  EXPECT_FALSE(Parses(many + "}"));
  EXPECT_FALSE(Parses("{a}#" + std::string(256 * 1024, 'x')));
}

}  // namespace
}  // namespace credbroker::wire
