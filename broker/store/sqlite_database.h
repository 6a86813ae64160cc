#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "store/sqlite_connection.h"

// Private to this room. Include only from store/sqlite_*.cc.
namespace credbroker::store::sqlite {

using Body = std::function<absl::Status(Connection&)>;

// One connection that writes and one that reads, each behind a mutex; a database in memory has one for both. A reader
// never waits for a writer's fsync. Thread-safe.
class Database {
 public:
  static absl::StatusOr<std::unique_ptr<Database>> Open(const std::string& path);

  // Runs `body` in a transaction that holds the write lock from its start: a transaction that reads first and writes
  // later would fail at once, without waiting, when another process was faster. Inside a transaction of this thread it
  // becomes a savepoint.
  absl::Status Write(const Body& body);

  // Runs `body` on the reader; inside a transaction of this thread on the writer, so that it sees its own rows.
  absl::Status Read(const Body& body);

  // The same for a body that gives a result: absl::StatusOr<T>(Connection&).
  template <typename F>
  auto WriteFor(const F& body) {
    return Fetch(&Database::Write, body);
  }
  template <typename F>
  auto ReadFor(const F& body) {
    return Fetch(&Database::Read, body);
  }

 private:
  Database(std::unique_ptr<Connection> writer, std::unique_ptr<Connection> reader)
      : writer_(std::move(writer)), reader_(std::move(reader)) {}

  template <typename F>
  auto Fetch(absl::Status (Database::*run)(const Body&), const F& body) {
    std::invoke_result_t<F, Connection&> result = absl::UnknownError("not run");
    absl::Status status = (this->*run)([&](Connection& connection) {
      result = body(connection);
      return result.status();
    });
    if (!status.ok()) result = std::move(status);
    return result;
  }
  bool InTransactionHere() const { return owner_.load() == std::this_thread::get_id(); }
  absl::Status Enclose(const char* begin, const char* commit, const char* rollback, const Body& body);

  std::mutex write_mutex_;
  std::mutex read_mutex_;
  std::atomic<std::thread::id> owner_{};  // the thread whose transaction is open
  std::unique_ptr<Connection> writer_;
  std::unique_ptr<Connection> reader_;  // null in memory
};

}  // namespace credbroker::store::sqlite
