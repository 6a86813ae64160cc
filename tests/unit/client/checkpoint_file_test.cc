#include "client/checkpoint_file.h"

#include <gtest/gtest.h>

namespace credbroker::client {
namespace {

const std::string kA = "a.test/one\n7\nAAAA\n\n\u2014 a.test/one c2ln\n";
const std::string kB = "b.test/two\n9\nBBBB\n\n\u2014 b.test/two c2ln\n\u2014 witness c2ln\n";

TEST(CheckpointFileTest, WhatIsJoinedIsSplitAgain) {
  EXPECT_EQ(SplitNotes(JoinNotes({kA, kB})), (std::vector<std::string>{kA, kB}));
  EXPECT_EQ(SplitNotes(JoinNotes({kA})), (std::vector<std::string>{kA}));
}

TEST(CheckpointFileTest, TakesNotesWithoutOrWithMoreLinesBetween) {
  EXPECT_EQ(SplitNotes(kA + kB), (std::vector<std::string>{kA, kB}));
  EXPECT_EQ(SplitNotes("\n\n" + kA + "\n\n\n" + kB + "\n"), (std::vector<std::string>{kA, kB}));
  EXPECT_EQ(SplitNotes(kA.substr(0, kA.size() - 1)), (std::vector<std::string>{kA}));
}

TEST(CheckpointFileTest, EmptyFilesPinNothing) {
  EXPECT_TRUE(SplitNotes("").empty());
  EXPECT_TRUE(SplitNotes("\n\n").empty());
}

TEST(CheckpointFileTest, TheOriginIsTheFirstLine) { EXPECT_EQ(NoteOrigin(kB), "b.test/two"); }

}  // namespace
}  // namespace credbroker::client
