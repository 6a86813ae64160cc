#include "store/sqlite.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <thread>
#include <vector>

#include "base/str.h"
#include "store_contract.h"

namespace credbroker::store {
namespace {

using base::ErrorCode;
using base::StrCat;
using testing_kit::FailsWith;
using testing_kit::IsOk;

mode_t ModeOf(const std::string& path) {
  struct stat info;
  EXPECT_EQ(stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

// Runs SQL beside the store, as another process would.
int RunSql(const std::string& path, const char* sql) {
  sqlite3* handle = nullptr;
  EXPECT_EQ(sqlite3_open(path.c_str(), &handle), SQLITE_OK);
  const int result = sqlite3_exec(handle, sql, nullptr, nullptr, nullptr);
  sqlite3_close(handle);
  return result;
}

TEST(SqliteTest, FilesArePrivateUnderAnyUmask) {
  const TemporaryFolder folder;
  for (const mode_t mask : {mode_t{0}, mode_t{0777}, mode_t{022}}) {
    const std::string path = folder.File(StrCat("store-", mask, ".db"));
    const mode_t old = umask(mask);
    const auto store = OpenSqlite(path);
    const absl::Status written = store.ok() ? (*store)->meta().Set("k", "v") : store.status();
    umask(old);
    ASSERT_THAT(written, IsOk());
    for (const char* companion : {"", "-wal", "-shm"}) EXPECT_EQ(ModeOf(path + companion), 0600u) << companion << mask;
  }
}

TEST(SqliteTest, UnsafePlacesAreRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.File("store.db");
  ASSERT_EQ(chmod(folder.path().c_str(), 0777), 0);
  EXPECT_THAT(OpenSqlite(path), FailsWith(ErrorCode::kUnsafeFile));
  ASSERT_EQ(chmod(folder.path().c_str(), 0700), 0);
  ASSERT_THAT(OpenSqlite(path), IsOk());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_THAT(OpenSqlite(path), FailsWith(ErrorCode::kUnsafeFile));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  ASSERT_EQ(symlink(path.c_str(), folder.File("link.db").c_str()), 0);
  EXPECT_THAT(OpenSqlite(folder.File("link.db")), FailsWith(ErrorCode::kUnsafeFile));
  EXPECT_FALSE(OpenSqlite(folder.File("missing/store.db")).ok());
}

TEST(SqliteTest, WhatIsNoDatabaseIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.File("store.db");
  std::ofstream(path) << std::string(8192, 'x');
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  EXPECT_THAT(OpenSqlite(path), FailsWith(ErrorCode::kStoreUnavailable));
}

TEST(SqliteTest, DamagedPagesAreNoticedAtTheStart) {
  const TemporaryFolder folder;
  const std::string path = folder.File("store.db");
  {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenSqlite(path));
    for (int i = 0; i < 200; ++i) ASSERT_THAT(store->meta().Set(StrCat("k", i), std::string(300, 'v')), IsOk());
  }
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
  ASSERT_GT(size, 8 * 4096);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(size - 3 * 4096);
  file << std::string(2 * 4096, '\xff');
  file.close();
  EXPECT_THAT(OpenSqlite(path), FailsWith(ErrorCode::kStoreUnavailable));
}

TEST(SqliteTest, ALaterSchemaIsRefused) {
  const TemporaryFolder folder;
  const std::string path = folder.File("store.db");
  ASSERT_THAT(OpenSqlite(path), IsOk());
  ASSERT_EQ(RunSql(path, "INSERT INTO schema_version VALUES (999, 0)"), SQLITE_OK);
  EXPECT_THAT(OpenSqlite(path), FailsWith(ErrorCode::kStoreTooNew));
}

TEST(SqliteTest, RowsOutliveTheStore) {
  const TemporaryFolder folder;
  const std::string path = folder.File("store.db");
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto store, OpenSqlite(path));
    ASSERT_THAT(store->sessions().Insert(SampleSession(StrCat("s-", i))), IsOk());
    EXPECT_EQ(store->sessions().List({})->size(), static_cast<std::size_t>(i + 1));
  }
}

TEST(SqliteTest, WhatWasAcknowledgedSurvivesKill) {
  const TemporaryFolder folder;
  const std::string path = folder.File("store.db");
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(pipe_ends[0]);
    const auto store = OpenSqlite(path);
    for (int i = 0; store.ok(); ++i) {
      const bool kept = (*store)->meta().Set(StrCat("k", i), "v").ok();
      if (!kept || write(pipe_ends[1], "+", 1) != 1) break;
    }
    _exit(1);
  }
  close(pipe_ends[1]);
  char mark;
  int acknowledged = 0;
  while (acknowledged < 60 && read(pipe_ends[0], &mark, 1) == 1) ++acknowledged;
  kill(child, SIGKILL);
  while (read(pipe_ends[0], &mark, 1) == 1) ++acknowledged;
  close(pipe_ends[0]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_GE(acknowledged, 60);
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqlite(path));
  for (int i = 0; i < acknowledged; ++i) EXPECT_EQ(*store->meta().Get(StrCat("k", i)), "v") << i;
}

TEST(SqliteTest, TwoStoresOnOneFileWaitForEachOther) {
  const TemporaryFolder folder;
  const std::string path = folder.File("store.db");
  ASSERT_OK_AND_ASSIGN(const auto a, OpenSqlite(path));
  ASSERT_OK_AND_ASSIGN(const auto b, OpenSqlite(path));
  ASSERT_THAT(a->meta().Set("count", "0"), IsOk());
  // Reads first, writes later: the pattern that fails at once unless the lock is taken at the start.
  const auto count_up = [](Store& store, int times, int* failures) {
    for (int i = 0; i < times; ++i) {
      *failures += !store
                        .InTransaction([&]() -> absl::Status {
                          int count = 0;
                          const auto value = store.meta().Get("count");
                          if (!value.ok() || !base::ParseInt(**value, &count)) return absl::UnknownError("odd");
                          return store.meta().Set("count", StrCat(count + 1));
                        })
                        .ok();
    }
  };
  int failures_a = 0, failures_b = 0;
  std::thread other([&] { count_up(*b, 100, &failures_b); });
  count_up(*a, 100, &failures_a);
  other.join();
  EXPECT_EQ(failures_a + failures_b, 0);
  EXPECT_EQ(*a->meta().Get("count"), "200");
}

TEST(SqliteTest, ADamagedRowIsAnErrorNotAGuess) {
  const TemporaryFolder folder;
  const std::string path = folder.File("store.db");
  ASSERT_OK_AND_ASSIGN(const auto store, OpenSqlite(path));
  ASSERT_THAT(store->sessions().Insert(SampleSession("s-1")), IsOk());
  ASSERT_EQ(RunSql(path, "UPDATE sessions SET state = 'root'"), SQLITE_OK);
  EXPECT_THAT(store->sessions().Find("s-1"), FailsWith(ErrorCode::kStoreUnavailable));
}

}  // namespace
}  // namespace credbroker::store
