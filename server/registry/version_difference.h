// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_REGISTRY_VERSION_DIFFERENCE_H_
#define VITRINE_SERVER_REGISTRY_VERSION_DIFFERENCE_H_

#include <string>

#include "server/registry/version/loaded_model.h"

namespace vitrine {

// Describes for people how the classes of a version differ from the classes of another version: `its class 3 is "cat"
// instead of "dog"`. Empty if they are equal.
std::string OtherClasses(const LoadedModel& version, const LoadedModel& other);

// Describes a difference in classes or architecture; ignores input sizes and preprocessing. Empty if there is none.
std::string OtherModel(const LoadedModel& version, const LoadedModel& other);

// Returns true if both versions accept the same inputs: an image that was preprocessed for one version can be computed
// by the other version.
bool TakeTheSameInputs(const LoadedModel& version, const LoadedModel& other);

}  // namespace vitrine

#endif  // VITRINE_SERVER_REGISTRY_VERSION_DIFFERENCE_H_
