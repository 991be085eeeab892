// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_MODELS_REGISTRY_VERSION_DIFFERENCE_H_
#define VITRINE_SERVER_MODELS_REGISTRY_VERSION_DIFFERENCE_H_

#include <string>

#include "server/models/registry/loaded_model.h"

namespace vitrine {

// In which way the classes of a version are not those of another, for people: "its class 3 is "cat" and not "dog"".
// Empty where they are the same.
std::string OtherClasses(const LoadedModel& version, const LoadedModel& other);

// Likewise its classes or its architecture; sizes of pictures and preprocessing are no part of that.
std::string OtherModel(const LoadedModel& version, const LoadedModel& other);

// Both take the same inputs: what was preprocessed for one can be computed by the other.
bool TakeTheSameInputs(const LoadedModel& version, const LoadedModel& other);

}  // namespace vitrine

#endif  // VITRINE_SERVER_MODELS_REGISTRY_VERSION_DIFFERENCE_H_
