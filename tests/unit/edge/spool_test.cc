#include <filesystem>

#include "base/file.h"
#include "base/id.h"
#include "edge/push_spool.h"
#include "kit/status_matchers.h"

namespace credbroker::edge {
namespace {

TEST(PushSpoolTest, GivesBackWhatItTookAndLeavesNoFile) {
  const std::string folder = testing::TempDir() + base::RandomId("spool-");
  ASSERT_THAT(base::MakeFolder(folder, 0700), testing_kit::IsOk());
  ASSERT_OK_AND_ASSIGN(const auto spool, PushSpool::Create(folder, 300'000));
  const std::string content(250'000, 'x');
  ASSERT_THAT(spool->Append(content), testing_kit::IsOk());
  ASSERT_THAT(spool->Append("tail"), testing_kit::IsOk());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  EXPECT_THAT(spool->Append(content), testing_kit::FailsWith(base::ErrorCode::kBodyTooLarge));
  std::string read;
  std::string_view piece;
  while (spool->Next(&piece) == ContentSource::Step::kPiece) {
    read += piece;
    spool->Take();
  }
  EXPECT_EQ(read, content + "tail");
}

}  // namespace
}  // namespace credbroker::edge
