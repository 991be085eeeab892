// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_PUBLISH_KEPT_LAYERS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_KEPT_LAYERS_H_

#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "models/program/program.h"

namespace vitrine {

// Functions that select operators to keep in a higher precision (see PrecisionChoice). They are pure; their callers
// measure the accuracy.

// Names of operators that must be computed in the same precision; never empty.
using OperatorGroup = std::vector<std::string>;

// Returns the groups of operators that bf16 and int8 change, in program order; none if `program` cannot run. A group is
// one of:
// - all linear layers that one product computes
// - one dense convolution over the grid
// - one attention among tokens or among channels
// - all convolutions of images, if none of them pools
// - all depthwise convolutions followed by a GELU and a BatchNorm; only their GELU changes
std::vector<OperatorGroup> NarrowableOperators(const program::Program& program);

// Returns indices of groups by descending error. NaN counts as infinite; equal errors stay in program order.
std::vector<size_t> SortByError(std::span<const double> errors);

// Returns the number of groups to keep in the next attempt if `kept` groups were not enough: 1, 2, 4, ... and finally
// `most`.
size_t KeepNext(size_t kept, size_t most);

// Returns the operators of the groups at these indices.
std::set<std::string> OperatorsAt(std::span<const OperatorGroup> groups, std::span<const size_t> places);

// Returns the operators of all groups except the group at index `place`.
std::set<std::string> OperatorsExcept(std::span<const OperatorGroup> groups, size_t place);

// Returns the root mean square of `results` - `others`, divided by the root mean square of `others`. `results` and
// `others` must have the same length. Returns infinity if a result is not finite, or if all of `others` are zero and
// some of `results` are not.
double RelativeError(std::span<const float> results, std::span<const float> others);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_KEPT_LAYERS_H_
