#include "client/json.h"

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>

#include "absl/time/time.h"
#include "base/duration.h"
#include "base/text.h"
#include "nlohmann/json.hpp"

namespace credbroker::client {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

Json MessageJson(const Message& message) {
  if (const auto* time = dynamic_cast<const google::protobuf::Timestamp*>(&message)) {
    return base::TimeText(absl::FromUnixSeconds(time->seconds()) + absl::Nanoseconds(time->nanos()));
  }
  if (const auto* duration = dynamic_cast<const google::protobuf::Duration*>(&message)) {
    return base::DurationText(absl::Seconds(duration->seconds()) + absl::Nanoseconds(duration->nanos()));
  }
  return ToJson(message);
}

Json TextJson(const FieldDescriptor& field, const std::string& text) {
  return field.type() == FieldDescriptor::TYPE_BYTES ? Json(base::Base64Encode(text)) : Json(text);
}

Json SingleJson(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.GetInt64(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.GetUInt64(message, &field);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return reflection.GetDouble(message, &field);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return reflection.GetFloat(message, &field);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.GetEnum(message, &field)->name();
    case FieldDescriptor::CPPTYPE_STRING:
      return TextJson(field, reflection.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (!reflection.HasField(message, &field)) return nullptr;
      return MessageJson(reflection.GetMessage(message, &field));
  }
  return nullptr;
}

// The API repeats texts and messages only.
Json RepeatedJson(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  Json list = Json::array();
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      list.push_back(MessageJson(reflection.GetRepeatedMessage(message, &field, i)));
      continue;
    }
    list.push_back(TextJson(field, reflection.GetRepeatedString(message, &field, i)));
  }
  return list;
}

Json MapJson(const Message& message, const FieldDescriptor& field) {
  std::map<std::string, std::string> sorted;
  for (const Json& entry : RepeatedJson(message, field)) {
    sorted[entry.value("key", std::string())] = entry.value("value", std::string());
  }
  Json object = Json::object();
  for (const auto& [key, value] : sorted) object[key] = value;
  return object;
}

}  // namespace

Json ToJson(const Message& message) {
  Json object = Json::object();
  const auto* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor& field = *descriptor->field(i);
    Json& value = object[field.name()];
    if (field.is_map()) {
      value = MapJson(message, field);
    } else if (field.is_repeated()) {
      value = RepeatedJson(message, field);
    } else {
      value = SingleJson(message, field);
    }
  }
  return object;
}

std::string PrettyJson(const Json& json) { return json.dump(2, ' ', true, Json::error_handler_t::replace); }
std::string LineJson(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace); }

}  // namespace credbroker::client
