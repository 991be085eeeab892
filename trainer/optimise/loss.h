// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_OPTIMISE_LOSS_H_
#define VITRINE_TRAINER_OPTIMISE_LOSS_H_

#include <ATen/core/Tensor.h>

namespace vitrine {

// Returns the mean cross entropy of logits [images, classes] and labels [images] int64. With label smoothing e, a
// target is 1 - e times the one-hot label plus e times the uniform distribution. Differentiable.
at::Tensor ClassificationLoss(const at::Tensor& logits, const at::Tensor& labels, double label_smoothing);

// Returns the mean cross entropy of logits and target distributions, both [images, classes] fp32. Differentiable.
at::Tensor SoftTargetLoss(const at::Tensor& logits, const at::Tensor& targets);

// Counts the rows whose highest logit is at the label.
int64_t CountCorrect(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_OPTIMISE_LOSS_H_
