#include "client/incident.h"

#include "base/str.h"
#include "client/command.h"
#include "client/table.h"

namespace credbroker::client {
namespace {

Json Picked(const Json& record, std::initializer_list<const char*> names) {
  Json row = Json::object();
  for (const char* name : names) row[name] = record.contains(name) ? record[name] : Json();
  return row;
}

// A cell of a Markdown table: one line, no markup.
std::string MarkdownCell(const Json& value) {
  const std::string text = value.is_null() ? "-" : value.is_string() ? value.get<std::string>() : LineJson(value);
  std::string out;
  for (const char c : Cell(text, 300)) {
    if (std::string_view("|`*_<>[]").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

void AddSection(const char* title, const Json& rows, std::string* text) {
  base::StrAppend(text, "\n## ", title, "\n\n");
  if (rows.empty()) {
    base::StrAppend(text, "none\n");
    return;
  }
  std::string names, rule;
  for (const auto& [name, value] : rows[0].items()) {
    base::StrAppend(&names, "| ", MarkdownCell(name), " ");
    base::StrAppend(&rule, "|---");
  }
  base::StrAppend(text, names, "|\n", rule, "|\n");
  for (const Json& row : rows) {
    for (const auto& [name, value] : row.items()) base::StrAppend(text, "| ", MarkdownCell(value), " ");
    base::StrAppend(text, "|\n");
  }
}

}  // namespace

bool IncidentReport::HasRoom(std::size_t size) {
  if (size < kMaxEach) return true;
  ++not_listed_;
  return false;
}

void IncidentReport::Note(Counts* counts, const std::string& name, const std::string& time) {
  if (name.empty() || (!counts->contains(name) && !HasRoom(counts->size()))) return;
  Count& count = (*counts)[name];
  if (count.count++ == 0) count.first = time;
  count.last = time;
}

void IncidentReport::TakeUse(const Json& record, const std::string& time) {
  Note(&credentials_, TextCell(record, "credential"), time);
  Note(&repositories_, TextCell(record, "repository"), time);
  Note(&hosts_, TextCell(record, "host"), time);
  Note(&exceptions_, TextCell(record, "exception"), time);
}

void IncidentReport::TakePush(const Json& record) {
  const auto refs = record.find("refs");
  if (refs == record.end() || !refs->is_array()) return;
  for (const Json& ref : *refs) {
    if (!HasRoom(pushes_.size())) return;
    Json row = Picked(record, {"id", "time", "session", "requester", "host", "repository", "credential"});
    row["ref"] = TextCell(ref, "ref");
    row["change"] = TextCell(ref, "change");
    row["new_id"] = TextCell(ref, "new_id");
    row["outcome"] = TextCell(record, "outcome");
    row["status"] = record.value("status", Json());
    pushes_.push_back(std::move(row));
  }
}

void IncidentReport::TakeIssue(const Json& record) {
  const std::string session = TextCell(record, "session");
  const std::string token = TextCell(record, "token_id");
  if (sessions_.contains(session) || HasRoom(sessions_.size())) {
    Session& held = sessions_[session];
    held.requester = TextCell(record, "requester");
    if (HasRoom(held.tokens.size())) held.tokens.insert(token);
  }
  if (HasRoom(tokens_.size())) {
    tokens_.push_back(Picked(record, {"id", "time", "token_id", "parent_token_id", "session", "action", "scopes", "actor", "detail"}));
  }
}

void IncidentReport::TakeSession(const Json& record, const std::string& time) {
  const std::string id = TextCell(record, "session");
  if (id.empty() || (!sessions_.contains(id) && !HasRoom(sessions_.size()))) return;
  Session& session = sessions_[id];
  if (const std::string requester = TextCell(record, "requester"); !requester.empty()) session.requester = requester;
  const std::string kind = TextCell(record, "kind");
  const std::string action = TextCell(record, "action");
  if (action == "session.open") session.opened = time;
  if (action == "session.close" || action == "session.expire") session.closed = time;
  session.allowed += kind == "intent" ? 1 : 0;
  session.refused += kind == "deny" ? 1 : 0;
}

void IncidentReport::Take(const Json& record) {
  ++records_;
  const std::string kind = TextCell(record, "kind");
  const std::string time = TextCell(record, "time");
  TakeSession(record, time);
  if (kind == "intent") TakeUse(record, time);
  if (kind == "outcome") TakePush(record);
  if (kind == "issue") TakeIssue(record);
  if (kind == "deny") Note(&refusals_, TextCell(record, "code"), time);
  if (kind == "misuse" && HasRoom(misuse_.size())) {
    misuse_.push_back(Picked(record, {"id", "time", "session", "token_id", "peer", "code"}));
  }
  if (kind == "revoke" && HasRoom(revocations_.size())) {
    revocations_.push_back(Picked(record, {"id", "time", "action", "subject", "actor", "detail"}));
  }
  if (kind == "admin" && HasRoom(changes_.size())) {
    changes_.push_back(Picked(record, {"id", "time", "action", "subject", "actor", "before", "after", "detail"}));
  }
}

Json IncidentReport::Report(const std::string& since, const std::string& until) const {
  const auto rows = [](const char* name, const Counts& counts) {
    Json list = Json::array();
    for (const auto& [text, count] : counts) {
      list.push_back({{name, text}, {"count", count.count}, {"first", count.first}, {"last", count.last}});
    }
    return list;
  };
  Json sessions = Json::array();
  for (const auto& [id, session] : sessions_) {
    sessions.push_back({{"session", id},
                        {"requester", session.requester},
                        {"opened", session.opened},
                        {"closed", session.closed},
                        {"tokens", session.tokens.size()},
                        {"allowed", session.allowed},
                        {"refused", session.refused}});
  }
  return {{"window", {{"since", since}, {"until", until}}},
          {"records", records_},
          {"sessions", sessions},
          {"tokens", tokens_},
          {"credentials", rows("credential", credentials_)},
          {"repositories", rows("repository", repositories_)},
          {"hosts", rows("host", hosts_)},
          {"pushes", pushes_},
          {"refusals", rows("code", refusals_)},
          {"misuse", misuse_},
          {"exceptions", rows("exception", exceptions_)},
          {"revocations", revocations_},
          {"changes", changes_},
          {"not_listed", not_listed_}};
}

std::string IncidentMarkdown(const Json& report) {
  std::string text = base::StrCat("# Incident report\n\nWindow: ", MarkdownCell(report["window"]["since"]), " to ",
                                  MarkdownCell(report["window"]["until"]), ". Records: ", MarkdownCell(report["records"]),
                                  ". Not listed for want of room: ", MarkdownCell(report["not_listed"]), ".\n");
  AddSection("Sessions", report["sessions"], &text);
  AddSection("Tokens issued", report["tokens"], &text);
  AddSection("Credentials used", report["credentials"], &text);
  AddSection("Repositories", report["repositories"], &text);
  AddSection("Hosts", report["hosts"], &text);
  AddSection("Refs pushed", report["pushes"], &text);
  AddSection("Refusals", report["refusals"], &text);
  AddSection("Misuse of tokens", report["misuse"], &text);
  AddSection("Exceptions used", report["exceptions"], &text);
  AddSection("Revocations", report["revocations"], &text);
  AddSection("Changes by admins", report["changes"], &text);
  return text;
}

}  // namespace credbroker::client
