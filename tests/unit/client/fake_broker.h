#pragma once

#include <memory>
#include <string>
#include <vector>

#include "client/command_line.h"

namespace credbroker::client {

// A broker in this process, on a Unix socket in a folder of its own, that answers with fixed values and keeps what it
// was asked. Only what the tests call is there.
class FakeBroker {
 public:
  FakeBroker();
  ~FakeBroker();
  FakeBroker(const FakeBroker&) = delete;
  FakeBroker& operator=(const FakeBroker&) = delete;

  std::string address() const;
  const std::string& folder() const { return folder_; }

  // `Call: what it was asked`, in order.
  std::vector<std::string> calls() const;
  // The error that every call fails with from now on; 0: none.
  void FailWith(int error);
  // The records that ListRecords and TailRecords give.
  void SetRecords(std::vector<std::string> lines);

 private:
  struct Services;
  std::string folder_;
  std::unique_ptr<Services> services_;
};

// What one run of the command line did.
struct RunResult {
  int code = 0;
  std::string out, err;
};

// Runs the command line in this process against `environment` and `input`.
RunResult RunLine(const std::vector<std::string>& arguments, Environment environment, const std::string& input = {});

}  // namespace credbroker::client
