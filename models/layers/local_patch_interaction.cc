// SPDX-License-Identifier: Apache-2.0
#include "models/layers/local_patch_interaction.h"

#include "models/layers/elementwise.h"
#include "models/layers/token_sequence.h"

namespace vitrine {

LocalPatchInteraction::LocalPatchInteraction(int width, double norm_epsilon, Initializer& initializer)
    : norm_(width, norm_epsilon, initializer),
      first_(width, initializer),
      batch_norm_(width, initializer),
      second_(width, initializer) {
  RegisterChild("norm", norm_);
  RegisterChild("convolutions.0", first_);
  RegisterChild("batch_norm", batch_norm_);
  RegisterChild("convolutions.1", second_);
}

at::Tensor LocalPatchInteraction::Forward(const PackedTokens& x, const ForwardContext& context) const {
  const at::Tensor normalized = norm_.Forward(x.data, context);
  if (!context.training) {
    const at::Tensor y = first_.ForwardGelu({normalized, x.layout}, batch_norm_.Scale(), batch_norm_.Shift(), context);
    return second_.Forward({y, x.layout}, context);
  }
  // Rows that pad must not count in the statistics of the batch.
  const at::Tensor tokens = normalized.narrow(0, 0, x.layout->total_tokens());
  const at::Tensor y = batch_norm_.Forward(Gelu(first_.Forward({tokens, x.layout}, context), context), context);
  return JoinRuns({second_.Forward({y, x.layout}, context)}, x.data.size(0));
}

}  // namespace vitrine
