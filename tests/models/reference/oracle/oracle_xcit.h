// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_REFERENCE_ORACLE_ORACLE_XCIT_H_
#define VITRINE_TESTS_MODELS_REFERENCE_ORACLE_ORACLE_XCIT_H_

#include "tests/models/reference/oracle/oracle_weights.h"

namespace vitrine::testing {

// Computes XCiT with its embeddings in their published form: F-SNE with the code appended to every token.
at::Tensor XcitLogits(const Weights& weights, const v1::XcitConfig& xcit, const at::Tensor& image);

// Computes X-ViT by its implicit map: M V, where M is N x N.
at::Tensor XVitLogits(const Weights& weights, const v1::XVitConfig& xvit, const at::Tensor& image);

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_REFERENCE_ORACLE_ORACLE_XCIT_H_
