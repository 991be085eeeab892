// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATUS_MACROS_H_
#define VITRINE_COMMON_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the enclosing function if the expression, an absl::Status, is not OK.
#define RETURN_IF_ERROR(expression)                              \
  do {                                                           \
    absl::Status status_of_expression = (expression);            \
    if (!status_of_expression.ok()) return status_of_expression; \
  } while (false)

#define VITRINE_CONCAT_INNER(a, b) a##b
#define VITRINE_CONCAT(a, b) VITRINE_CONCAT_INNER(a, b)
#define VITRINE_ASSIGN_OR_RETURN(result, left, expression) \
  auto result = (expression);                              \
  if (!result.ok()) return std::move(result).status();     \
  left = std::move(result).value()

// Assigns the value of an absl::StatusOr to `left` (which may declare a variable), or returns its status.
#define ASSIGN_OR_RETURN(left, expression) \
  VITRINE_ASSIGN_OR_RETURN(VITRINE_CONCAT(status_or_, __LINE__), left, expression)

#endif  // VITRINE_COMMON_STATUS_MACROS_H_
