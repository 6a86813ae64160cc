#pragma once

#include <cstddef>

#include "base/error.h"

namespace credbroker::wire {

// What a parser says about a flat buffer. Parsers never wait and never throw; a result other than kNeedMore is final.
enum class ParseStep {
  kComplete,  // the element is whole; `consumed` bytes belong to it
  kNeedMore,  // call again with the same bytes and more behind them
  kError,     // refuse; `error` says why
};

struct ParseResult {
  ParseStep step = ParseStep::kNeedMore;
  std::size_t consumed = 0;
  base::ErrorCode error = base::ErrorCode::kNone;

  bool complete() const { return step == ParseStep::kComplete; }
  bool need_more() const { return step == ParseStep::kNeedMore; }
  bool failed() const { return step == ParseStep::kError; }

  static ParseResult Complete(std::size_t consumed) { return {ParseStep::kComplete, consumed, base::ErrorCode::kNone}; }
  static ParseResult NeedMore() { return {}; }
  static ParseResult Fail(base::ErrorCode code) { return {ParseStep::kError, 0, code}; }
};

// Whether the bytes given are all that will ever come.
enum class EndOfBody { kNo, kYes };

}  // namespace credbroker::wire
