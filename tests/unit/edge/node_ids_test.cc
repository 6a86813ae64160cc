#include "edge/node_ids.h"

#include <gtest/gtest.h>

#include "base/str.h"

namespace credbroker::edge {
namespace {

bool Knows(const NodeIds& ids, std::string_view session, std::string_view id) {
  model::GraphqlFacts operation;
  operation.fields.emplace_back().arguments.push_back({"input/id", model::BodyField::Kind::kString, std::string(id)});
  ids.Resolve(session, "svc", &operation);
  return operation.nodes.contains(id);
}

TEST(NodeIdsTest, OnlyThePlacesThatWereNamedCount) {
  NodeIds ids;
  ids.Learn("s1", "svc", "acme/web", {"data/repository/id", "data/repository/issues/nodes/id"},
            R"({"data":{"repository":{"id":"R","owner":{"id":"U"},"issues":{"nodes":[{"id":"A"},{"id":"B","title":"T"}]}}}})");
  for (const char* id : {"R", "A", "B"}) EXPECT_TRUE(Knows(ids, "s1", id)) << id;
  for (const char* id : {"U", "T"}) EXPECT_FALSE(Knows(ids, "s1", id)) << id;
  EXPECT_FALSE(Knows(ids, "s2", "R"));
  ids.Learn("s2", "svc", "acme/web", {"data/repository/id"}, "not JSON");
  EXPECT_FALSE(Knows(ids, "s2", "R"));
}

TEST(NodeIdsTest, TheOldestAreForgotten) {
  NodeIds ids;
  const auto learn = [&](std::string_view session, const std::string& id) {
    ids.Learn(session, "svc", "acme/web", {"data/id"}, base::StrCat(R"({"data":{"id":")", id, "\"}}"));
  };
  for (std::size_t i = 0; i <= NodeIds::kMaxIds; ++i) learn("s", base::StrCat("N", i));
  EXPECT_FALSE(Knows(ids, "s", "N0"));
  EXPECT_TRUE(Knows(ids, "s", "N1"));
  learn("s", std::string(NodeIds::kMaxIdBytes + 1, 'x'));
  EXPECT_FALSE(Knows(ids, "s", std::string(NodeIds::kMaxIdBytes + 1, 'x')));
  for (std::size_t i = 0; i < NodeIds::kMaxSessions; ++i) learn(base::StrCat("t", i), "M");
  EXPECT_FALSE(Knows(ids, "s", "N1"));
  EXPECT_TRUE(Knows(ids, "t1", "M"));
}

}  // namespace
}  // namespace credbroker::edge
