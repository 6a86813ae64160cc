#include "wire/pack_commits.h"

#include <gtest/gtest.h>

#include "kit/status_matchers.h"
#include "pack_builder.h"
#include "wire/git_delta.h"

namespace credbroker::wire {
namespace {

using base::ErrorCode;
using testing_kit::FailsWith;
using testing_kit::IsOk;

absl::Status Read(PackCommits& commits, std::string_view bytes, std::size_t step = 1 << 16) {
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    // A copy of its own, so that a sanitizer sees a read past the end.
    const std::string piece(bytes.substr(at, step));
    const absl::Status status = commits.Feed(piece);
    if (!status.ok()) return status;
  }
  return commits.Finish();
}

absl::Status ReadAll(std::string_view bytes, const PackLimits& limits = {}) {
  PackCommits commits(ObjectFormat::kSha1, limits);
  return Read(commits, bytes);
}

bool Proves(std::string_view bytes, std::string_view new_id, std::string_view old_id, const PackLimits& limits = {}) {
  PackCommits commits(ObjectFormat::kSha1, limits);
  return Read(commits, bytes).ok() && commits.Descends(new_id, old_id);
}

const std::string kOld(40, '1');
const std::string kOther(40, '2');

// kOld <- first <- second <- third, of which second is a delta by offset and third one by id; and a blob.
struct Line {
  Line() {
    const std::size_t at = pack.Add(PackBuilder::kCommit, first);
    pack.Add(PackBuilder::kBlob, "some content");
    pack.AddOffsetDelta(pack.Here() - at, InsertDelta(first.size(), second));
    pack.AddIdDelta(CommitId(second), InsertDelta(second.size(), third));
    bytes = pack.Bytes();
  }
  const std::string first = CommitText({kOld}, "one\n");
  const std::string second = CommitText({CommitId(first)}, "two\n");
  const std::string third = CommitText({kOther, CommitId(second)}, "three\n");
  const std::string tip = CommitId(third);
  PackBuilder pack;
  std::string bytes;
};

TEST(PackCommits, ProvesAFastForwardThroughDeltas) {
  const Line line;
  PackCommits commits(ObjectFormat::kSha1, {});
  ASSERT_THAT(Read(commits, line.bytes), IsOk());
  EXPECT_EQ(commits.commit_count(), 3u);
  EXPECT_TRUE(commits.Descends(line.tip, kOld));
  EXPECT_TRUE(commits.Descends(line.tip, kOther));
  EXPECT_TRUE(commits.Descends(line.tip, CommitId(line.first)));
  EXPECT_TRUE(commits.Descends(CommitId(line.first), kOld));
  EXPECT_FALSE(commits.Descends(CommitId(line.second), kOther));
  EXPECT_FALSE(commits.Descends(CommitId(line.first), line.tip));
  EXPECT_FALSE(commits.Descends(line.tip, line.tip)) << "no update";
  EXPECT_FALSE(commits.Descends(kOld, line.tip));
}

TEST(PackCommits, TakesOnlyWholeLowerCaseIds) {
  const std::string old(40, 'a');
  const std::string commit = CommitText({old}, "m\n");
  PackBuilder pack;
  pack.Add(PackBuilder::kCommit, commit);
  const std::string tip = CommitId(commit);
  EXPECT_TRUE(Proves(pack.Bytes(), tip, old));
  for (const std::string& id : {std::string(), std::string(39, 'a'), std::string(38, 'a'), std::string(64, 'a'),
                                std::string(40, 'A'), std::string(40, 'g'), old + "\n"}) {
    EXPECT_FALSE(Proves(pack.Bytes(), tip, id)) << id;
    EXPECT_FALSE(Proves(pack.Bytes(), id, old)) << id;
  }
}

TEST(PackCommits, SaysTheSameAtEveryCut) {
  const Line line;
  for (std::size_t cut = 0; cut <= line.bytes.size(); ++cut) {
    PackCommits commits(ObjectFormat::kSha1, {});
    ASSERT_THAT(commits.Feed(line.bytes.substr(0, cut)), IsOk()) << cut;
    EXPECT_FALSE(commits.Descends(line.tip, kOld)) << "before the end, cut at " << cut;
    ASSERT_THAT(commits.Feed(line.bytes.substr(cut)), IsOk()) << cut;
    ASSERT_THAT(commits.Finish(), IsOk()) << cut;
    EXPECT_TRUE(commits.Descends(line.tip, kOld)) << cut;
    EXPECT_EQ(commits.commit_count(), 3u);
  }
  PackCommits commits(ObjectFormat::kSha1, {});
  ASSERT_THAT(Read(commits, line.bytes, 1), IsOk());
  EXPECT_TRUE(commits.Descends(line.tip, kOld));
}

TEST(PackCommits, RefusesEveryPrefix) {
  const Line line;
  for (std::size_t size = 0; size < line.bytes.size(); ++size) {
    PackCommits commits(ObjectFormat::kSha1, {});
    EXPECT_THAT(Read(commits, line.bytes.substr(0, size)), FailsWith(ErrorCode::kBadGitRequest)) << size;
    EXPECT_FALSE(commits.Descends(line.tip, kOld)) << size;
  }
}

TEST(PackCommits, AFlippedByteProvesNothing) {
  const Line line;
  for (std::size_t at = 0; at < line.bytes.size(); ++at) {
    for (const char mask : {'\x01', '\x10', '\x80', '\xFF'}) {
      std::string bytes = line.bytes;
      bytes[at] = static_cast<char>(bytes[at] ^ mask);
      PackCommits commits(ObjectFormat::kSha1, {});
      EXPECT_FALSE(Read(commits, bytes).ok()) << at;
      EXPECT_FALSE(commits.Descends(line.tip, kOld)) << at;
    }
  }
}

// The sender can sign what it wrote, so a flip with a right checksum may be read, but never makes up an ancestor.
TEST(PackCommits, ASignedFlipProvesNothingNew) {
  const Line line;
  const std::string body = line.bytes.substr(0, line.bytes.size() - 20);
  int read = 0;
  for (std::size_t at = 0; at < body.size(); ++at) {
    for (const char mask : {'\x01', '\x04', '\x20', '\x80', '\xFF'}) {
      std::string bytes = body;
      bytes[at] = static_cast<char>(bytes[at] ^ mask);
      PackCommits commits(ObjectFormat::kSha1, {});
      read += Read(commits, line.pack.Signed(bytes)).ok() ? 1 : 0;
      EXPECT_FALSE(commits.Descends(CommitId(line.second), kOther)) << at;
      EXPECT_FALSE(commits.Descends(CommitId(line.first), line.tip)) << at;
    }
  }
  EXPECT_GT(read, 0) << "the test must reach packs that are read";
}

TEST(PackCommits, EmptyPacksAreWholeAndProveNothing) {
  for (const auto format : {ObjectFormat::kSha1, ObjectFormat::kSha256}) {
    PackCommits commits(format, {});
    ASSERT_THAT(Read(commits, PackBuilder(format).Bytes()), IsOk());
    EXPECT_THAT(commits.Finish(), IsOk()) << "asked twice";
    EXPECT_EQ(commits.commit_count(), 0u);
    EXPECT_FALSE(commits.Descends(kOther, kOld));
  }
}

TEST(PackCommits, ReadsSha256AndVersion3) {
  const std::string old(64, 'b');
  const std::string commit = CommitText({old}, "m\n", 64);
  PackBuilder pack(ObjectFormat::kSha256, 3);
  pack.Add(PackBuilder::kCommit, commit);
  const std::string child = CommitText({CommitId(commit, ObjectFormat::kSha256)}, "n\n", 64);
  pack.AddIdDelta(CommitId(commit, ObjectFormat::kSha256), InsertDelta(commit.size(), child));
  PackCommits commits(ObjectFormat::kSha256, {});
  ASSERT_THAT(Read(commits, pack.Bytes()), IsOk());
  EXPECT_TRUE(commits.Descends(CommitId(child, ObjectFormat::kSha256), old));
  EXPECT_FALSE(commits.Descends(CommitId(child, ObjectFormat::kSha256), old.substr(24)));
}

TEST(PackCommits, RefusesWhatIsNoPack) {
  const Line line;
  EXPECT_THAT(ReadAll("PUCK" + line.bytes.substr(4)), FailsWith(ErrorCode::kBadGitRequest));
  EXPECT_THAT(ReadAll(PackBuilder(ObjectFormat::kSha1, 1).Bytes()), FailsWith(ErrorCode::kBadGitRequest));
  EXPECT_THAT(ReadAll(PackBuilder(ObjectFormat::kSha1, 4).Bytes()), FailsWith(ErrorCode::kBadGitRequest));
  EXPECT_THAT(ReadAll(line.pack.Bytes(1)), FailsWith(ErrorCode::kBadGitRequest)) << "counts one too many";
  EXPECT_THAT(ReadAll(line.pack.Bytes(-1)), FailsWith(ErrorCode::kBadGitRequest)) << "counts one too few";
  EXPECT_THAT(ReadAll(line.bytes + "x"), FailsWith(ErrorCode::kBadGitRequest));
  EXPECT_THAT(ReadAll(line.bytes + line.bytes), FailsWith(ErrorCode::kBadGitRequest));
}

TEST(PackCommits, AFailureIsFinal) {
  const Line line;
  for (const bool finished : {false, true}) {
    PackCommits commits(ObjectFormat::kSha1, {});
    ASSERT_THAT(commits.Feed(line.bytes), IsOk());
    if (finished) {
      ASSERT_THAT(commits.Finish(), IsOk());
    }
    EXPECT_THAT(commits.Feed("x"), FailsWith(ErrorCode::kBadGitRequest));
    EXPECT_THAT(commits.Finish(), FailsWith(ErrorCode::kBadGitRequest));
    EXPECT_FALSE(commits.Descends(line.tip, kOld));
  }
  PackCommits commits(ObjectFormat::kSha1, {});
  EXPECT_THAT(commits.Feed("no pack at all"), FailsWith(ErrorCode::kBadGitRequest));
  EXPECT_THAT(Read(commits, line.bytes), FailsWith(ErrorCode::kBadGitRequest));
}

TEST(PackCommits, RefusesBrokenObjects) {
  const std::string data = Deflated("content");
  const std::string more(1, '\xF3');
  const std::vector<std::pair<std::string, std::string>> objects = {
      {PackBuilder::Head(0, 7), data},                             // no type
      {PackBuilder::Head(5, 7), data},                             // no type
      {PackBuilder::Head(3, 6), data},                             // longer than it says
      {PackBuilder::Head(3, 8), data},                             // shorter
      {PackBuilder::Head(3, uint64_t{1} << 60), data},             // a size of more bits than any file has
      {more + std::string(40, '\x80'), data},                      // a size without end
      {PackBuilder::Head(3, 7), "content"},                        // not zlib
      {PackBuilder::Head(3, 7), data.substr(0, data.size() - 1)},  // cut, so that the next byte is the trailer's
      {PackBuilder::Head(6, 7) + std::string(1, '\0'), data},      // its own base
      {PackBuilder::Head(6, 7) + "\x0C", data},                    // the pack's head as a base
      {PackBuilder::Head(6, 7) + "\x7F", data},                    // before the pack
      {PackBuilder::Head(6, 7) + std::string(30, '\xFF'), data},   // an offset without end
      {PackBuilder::Head(6, 7) + std::string(9, '\xFF') + "\x7F", data},
  };
  for (std::size_t i = 0; i < objects.size(); ++i) {
    PackBuilder pack;
    pack.AddRaw(objects[i].first, objects[i].second);
    EXPECT_THAT(ReadAll(pack.Bytes()), FailsWith(ErrorCode::kBadGitRequest)) << i;
  }
}

TEST(PackCommits, ACommitThatGitWouldRefuseHasNoParents) {
  const std::string good = CommitText({kOld}, "m\n");
  const std::string tree = "tree " + std::string(40, 'a') + "\n", parent = "parent " + kOld + "\n";
  const std::string author = "author a <a@host.test> 1 +0000\n";
  const std::string upper = "parent " + std::string(40, 'A') + "\n";
  const auto proves = [](const std::string& text) {
    PackBuilder pack;
    pack.Add(PackBuilder::kCommit, text);
    return Proves(pack.Bytes(), CommitId(text), kOld);
  };
  ASSERT_TRUE(proves(good));
  ASSERT_TRUE(proves(tree + parent + author));
  for (const std::string& text :
       {std::string(), parent + author, tree + author + parent, tree + author + "\n" + parent, tree + parent,
        tree + parent + "parent 12\n" + author, tree + parent + upper + author, tree + "\n" + parent + author,
        "tree \n" + parent + author, "Tree" + tree.substr(4) + parent + author, tree + tree + parent + author,
        tree + "parent " + kOld + " \n" + author, tree + "parent  " + kOld + "\n" + author,
        tree + "parent " + kOld + kOld.substr(0, 24) + "\n" + author, tree + "parent " + kOld + "\r\n" + author,
        tree + "parent " + kOld, "tree " + std::string(64, 'a') + "\n" + parent + author}) {
    EXPECT_FALSE(proves(text)) << text;
  }
}

TEST(PackCommits, ADeltaOfAnythingButAnEarlierCommitIsDropped) {
  const Line line;
  const std::string child = CommitText({kOld}, "child\n");
  const std::string delta = InsertDelta(line.first.size(), child);

  PackBuilder on_blob;
  const std::size_t at = on_blob.Add(PackBuilder::kBlob, line.first);
  on_blob.AddOffsetDelta(on_blob.Here() - at, delta);
  EXPECT_THAT(ReadAll(on_blob.Bytes()), IsOk());
  EXPECT_FALSE(Proves(on_blob.Bytes(), CommitId(child), kOld)) << "a blob that reads like a commit";

  PackBuilder thin;
  thin.AddIdDelta(CommitId(line.first), delta);
  EXPECT_THAT(ReadAll(thin.Bytes()), IsOk());
  EXPECT_FALSE(Proves(thin.Bytes(), CommitId(child), kOld)) << "the base is not in the pack";

  PackBuilder into_the_middle;
  const std::size_t from = into_the_middle.Add(PackBuilder::kCommit, line.first);
  into_the_middle.AddOffsetDelta(into_the_middle.Here() - from - 1, delta);
  EXPECT_THAT(ReadAll(into_the_middle.Bytes()), IsOk());
  EXPECT_FALSE(Proves(into_the_middle.Bytes(), CommitId(child), kOld));

  PackBuilder wrong_size;
  wrong_size.Add(PackBuilder::kCommit, line.first);
  wrong_size.AddIdDelta(CommitId(line.first), InsertDelta(line.first.size() + 1, child));
  EXPECT_THAT(ReadAll(wrong_size.Bytes()), IsOk());
  EXPECT_FALSE(Proves(wrong_size.Bytes(), CommitId(child), kOld));
}

TEST(PackCommits, DropsCommitsBehindTooManyDeltas) {
  PackBuilder pack;
  std::string text = CommitText({kOld}, "0");
  pack.Add(PackBuilder::kCommit, text);
  for (int i = 1; i <= 3; ++i) {
    const std::string next = CommitText({CommitId(text)}, std::to_string(i));
    pack.AddIdDelta(CommitId(text), InsertDelta(text.size(), next));
    text = next;
  }
  EXPECT_TRUE(Proves(pack.Bytes(), CommitId(text), kOld, {.max_delta_depth = 3}));
  EXPECT_FALSE(Proves(pack.Bytes(), CommitId(text), kOld, {.max_delta_depth = 2}));
}

TEST(PackCommits, KeepsItsLimits) {
  const Line line;
  EXPECT_THAT(ReadAll(line.bytes, {.max_objects = 3}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(ReadAll(line.bytes, {.max_objects = 4}), IsOk());
  EXPECT_THAT(ReadAll(line.bytes, {.max_inflated_bytes = 100}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(ReadAll(line.bytes, {.max_commit_bytes = 100}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(ReadAll(line.bytes, {.max_kept_bytes = 1000}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_FALSE(Proves(line.bytes, line.tip, kOld, {.max_steps = 3}));
  EXPECT_TRUE(Proves(line.bytes, line.tip, kOld, {.max_steps = 4}));
}

TEST(PackCommits, CountsCommitsOfNoBytes) {
  PackBuilder pack;
  for (int i = 0; i < 5000; ++i) pack.Add(PackBuilder::kCommit, "");
  EXPECT_THAT(ReadAll(pack.Bytes(), {.max_kept_bytes = 1 << 20}), FailsWith(ErrorCode::kBodyTooLarge));
}

TEST(PackCommits, StopsABomb) {
  PackBuilder pack;
  const std::string zeros(std::size_t{128} << 20, '\0');
  pack.AddRaw(PackBuilder::Head(PackBuilder::kBlob, zeros.size()), Deflated(zeros));
  EXPECT_THAT(ReadAll(pack.Bytes(), {.max_ratio = 50}), FailsWith(ErrorCode::kBodyTooLarge));
  EXPECT_THAT(ReadAll(pack.Bytes(), {.max_ratio = 2000}), IsOk()) << "the limit on the ratio is what stopped it";
}

// Copies of 64 KiB from a base, each four bytes long: a megabyte from seventy.
TEST(PackCommits, StopsABombOfDeltas) {
  const std::string base = CommitText({kOld}, std::string(0x10000, 'x'));
  std::string delta = InsertDelta(base.size(), "").substr(0, 3);
  delta += "\x80\x80\x40";  // 1 MiB
  for (int i = 0; i < 16; ++i) delta += '\x80';
  for (const bool broken : {false, true}) {
    PackBuilder pack;
    pack.Add(PackBuilder::kCommit, base);
    for (int i = 0; i < 200; ++i) pack.AddIdDelta(CommitId(base), delta + (broken ? std::string(1, '\0') : ""));
    std::string result;
    EXPECT_EQ(ApplyGitDelta(base, delta, 1 << 20, &result), true);
    EXPECT_EQ(result.size(), std::size_t{1} << 20);
    EXPECT_THAT(ReadAll(pack.Bytes()), FailsWith(ErrorCode::kBodyTooLarge)) << broken;
    EXPECT_THAT(ReadAll(pack.Bytes(), {.max_ratio = 20000, .max_kept_bytes = std::size_t{1} << 30}), IsOk()) << broken;
  }
}

TEST(GitDelta, AppliesAndRefuses) {
  const auto apply = [](std::string_view delta, std::size_t max_bytes = 100) {
    std::string out = "left over";
    return ApplyGitDelta("0123456789", delta, max_bytes, &out) ? out : "refused";
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(apply("\x0A\x05\x91\x02\x03\x02xy"sv), "234xy");
  EXPECT_EQ(apply("\x0A\x00"sv), "");
  EXPECT_EQ(apply("\x0A\x0A\x90\x0A"sv), "0123456789");
  EXPECT_EQ(apply("\x0A\x05\x91\x02\x03\x02xy"sv, 4), "refused") << "over the limit";
  for (const std::string_view delta : {
           ""sv,
           "\x0A"sv,
           "\x8A"sv,
           "\x0B\x00"sv,                          // another base
           "\x0A\x01"sv,                          // less than it says
           "\x0A\x01\x00"sv,                      // the reserved instruction
           "\x0A\x01\x02x"sv,                     // an insert that is cut
           "\x0A\x01\x02xy"sv,                    // more than it says
           "\x0A\x05\x91\x06\x05"sv,              // a copy past the end
           "\x0A\x01\x91\x0B\x01"sv,              // from past the end
           "\x0A\x05\x91\x02"sv,                  // a copy that is cut
           "\x0A\x01\x80"sv,                      // 64 KiB, which no size byte means
           "\x0A\x04\x9F\xFF\xFF\xFF\xFF\x04"sv,  // offset and size that add up to little in 32 bits
           "\x0A\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"sv,
           "\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"sv,
       }) {
    EXPECT_EQ(apply(delta), "refused") << base::HexEncode(delta);
  }
}

}  // namespace
}  // namespace credbroker::wire
