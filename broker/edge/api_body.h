#pragma once

#include <string>

#include "base/error.h"
#include "base/task.h"
#include "edge/body.h"
#include "edge/options.h"
#include "wire/inflate.h"

namespace credbroker::edge {

// The whole body of an API request whose effect depends on it, read and decoded before the decision. What was judged is what goes
// upstream: the same bytes, decoded.
class ApiBody {
 public:
  ApiBody(net::Stream& stream, BodySource& source, const EdgeOptions& options) : stream_(stream), source_(source), options_(options) {}

  // Fails kBodyUndecided (an unknown coding, broken or longer than options.max_api_body), kClientClosed, and as the framing does.
  base::Task<base::ErrorCode> Read(std::string_view content_encoding);

  std::string_view text() const { return text_; }
  std::string Take() { return text_; }  // a copy: a request may be sent a second time

 private:
  net::Stream& stream_;
  BodySource& source_;
  const EdgeOptions& options_;
  std::string text_;
};

}  // namespace credbroker::edge
