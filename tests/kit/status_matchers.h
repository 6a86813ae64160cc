#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/error.h"

namespace credbroker::base {
// So that a failing test prints `no_rule`, not a number.
void PrintTo(ErrorCode code, std::ostream* out);
}  // namespace credbroker::base

namespace credbroker::testing_kit {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& result) {
  return result.status();
}

// EXPECT_THAT(Parse(text), IsOk());
MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg).ToString();
  return StatusOf(arg).ok();
}

// EXPECT_THAT(Parse(text), FailsWith(base::ErrorCode::kBadDuration));
MATCHER_P(FailsWith, code, "fails with " + std::string(base::Lookup(code).name)) {
  *result_listener << StatusOf(arg).ToString();
  return base::CodeOf(StatusOf(arg)) == code;
}

}  // namespace credbroker::testing_kit

// ASSERT_OK_AND_ASSIGN(auto grant, Verify(token));
#define KIT_CONCAT_(a, b) a##b
#define KIT_CONCAT(a, b) KIT_CONCAT_(a, b)
#define ASSERT_OK_AND_ASSIGN(lhs, expr)                                          \
  auto KIT_CONCAT(result_, __LINE__) = (expr);                                   \
  ASSERT_THAT(KIT_CONCAT(result_, __LINE__), ::credbroker::testing_kit::IsOk()); \
  lhs = *std::move(KIT_CONCAT(result_, __LINE__))
