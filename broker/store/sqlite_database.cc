#include "store/sqlite_database.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/file.h"
#include "base/macros.h"

namespace credbroker::store::sqlite {
namespace {

// SQLite would make the file with the umask's mode; its companions (-wal, -shm) take the mode of the file.
absl::Status MakeFile(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  RETURN_IF_ERROR(base::CheckOwnership(folder, base::Privacy::kReadableByOthers), "the database's folder");
  const base::Fd file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.ok() && errno != EEXIST) return base::WriteError(path, errno);
  if (file.ok() && fchmod(file.get(), 0600) != 0) return base::WriteError(path, errno);
  return base::CheckOwnership(path, base::Privacy::kPrivate);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Database>> Database::Open(const std::string& path) {
  const bool in_memory = path == ":memory:";
  if (!in_memory) RETURN_IF_ERROR(MakeFile(path));
  ASSIGN_OR_RETURN(std::unique_ptr<Connection> writer, Connection::Open(path, Connection::Mode::kReadWrite));
  std::unique_ptr<Connection> reader;
  if (!in_memory) {
    ASSIGN_OR_RETURN(reader, Connection::Open(path, Connection::Mode::kReadOnly));
  }
  return std::unique_ptr<Database>(new Database(std::move(writer), std::move(reader)));
}

absl::Status Database::Enclose(const char* begin, const char* commit, const char* rollback, const Body& body) {
  RETURN_IF_ERROR(writer_->Run(begin));
  absl::Status status = body(*writer_);
  if (status.ok()) status = writer_->Run(commit);
  if (!status.ok()) writer_->Script(rollback).IgnoreError();  // after some failures SQLite has rolled back already
  return status;
}

absl::Status Database::Write(const Body& body) {
  if (InTransactionHere()) {
    return Enclose("SAVEPOINT inner_write", "RELEASE inner_write", "ROLLBACK TO inner_write; RELEASE inner_write",
                   body);
  }
  const std::lock_guard lock(write_mutex_);
  owner_ = std::this_thread::get_id();
  absl::Status status = Enclose("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK", body);
  owner_ = std::thread::id();
  return status;
}

absl::Status Database::Read(const Body& body) {
  if (InTransactionHere()) return body(*writer_);
  if (reader_ == nullptr) {
    const std::lock_guard lock(write_mutex_);
    return body(*writer_);
  }
  const std::lock_guard lock(read_mutex_);
  return body(*reader_);
}

}  // namespace credbroker::store::sqlite
