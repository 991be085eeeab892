// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/loss.h"

#include <ATen/ops/cross_entropy_loss.h>

namespace vitrine {

at::Tensor ClassificationLoss(const at::Tensor& logits, const at::Tensor& labels, double label_smoothing) {
  constexpr int64_t kIgnoreNothing = -100;
  return at::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::Mean, kIgnoreNothing, label_smoothing);
}

at::Tensor SoftTargetLoss(const at::Tensor& logits, const at::Tensor& targets) {
  return at::cross_entropy_loss(logits, targets);
}

int64_t CountCorrect(const at::Tensor& logits, const at::Tensor& labels) {
  return logits.argmax(1).eq(labels).sum().item<int64_t>();
}

}  // namespace vitrine
