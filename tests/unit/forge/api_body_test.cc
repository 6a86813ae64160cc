#include "forge/api_body.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/str.h"

namespace credbroker::forge {
namespace {

using policy::BodyRule;

std::string Fields(std::string_view body) {
  const auto read = ReadBody(BodyRule::kGraphql, body);
  if (!read.ok()) return std::string(base::Lookup(base::CodeOf(read.status())).name);
  std::string out = (*read)->operation.mutation ? "mutation" : "query";
  for (const model::SelectedField& field : (*read)->operation.fields) {
    base::StrAppend(&out, " ", field.parent, ":", field.key, "=", field.name);
    for (const model::BodyField& argument : field.arguments) base::StrAppend(&out, "(", argument.path, "=", argument.text, ")");
  }
  return out;
}

TEST(ApiBodyTest, FragmentsAndVariablesAreFilledIn) {
  EXPECT_EQ(Fields(R"({"query":"query($o:String!,$n:String=\"web\"){r:repository(owner:$o,name:$n){...F}} fragment F on Repository{id}","variables":{"o":"acme"}})"),
            "query -1:r=repository(owner=acme)(name=web) 0:id=id");
  EXPECT_EQ(Fields(R"({"query":"mutation($i:X!){m:createIssue(input:$i){issue{id}}}","variables":{"i":{"repositoryId":"R","labelIds":["a","b"]}}})"),
            "mutation -1:m=createIssue(input=)(input/repositoryId=R)(input/labelIds=)(input/labelIds/*=a)(input/labelIds/*=b) 0:issue=issue 1:id=id");
  EXPECT_EQ(Fields(R"({"query":"{a @skip(if:true) @include(if:false)}","operationName":null,"variables":null})"), "query -1:a=a");
}

TEST(ApiBodyTest, WhatCouldRunAnotherThingIsRefused) {
  for (const char* body : {R"({"query":"query A{a} query B{b}","operationName":"A"})", R"({"query":"query A{a}","operationName":"B"})",
                           R"({"query":"{a}","extensions":{}})", R"({"query":"{a(b:$c)}"})", R"({"query":"{...F}"})", R"({"query":"{...F} fragment F on T{...F}"})",
                           R"({"query":"{a @defer}"})", R"({"query":"subscription{a}"})", R"({"query":1})", R"({"variables":{}})", R"({"query":"{a}","variables":[]})"}) {
    EXPECT_EQ(Fields(body), "bad_document") << body;
  }
  EXPECT_EQ(Fields(R"([{"query":"{a}"}])"), "body_undecided");
  EXPECT_EQ(Fields(R"({"query":"{a}","query":"{b}"})"), "body_undecided");
}

// Fragments that each use the one before twice: small to send, large to run.
TEST(ApiBodyTest, GrowingFragmentsStopEarly) {
  std::string query = "{...F20} fragment F0 on T{a}";
  for (int i = 1; i <= 20; ++i) base::StrAppend(&query, " fragment F", i, " on T{...F", i - 1, " ...F", i - 1, "}");
  EXPECT_EQ(Fields(base::StrCat(R"({"query":")", query, "\"}")), "bad_document");
}

TEST(ApiBodyTest, ALongVariableIsNotCopiedWithoutEnd) {
  std::string query = "query($a:String){";
  for (int i = 0; i < 100; ++i) base::StrAppend(&query, "f", i, "(a:$a) ");
  EXPECT_EQ(Fields(base::StrCat(R"({"query":")", query, R"(}","variables":{"a":")", std::string(100'000, 'x'), "\"}}")), "bad_document");
}

TEST(ApiBodyTest, ContentTypesAreExact) {
  EXPECT_TRUE(IsJsonType("application/json"));
  EXPECT_TRUE(IsJsonType("Application/JSON; charset=UTF-8"));
  for (const char* type : {"", "application/graphql", "text/json", "application/json; charset=utf-7", "application/json, text/plain", "application/x-www-form-urlencoded"})
    EXPECT_FALSE(IsJsonType(type)) << type;
}

}  // namespace
}  // namespace credbroker::forge
