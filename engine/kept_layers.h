// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_ENGINE_KEPT_LAYERS_H_
#define VITRINE_ENGINE_KEPT_LAYERS_H_

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "models/program/program.h"

namespace vitrine {

// Which operators of a program are kept from a precision (PrecisionChoice). Pure: what an operator costs is measured
// elsewhere.

// Operators, by name, that are computed in a precision together or not at all; never empty.
using OperatorGroup = std::vector<std::string>;

// What engines compute otherwise in bf16 and int8, in the program's order: every linear map, dense convolution of a
// grid and attention of tokens or channels by itself, those that share one product together, all convolutions of
// pictures together, if none of them pools, and all depthwise convolutions before a GELU together, whose GELU it is.
std::vector<OperatorGroup> NarrowableOperators(const program::Program& program);

// Places of groups, the one with the largest error first; what is no number goes before all, and of equal ones the
// earlier of the program.
std::vector<size_t> WorstFirst(std::span<const double> errors);

// How many groups to keep after `kept` were not enough: 1, 2, 4, ... and at last `most`. It ends there.
size_t KeepNext(size_t kept, size_t most);

// The operators of the groups at these places.
std::set<std::string> OperatorsAt(std::span<const OperatorGroup> groups, std::span<const size_t> places);

// The operators of every group but the one at `place`.
std::set<std::string> OperatorsBut(std::span<const OperatorGroup> groups, size_t place);

// How far results are from others, as many: the root of the mean square of the difference, in parts of the others'.
// Infinite where a result is no number, or the others are zero and these are not.
double RelativeError(std::span<const float> results, std::span<const float> others);

}  // namespace vitrine

#endif  // VITRINE_ENGINE_KEPT_LAYERS_H_
