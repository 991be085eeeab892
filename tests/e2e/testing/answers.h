// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_TESTING_ANSWERS_H_
#define VITRINE_TESTS_E2E_TESTING_ANSWERS_H_

#include <string>

#include "vitrine/v1/classifier.grpc.pb.h"
#include "vitrine/v1/registry.grpc.pb.h"

namespace vitrine::testing {

// Requests an image's predictions with every kind of attention and feature that the registry lists for the model.
// Expects consistent shapes, sums and values in the answer.
void CheckEverythingOffered(v1::Classifier::Stub& classifier, v1::Registry::Stub& registry, const std::string& model,
                            const std::string& image);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_TESTING_ANSWERS_H_
