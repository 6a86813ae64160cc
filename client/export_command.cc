#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <ostream>

#include "audit/export_cursor.h"
#include "audit/export_format.h"
#include "base/error.h"
#include "base/file.h"
#include "base/macros.h"
#include "base/str.h"
#include "client/audit_filter.h"
#include "client/command.h"
#include "credbroker/credbroker.h"
#include "credbroker/v1/audit.pb.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

constexpr mode_t kPrivate = 0600;
constexpr std::size_t kMaxCursorFile = 64 * 1024;
constexpr std::size_t kFlushBytes = 64 * 1024;
constexpr uint64_t kSaveEvery = 256;  // records

struct ExportOptions {
  AuditFilter filter;
  std::string format = "jsonl", from, cursor_file, out;
  bool follow = false;
  uint64_t limit = 0;
};

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string();
}

// Where the lines go. What was written is on the disk before the cursor that stands behind it is kept, so that after a
// crash some records may come again, and none is missing.
class ExportSink {
 public:
  ExportSink(Context& context, const ExportOptions& options) : context_(context), options_(options) {}

  absl::Status Open() {
    if (options_.out.empty()) return absl::OkStatus();
    file_ = base::Fd(open(options_.out.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, kPrivate));
    return file_.ok() ? absl::OkStatus() : base::WriteError(options_.out, errno);
  }

  absl::Status Take(const v1::ExportedRecord& record) {
    if (!record.json().empty()) {
      base::StrAppend(&lines_, audit::FormatExport(*audit::ParseExportFormat(options_.format), record.json(), origin_), "\n");
      ++records_;
      ++unsaved_;
    }
    cursor_ = record.cursor();
    behind_ = record.behind();
    const bool caught_up = record.json().empty() || behind_ == 0;
    if (caught_up || unsaved_ >= kSaveEvery) return Save();
    return lines_.size() >= kFlushBytes ? Flush() : absl::OkStatus();
  }

  absl::Status Save() {
    RETURN_IF_ERROR(Flush());
    unsaved_ = 0;
    if (cursor_.empty() || options_.cursor_file.empty()) return absl::OkStatus();
    if (file_.ok() && fdatasync(file_.get()) != 0 && errno != EINVAL) return base::WriteError(options_.out, errno);
    return base::WriteFileAtomic(options_.cursor_file, base::StrCat(cursor_, "\n"), kPrivate);
  }

  const std::string& cursor() const { return cursor_; }
  uint64_t records() const { return records_; }
  uint64_t behind() const { return behind_; }

 private:
  absl::Status Flush() {
    const std::string lines = std::exchange(lines_, {});
    if (file_.ok()) return base::WriteAll(file_.get(), lines);
    context_.Print(lines);
    context_.host().out.flush();
    return context_.host().out.good() ? absl::OkStatus() : base::Error(base::ErrorCode::kFileUnwritable, "standard output");
  }

  Context& context_;
  const ExportOptions& options_;
  const audit::ExportOrigin origin_{CREDBROKER_VERSION, HostName()};
  base::Fd file_;
  std::string lines_, cursor_;
  uint64_t records_ = 0, unsaved_ = 0, behind_ = 0;
};

// Where to begin: the flag, else what the cursor file kept; a file that is not there yet begins at the first record.
absl::StatusOr<std::string> StartOf(const ExportOptions& options) {
  std::string text = options.from;
  if (text.empty() && !options.cursor_file.empty() && access(options.cursor_file.c_str(), F_OK) == 0) {
    ASSIGN_OR_RETURN(text, base::ReadFile(options.cursor_file, kMaxCursorFile), "reading the cursor file");
    while (text.ends_with('\n')) text.pop_back();
    if (text.empty()) return base::Error(base::ErrorCode::kBadArgument, "the cursor file is empty");
  }
  if (!text.empty()) RETURN_IF_ERROR(audit::ParseCursor(text).status());
  return text;
}

absl::StatusOr<int> Export(Context& context, const ExportOptions& options) {
  v1::ExportRecordsRequest request;
  ASSIGN_OR_RETURN(*request.mutable_filter(), MakeFilter(options.filter));
  ASSIGN_OR_RETURN(*request.mutable_cursor(), StartOf(options));
  request.set_follow(options.follow);
  request.set_max_records(options.limit);
  ExportSink sink(context, options);
  RETURN_IF_ERROR(sink.Open());
  absl::Status written;
  const absl::Status read = context.broker().ExportRecords(request, [&](const v1::ExportedRecord& record) {
    written = sink.Take(record);
    return written.ok();
  });
  RETURN_IF_ERROR(written, "writing the export");
  RETURN_IF_ERROR(sink.Save(), "writing the export");
  RETURN_IF_ERROR(read, "exporting");
  context.Note(base::StrCat(sink.records(), " records, ", sink.behind(), " entries behind"));
  if (!sink.cursor().empty()) context.Note(base::StrCat("cursor: ", sink.cursor()));
  return kDone;
}

}  // namespace

void AddExportCommand(CLI::App& audit, Action& chosen) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* leaf =
      AddLeaf(audit, "export",
              {"Records for other systems: JSON lines, OCSF, RFC 5424 syslog or CEF, oldest first, resumable",
               "credbroker audit export --format ocsf --follow --cursor-file siem.cursor --out siem.jsonl",
               "the last line on standard error is the cursor: give it as --from to go on behind it",
               "Exports are derived from the ledger and never hold it up. After a crash records may come again (their ids "
               "tell), and none is left out."});
  AddFilterFlags(leaf, options->filter);
  leaf->add_option("--format", options->format, "jsonl, ocsf, syslog or cef")
      ->check(CLI::IsMember({"jsonl", "ocsf", "syslog", "cef"}))
      ->capture_default_str();
  leaf->add_option("--from", options->from, "go on behind this cursor");
  leaf->add_option("--cursor-file", options->cursor_file, "keep the cursor in this file, and begin where it says");
  leaf->add_flag("--follow", options->follow, "go on with what arrives; Ctrl-C ends it");
  leaf->add_option("--limit", options->limit, "end after N records")->check(CLI::PositiveNumber);
  leaf->add_option("--out", options->out, "append to this file (0600) instead of standard output");
  OnChosen(leaf, chosen, [options](Context& context) { return Export(context, *options); });
}

}  // namespace credbroker::client
