#include "client/doctor.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/duration.h"
#include "base/error.h"
#include "base/file.h"
#include "base/str.h"
#include "client/command.h"
#include "client/ledger_check.h"
#include "crypto/certificate.h"

namespace credbroker::client {
namespace {

using base::StrCat;

constexpr absl::Duration kCaWarning = absl::Hours(24 * 60);
constexpr absl::Duration kExceptionWarning = absl::Hours(24 * 14);
constexpr absl::Duration kPolicyNote = absl::Hours(24 * 180);
constexpr double kFreePart = 0.05;
constexpr uint64_t kFreeBytes = 512ULL << 20;

struct Place {
  const char* name;  // below the data folder
  mode_t mode;       // the widest that is fine
};
// deploy/README.md has the table.
constexpr Place kFolders[] = {{"", 0711}, {"keys", 0700}, {"store", 0700}, {"admin", 0700}, {"ledger", 0700}, {"run", 0755}};
constexpr Place kFiles[] = {{"keys/master.key", 0600}, {"admin/admin.access", 0600}, {"store/broker.db", 0600}};

Diagnosis Good(std::string id, std::string found) { return {std::move(id), Severity::kGood, std::move(found), {}}; }

std::string ModeText(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777));
  return text;
}

// Missing files are no fault here: a data folder of another layout says so elsewhere.
Diagnosis CheckModes(const std::string& folder) {
  struct stat root;
  if (stat(folder.c_str(), &root) != 0 || !S_ISDIR(root.st_mode)) {
    return {"data.folder", Severity::kFault, StrCat(folder, " is no folder"), "name the broker's data folder with --data-dir"};
  }
  std::string found, fix;
  const auto check = [&](const Place& place, bool required) {
    const std::string path = place.name[0] == '\0' ? folder : StrCat(folder, "/", place.name);
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) {
      if (required) base::StrAppend(&found, found.empty() ? "" : "; ", path, " is missing");
      return;
    }
    const mode_t wide = info.st_mode & 0777 & ~place.mode;
    if (wide == 0 && info.st_uid == root.st_uid) return;
    base::StrAppend(&found, found.empty() ? "" : "; ", path, " has mode ", ModeText(info.st_mode), info.st_uid != root.st_uid ? " and another owner than the folder" : "");
    base::StrAppend(&fix, fix.empty() ? "" : "; ", info.st_uid != root.st_uid ? StrCat("chown --reference ", folder, " ", path, " && ") : "", "chmod ", ModeText(place.mode), " ", path);
  };
  for (const Place& place : kFolders) check(place, false);
  for (const Place& place : kFiles) check(place, place.name == kFiles[0].name);
  if (found.empty()) return Good("data.modes", "owners and modes are as documented");
  return {"data.modes", Severity::kFault, found, fix.empty() ? "start the broker once: it makes what is missing" : fix};
}

Diagnosis CheckSocket(const std::string& folder) {
  const std::string path = StrCat(folder, "/run/api.sock");
  struct stat info;
  if (lstat(path.c_str(), &info) != 0) return {"api.socket", Severity::kWarning, StrCat(path, " is missing"), "start credbrokerd"};
  if (!S_ISSOCK(info.st_mode)) return {"api.socket", Severity::kFault, StrCat(path, " is no socket"), "remove it, then start credbrokerd"};
  return Good("api.socket", StrCat(path, " is there; callers are known by their uid"));
}

Diagnosis CheckDisk(const std::string& folder) {
  struct statvfs info;
  if (statvfs(folder.c_str(), &info) != 0) return {"disk.space", Severity::kFault, StrCat("cannot ask about ", folder), "check the path"};
  const uint64_t free_bytes = static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
  const double part = info.f_blocks == 0 ? 0 : static_cast<double>(info.f_bavail) / static_cast<double>(info.f_blocks);
  const std::string said = StrCat(free_bytes >> 20, " MiB free, ", static_cast<int>(part * 100), " %");
  if (free_bytes >= kFreeBytes && part >= kFreePart) return Good("disk.space", said);
  return {"disk.space", free_bytes < kFreeBytes / 8 ? Severity::kFault : Severity::kWarning, said, "free space: a ledger that cannot be written permits nothing"};
}

Diagnosis CheckLedgerFolders(const std::string& folder) {
  std::vector<LedgerPlace> places;
  for (const std::string& found : FindLedgers(folder)) places.push_back({"", found, "", ""});
  if (places.empty()) return {"ledger.whole", Severity::kWarning, "there is no ledger yet", "start credbrokerd"};
  std::string said;
  for (const LedgerCheck& check : CheckLedgers(places, {})) {
    if (check.whole) continue;
    // A running ledger ends in what is being written; a torn tail is set aside at the next start.
    const bool torn = check.verdict == "torn_tail";
    return {"ledger.whole", torn ? Severity::kWarning : Severity::kFault, StrCat(check.folder, ": ", check.verdict, ": ", check.words),
            torn ? "start the service: it sets the torn bytes aside and goes on" : "keep the folder as it is, and compare it with a pinned checkpoint"};
  }
  return Good("ledger.whole", StrCat(places.size(), " ledgers verify; pin a checkpoint with `credbroker audit checkpoint`"));
}

Diagnosis CheckCa(const std::string& folder, absl::Time now) {
  const std::string path = StrCat(folder, "/pki/ca.pem");
  const auto pem = base::ReadFile(path, 64 * 1024);
  const auto facts = pem.ok() ? crypto::ReadCertificate(*pem) : pem.status();
  if (!facts.ok()) return {"ca.expiry", Severity::kWarning, StrCat(path, " cannot be read as a certificate"), "start the broker: it writes the file again"};
  const std::string until = std::string(base::View(absl::FormatTime("%Y-%m-%d", facts->not_after, absl::UTCTimeZone())));
  if (facts->not_after <= now) return {"ca.expiry", Severity::kFault, StrCat("the interception CA ended on ", until), "rotate the CA (deploy/README.md)"};
  if (facts->not_after - now < kCaWarning) return {"ca.expiry", Severity::kWarning, StrCat("the interception CA ends on ", until), "rotate the CA (deploy/README.md)"};
  return Good("ca.expiry", StrCat("the interception CA holds until ", until));
}

Diagnosis CheckClock() {
  timex clock{};
  const int state = adjtimex(&clock);
  if (state == TIME_ERROR || (clock.status & STA_UNSYNC) != 0) {
    return {"clock.synchronised", Severity::kWarning, "the kernel says that its clock is not synchronised", "run a time service: tokens and leases are a matter of minutes"};
  }
  return Good("clock.synchronised", "the clock is synchronised");
}

Diagnosis CheckRuntimeSockets(const std::vector<std::string>& sockets) {
  for (const std::string& path : sockets) {
    struct stat info;
    if (stat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) continue;
    if ((info.st_mode & 0006) == 0) continue;
    return {"runtime.socket", Severity::kFault, StrCat(path, " is open to every user: who reaches it commands the host"), StrCat("chmod o-rw ", path, ", and never mount it into a sandbox")};
  }
  return Good("runtime.socket", "no container runtime's socket is open to every user");
}

absl::Time TimeOf(const Json& row, const char* name) {
  absl::Time time = absl::InfinitePast();
  if (row.contains(name) && row[name].is_string()) absl::ParseTime(absl::RFC3339_full, row[name].get<std::string>(), &time, nullptr);
  return time;
}

Diagnosis CheckEdges(const Json& status) {
  int connected = 0;
  for (const Json& edge : status["edges"]) {
    if (!edge.value("connected", false)) continue;
    ++connected;
    if (!edge.value("ledger_ok", false)) {
      return {"edge.ledger", Severity::kFault, StrCat("edge ", TextCell(edge, "id"), " cannot write its ledger, so it permits nothing"), "free space or mend the folder; it recovers by itself"};
    }
  }
  if (connected == 0) return {"edge.connected", Severity::kFault, "no edge is connected", "start credbrokerd without --no-edge, or look at its log"};
  return Good("edge.connected", StrCat(connected, " connected, writing their ledgers"));
}

Diagnosis CheckListeners(const Json& status) {
  std::string open;
  for (const Json& listener : status["listeners"]) {
    const std::string text = listener.is_string() ? listener.get<std::string>() : "";
    const bool plain = text.find(" http://") != std::string::npos;
    const bool loopback = text.find("//127.") != std::string::npos || text.find("//[::1]") != std::string::npos;
    if (plain && !loopback) base::StrAppend(&open, open.empty() ? "" : ", ", text);
  }
  if (open.empty()) return Good("listeners.loopback", "listeners without TLS bind loopback");
  return {"listeners.loopback", Severity::kWarning, StrCat("tokens pass in plain text at ", open), "bind loopback, a private namespace, or session sockets"};
}

Diagnosis CheckExceptions(const Json& exceptions, absl::Time now) {
  std::string soon, over;
  for (const Json& one : exceptions) {
    if (one.value("built_in", false)) continue;
    const absl::Time expires = TimeOf(one, "expires");
    const std::string id = TextCell(one, "id"), state = TextCell(one, "state");
    if (state == "expired") base::StrAppend(&over, over.empty() ? "" : ", ", id);
    if (state == "active" && expires - now < kExceptionWarning) base::StrAppend(&soon, soon.empty() ? "" : ", ", id);
  }
  if (!soon.empty()) return {"exceptions.expiry", Severity::kWarning, StrCat("ends within two weeks: ", soon), "have its owner renew it, or let it end"};
  if (!over.empty()) return {"exceptions.expiry", Severity::kNote, StrCat("expired and blocked: ", over), "take it out of the policy"};
  return Good("exceptions.expiry", "none ends soon");
}

// Grants that nobody has opened a session under, as far as sessions are kept.
Diagnosis CheckUnused(const Json& sessions, const Json& status) {
  if (!status.contains("scopes") || !status["scopes"].is_array()) return Good("scopes.unused", "not asked");
  std::set<std::string> unused;
  for (const Json& scope : status["scopes"]) unused.insert(scope.get<std::string>());
  for (const Json& session : sessions) {
    for (const Json& scope : session.value("scopes", Json::array())) unused.erase(scope.get<std::string>());
  }
  if (unused.empty()) return Good("scopes.unused", "every scope has had a session");
  std::string names;
  for (const std::string& name : unused) base::StrAppend(&names, names.empty() ? "" : ", ", name);
  return {"scopes.unused", Severity::kNote, StrCat("never used: ", names), "take out of the policy what nobody needs"};
}

Diagnosis CheckPolicyAge(const Json& versions, absl::Time now) {
  if (versions.empty()) return {"policy.age", Severity::kWarning, "no policy is in force, so everything is denied", "credbroker apply -f policy.yaml"};
  const absl::Time at = TimeOf(versions.front(), "applied_at");
  const std::string said = StrCat("version ", TextCell(versions.front(), "version"), " is ", absl::ToInt64Hours(now - at) / 24, " days old");
  if (now - at < kPolicyNote) return Good("policy.age", said);
  return {"policy.age", Severity::kNote, said, "read it again: `credbroker policy get`"};
}

Diagnosis CheckWarnings(const Json& status) {
  std::string all;
  for (const Json& warning : status["warnings"]) base::StrAppend(&all, all.empty() ? "" : "; ", warning.get<std::string>());
  if (all.empty()) return Good("broker.warnings", "the broker has none");
  return {"broker.warnings", Severity::kWarning, all, "each names what is missing"};
}

}  // namespace

std::string_view SeverityName(Severity severity) {
  constexpr std::string_view kNames[] = {"good", "note", "warning", "fault"};
  return kNames[static_cast<int>(severity)];
}

std::vector<Diagnosis> ExamineFolder(const DoctorPlaces& places, absl::Time now) {
  Diagnosis modes = CheckModes(places.data_dir);
  if (modes.id == "data.folder") return {modes};
  return {std::move(modes),  CheckSocket(places.data_dir), CheckDisk(places.data_dir), CheckLedgerFolders(places.data_dir), CheckCa(places.data_dir, now),
          CheckClock(), CheckRuntimeSockets(places.runtime_sockets)};
}

std::vector<Diagnosis> ExamineBroker(const Json& status, const Json& exceptions, const Json& sessions, const Json& versions, absl::Time now) {
  Diagnosis ledger = status.value("ledger_ok", false) ? Good("broker.ledger", "the broker's ledger is writable")
                                                      : Diagnosis{"broker.ledger", Severity::kFault, "the broker cannot write its ledger, so it issues nothing", "free space or mend the folder"};
  return {std::move(ledger), CheckEdges(status), CheckListeners(status), CheckWarnings(status), CheckExceptions(exceptions, now), CheckUnused(sessions, status), CheckPolicyAge(versions, now)};
}

}  // namespace credbroker::client
