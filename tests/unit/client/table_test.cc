#include "client/table.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace credbroker::client {
namespace {

TEST(TableTest, AlignsColumnsAndLeavesNoTrailingSpace) {
  Table table({{"ID"}, {"NAME"}});
  table.Add({"1", "one"});
  table.Add({"22"});
  EXPECT_EQ(table.Text(), "ID  NAME\n1   one\n22\n");
}

TEST(TableTest, EscapesHostileText) {
  Table table({{"A", 60}});
  table.Add(
      {"x\x1b[2Jy\n\xe2\x80\xae"
       "z\x9b"});
  const std::string text = table.Text();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find("\xe2\x80\xae"), std::string::npos) << "a bidirectional override reached the terminal";
  EXPECT_EQ(text.find('\x9b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << "a cell made a line of its own";
  EXPECT_NE(text.find("\\x1b"), std::string::npos) << text;
}

TEST(TableTest, CutsByCharactersNotBytes) {
  EXPECT_EQ(Cell("abcdef", 4), "ab..");
  EXPECT_EQ(Cell("abcd", 4), "abcd");
  EXPECT_EQ(Cell("\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4", 4), "\xc3\xa4\xc3\xa4..");
}

TEST(TableTest, RowsThatComeOneByOneKeepTheirWidths) {
  const Table table({{"A", 4}, {"B", 3}});
  EXPECT_EQ(table.TitleText(), "A     B\n");
  EXPECT_EQ(table.RowText({"longer", "x"}), "lo..  x\n");
}

}  // namespace
}  // namespace credbroker::client
