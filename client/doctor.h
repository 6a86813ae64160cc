#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "client/json.h"

namespace credbroker::client {

enum class Severity { kGood, kNote, kWarning, kFault };
std::string_view SeverityName(Severity severity);  // "good", "note", "warning", "fault"

// What one check found, with what to do about it.
struct Diagnosis {
  std::string id;  // `data.modes`
  Severity severity = Severity::kGood;
  std::string found;
  std::string fix;  // empty when it is good
};

// Where the checks look. Tests give folders of their own.
struct DoctorPlaces {
  std::string data_dir;
  // Sockets by which a container could command its host (S68).
  std::vector<std::string> runtime_sockets = {"/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/podman/podman.sock", "/run/crio/crio.sock"};
};

// What needs no broker: owners and modes, master key, admin's access, API socket, free space, ledgers, CA, clock, runtime
// sockets. Reads only. `now` is the machine's time.
std::vector<Diagnosis> ExamineFolder(const DoctorPlaces& places, absl::Time now);

// What the broker says: `status` as StatusService tells it, `exceptions`, `sessions` and `versions` as lists of JSON.
std::vector<Diagnosis> ExamineBroker(const Json& status, const Json& exceptions, const Json& sessions, const Json& versions, absl::Time now);

}  // namespace credbroker::client
