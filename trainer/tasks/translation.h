// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASKS_TRANSLATION_H_
#define VITRINE_TRAINER_TASKS_TRANSLATION_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "trainer/task.h"
#include "vitrine/v1/recipe.pb.h"
#include "vitrine/v1/sequence.pb.h"

namespace vitrine {

// Kullback-Leibler divergence of each answer from a smoothed target (Szegedy et al. 2016, as Vaswani et al. 2017 use
// it): 1 - smoothing for the label, the rest spread evenly over all ids but label and padding. logits [..., V], labels
// [...] int64; 0 where the label is `padding`. [...] fp32, differentiable. Without smoothing this is cross entropy.
at::Tensor SmoothedDivergence(const at::Tensor& logits, const at::Tensor& labels, double smoothing, int64_t padding);

// Sentences into another language: words of a vocabulary by frequency, the divergence above per word (padding does not
// count), greedy decoding and corpus BLEU of the words, which are in lower case (see WordsOf). Where
// recipe.validation_share is above 0, the corpus' own validation split validates, whole.
absl::StatusOr<std::unique_ptr<Task>> MakeTranslationTask(const v1::Recipe& recipe, const v1::SequenceConfig& config,
                                                          const std::string& data);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_TRANSLATION_H_
