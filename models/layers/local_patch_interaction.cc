#include "models/layers/local_patch_interaction.h"

#include <ATen/ops/gelu.h>

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
  // Rows of padding must not count in the statistics of a batch in training.
  at::Tensor y = norm_.Forward(x.data);
  if (context.training) y = y.narrow(0, 0, x.layout->total_tokens());
  y = at::gelu(first_.Forward({y, x.layout}, context));
  y = second_.Forward({batch_norm_.Forward(y, context), x.layout}, context);
  return JoinRuns({y}, x.data.size(0));
}

}  // namespace vitrine
