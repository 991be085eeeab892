// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_LAB_TASKS_TRANSLATION_H_
#define VITRINE_TRAINER_LAB_TASKS_TRANSLATION_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// Returns the Kullback-Leibler divergence of each answer from a smoothed target (Szegedy et al. 2016, as in Vaswani et
// al. 2017). The target is 1 - smoothing for the label; `smoothing` is spread evenly over all ids except label and
// padding. `logits` is [..., V] for V ids; `labels` is [...] int64. The result is [...] fp32, with 0 where the label is
// `padding`. Differentiable. Without smoothing, the divergence is the cross entropy.
at::Tensor SmoothedDivergence(const at::Tensor& logits, const at::Tensor& labels, double smoothing, int64_t padding);

// Makes the task to translate sentences. The most frequent words are the vocabulary. The loss is SmoothedDivergence per
// word, without padding. Decoding is greedy, and the measure is corpus BLEU of lower-case words (see WordsOf). If
// recipe.validation_share is above 0, the whole validation split of the corpus is used for validation.
absl::StatusOr<std::unique_ptr<Task>> MakeTranslationTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                          const std::string& data);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_LAB_TASKS_TRANSLATION_H_
