// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_INSPECT_GENERATE_H_
#define VITRINE_TRAINER_INSPECT_GENERATE_H_

#include <cstdint>
#include <functional>
#include <span>

#include "absl/status/status.h"
#include "trainer/lab/sequence_model.h"

namespace vitrine {

struct GenerateOptions {
  int64_t context = 1;     // maximum number of last tokens that the model gets as input
  int64_t vocabulary = 1;  // only ids below this number are drawn; a model may have more ids than its text uses
  int64_t tokens = 200;
  double temperature = 1;  // divisor of the logits; 0: always the most likely token
  int64_t top_k = 0;       // number of most likely tokens to draw from; 0: all tokens
  uint64_t seed = 0;
};

// Draws a token id with the random number `uniform`, in [0, 1). If logits are equal, the lowest id counts as the most
// likely. Requires at least one logit.
int64_t DrawToken(std::span<const float> logits, const GenerateOptions& options, double uniform);

// Continues a batch of one sequence, and calls `take` with each new id. The ids depend only on the arguments. Requires
// a causal model of tokens. Returns the errors of RunSequenceModel.
absl::Status Generate(const SequenceModel& model, SequenceBatch batch, const GenerateOptions& options,
                      const std::function<void(int64_t id)>& take);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_INSPECT_GENERATE_H_
