#include "wire/query.h"

#include "kit/status_matchers.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using testing::ElementsAre;
using testing_kit::FailsWith;
using testing_kit::IsOk;

TEST(QueryTest, ReadsParametersInOrder) {
  ASSERT_OK_AND_ASSIGN(auto parameters, ParseQuery("a=1&&b+c=%41=x&d&e%3D=&=v"));
  ASSERT_EQ(parameters.size(), 5u);
  EXPECT_EQ(parameters[0].name, "a");
  EXPECT_EQ(parameters[0].raw_value, "1");
  EXPECT_EQ(parameters[1].name, "b c");
  EXPECT_EQ(parameters[1].raw, "b+c=%41=x");
  EXPECT_EQ(parameters[1].raw_value, "%41=x");
  EXPECT_EQ(parameters[2].name, "d");
  EXPECT_EQ(parameters[2].raw_value, "");
  EXPECT_EQ(parameters[3].name, "e=");
  EXPECT_EQ(parameters[4].name, "");
  EXPECT_THAT(ParseQuery("a%=1"), FailsWith(ErrorCode::kMalformedHttp));
  std::string many;
  for (int i = 0; i < 257; ++i) many += "a&";
  EXPECT_THAT(ParseQuery(many), FailsWith(ErrorCode::kMalformedHttp));
}

TEST(QueryTest, FindsOneValueOrRefuses) {
  ASSERT_OK_AND_ASSIGN(auto value, QueryValue("service=git-receive%2Dpack&x=1", "service"));
  EXPECT_EQ(value, "git-receive-pack");
  ASSERT_OK_AND_ASSIGN(auto plus, QueryValue("a=x+y%2Bz", "a"));
  EXPECT_EQ(plus, "x y+z");
  ASSERT_OK_AND_ASSIGN(auto none, QueryValue("x=1", "service"));
  EXPECT_EQ(none, std::nullopt);
  EXPECT_THAT(QueryValue("service=a&servic%65=b", "service"), FailsWith(ErrorCode::kMalformedHttp));
  EXPECT_THAT(QueryValue("service=%4", "service"), FailsWith(ErrorCode::kMalformedHttp));
}

TEST(QueryTest, NamesAreListedWithoutValues) {
  EXPECT_THAT(QueryNames("token=SECRET&b=2;c=3&b=4&d%"), ElementsAre("b", "c", "d%", "token"));
}

TEST(QueryTest, TheRecordKeepsAtMost256Names) {
  std::string query;
  for (int i = 0; i < 300; ++i) query += "n" + std::to_string(i) + "=1&";
  EXPECT_EQ(QueryNames(query).size(), 256u);
}

TEST(QueryTest, SeesCredentialNamesInEverySpelling) {
  for (const char* query : {"access_token=x", "a=1&ACCESS_TOKEN", "access%5Ftoken=x", "a=1;private_token=x", "%6Bey=1",
                            "X-Amz-Signature=1", "a%=1", "client_secret"}) {
    EXPECT_TRUE(HasCredentialQuery(query)) << query;
  }
  for (const char* query : {"", "a=token", "service=git-upload-pack", "page=2&per_page=100", "tokens=1"}) {
    EXPECT_FALSE(HasCredentialQuery(query)) << query;
  }
}

TEST(QueryTest, ACredentialNameIsSeenBehindAnyNumberOfParameters) {
  std::string query;
  for (int i = 0; i < 1000; ++i) query += "a" + std::to_string(i) + "&";
  EXPECT_FALSE(HasCredentialQuery(query));
  EXPECT_TRUE(HasCredentialQuery(query + "zz_not=1&access_token=x"));
}

TEST(QueryTest, OnlyTheGrantedParameterMayBeThereWhereAllReadersSeeIt) {
  for (const char* query : {"key=x", "a=1&k%65y=x&key=y", "mine=1", ""}) EXPECT_FALSE(HasCredentialQuery(query, "key")) << query;
  for (const char* query : {"a=1;key=x", "key=x;a=1", "key;a", "KEY=x", "key=x&token=y", "%zz&key=x"}) {
    EXPECT_TRUE(HasCredentialQuery(query, "key")) << query;
  }
  EXPECT_TRUE(HasCredentialQuery("a=1;corp-login=x", "corp-login"));
  EXPECT_FALSE(HasCredentialQuery("corp-login=x", "corp-login"));
}

TEST(PercentTest, EncodesWhatItDecodes) {
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  std::string back;
  ASSERT_TRUE(PercentDecode(PercentEncode(all), &back));
  EXPECT_EQ(back, all);
  EXPECT_EQ(PercentEncode("a b/\xff-._~"), "a%20b%2F%FF-._~");
  for (const char* broken : {"%", "%1", "%zz", "a%0"}) EXPECT_FALSE(PercentDecode(broken, &back)) << broken;
}

}  // namespace
}  // namespace credbroker::wire
