// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_COMMAND_LINE_NUMBER_CHECK_H_
#define VITRINE_COMMON_COMMAND_LINE_NUMBER_CHECK_H_

#include <CLI/CLI.hpp>

namespace vitrine {

// Returns the check of a flag that takes a number from `low` to `high`. CLI::Range accepts NaN; this check rejects it.
CLI::Validator NumberFrom(double low, double high);

// Returns the check of a flag that takes a finite number above 0.
CLI::Validator PositiveNumber();

}  // namespace vitrine

#endif  // VITRINE_COMMON_COMMAND_LINE_NUMBER_CHECK_H_
