// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_E2E_ANSWERS_H_
#define VITRINE_TESTS_E2E_ANSWERS_H_

#include <string>

#include "vitrine/v1/classifier.grpc.pb.h"
#include "vitrine/v1/registry.grpc.pb.h"

namespace vitrine::testing {

// Asks a served model for a picture's predictions, and for every kind of attention and feature that the registry says
// it has; expects answers whose shapes, sums and values make sense of themselves.
void CheckEverythingOffered(v1::Classifier::Stub& classifier, v1::Registry::Stub& registry, const std::string& model,
                            const std::string& picture);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_E2E_ANSWERS_H_
