#include "edge/node_ids.h"

#include <algorithm>

#include "base/str.h"
#include "wire/json.h"

namespace credbroker::edge {
namespace {

// An answer's path without its element marks: `data/repository/issues/nodes/*/id` is asked for as `.../nodes/id`.
std::string AskedPath(std::string_view path) {
  std::string out;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), part.size() + 1));
    if (part != "*") base::StrAppend(&out, out.empty() ? "" : "/", part);
  }
  return out;
}

}  // namespace

void NodeIds::Learn(std::string_view session, std::string_view service, std::string_view repository,
                    const std::vector<std::string>& paths, std::string_view answer) {
  std::vector<wire::JsonValue> values;
  if (repository.empty() || paths.empty() || !wire::ReadJson(answer, {}, &values).ok()) return;
  const std::lock_guard lock(mutex_);
  auto [known, fresh] = sessions_.try_emplace(std::string(session));
  if (fresh) order_.emplace_back(session);
  for (const wire::JsonValue& value : values) {
    if (value.kind != wire::JsonValue::Kind::kString || value.text.empty() || value.text.size() > kMaxIdBytes) continue;
    if (std::find(paths.begin(), paths.end(), AskedPath(value.path)) == paths.end()) continue;
    std::string key = base::StrCat(service, " ", value.text);
    if (known->second.repository_of.insert_or_assign(key, std::string(repository)).second) known->second.order.push_back(std::move(key));
    if (known->second.order.size() <= kMaxIds) continue;
    known->second.repository_of.erase(known->second.order.front());
    known->second.order.pop_front();
  }
  if (sessions_.size() <= kMaxSessions) return;
  sessions_.erase(order_.front());
  order_.pop_front();
}

void NodeIds::Resolve(std::string_view session, std::string_view service, model::GraphqlFacts* operation) const {
  const std::lock_guard lock(mutex_);
  const auto known = sessions_.find(std::string(session));
  if (known == sessions_.end()) return;
  for (const model::SelectedField& field : operation->fields) {
    for (const model::BodyField& argument : field.arguments) {
      if (argument.kind != model::BodyField::Kind::kString || argument.text.size() > kMaxIdBytes) continue;
      const auto found = known->second.repository_of.find(base::StrCat(service, " ", argument.text));
      if (found != known->second.repository_of.end()) operation->nodes.insert_or_assign(argument.text, found->second);
    }
  }
}

}  // namespace credbroker::edge
