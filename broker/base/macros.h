#pragma once

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/error.h"

// Guards. Each layer adds once what it was doing: `RETURN_IF_ERROR(Save(row), "saving session s-17")`.
// The context may be left out. In coroutines use the CO_ forms.
#define CREDBROKER_CONCAT_(a, b) a##b
#define CREDBROKER_CONCAT(a, b) CREDBROKER_CONCAT_(a, b)

#define CREDBROKER_RETURN_IF_ERROR(ret, expr, ...)                                     \
  do {                                                                                 \
    if (absl::Status status_ = (expr); !status_.ok()) {                                \
      ret ::credbroker::base::WithContext(std::move(status_) __VA_OPT__(, ) __VA_ARGS__); \
    }                                                                                  \
  } while (false)

#define CREDBROKER_ASSIGN_OR(ret, name, lhs, expr, ...)                                       \
  auto name = (expr);                                                                         \
  if (!name.ok()) {                                                                           \
    ret ::credbroker::base::WithContext(std::move(name).status() __VA_OPT__(, ) __VA_ARGS__); \
  }                                                                                           \
  lhs = *std::move(name)

#define RETURN_IF_ERROR(expr, ...) CREDBROKER_RETURN_IF_ERROR(return, expr __VA_OPT__(, ) __VA_ARGS__)
#define CO_RETURN_IF_ERROR(expr, ...) CREDBROKER_RETURN_IF_ERROR(co_return, expr __VA_OPT__(, ) __VA_ARGS__)
#define ASSIGN_OR_RETURN(lhs, expr, ...) \
  CREDBROKER_ASSIGN_OR(return, CREDBROKER_CONCAT(or_, __LINE__), lhs, expr __VA_OPT__(, ) __VA_ARGS__)
#define ASSIGN_OR_CO_RETURN(lhs, expr, ...) \
  CREDBROKER_ASSIGN_OR(co_return, CREDBROKER_CONCAT(or_, __LINE__), lhs, expr __VA_OPT__(, ) __VA_ARGS__)
