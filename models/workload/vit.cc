// SPDX-License-Identifier: Apache-2.0
// Vision Transformer (paper 003, 4.1): with norm POST the same operators in another order, and no norm before the head.
#include "absl/strings/str_cat.h"
#include "models/workload/families.h"
#include "models/workload/layers.h"

namespace vitrine::workload {

void DescribeVit(const v1::ModelConfig& config, const WorkloadInput&, Builder& builder) {
  const v1::VitConfig& vit = config.vit();
  LinearPatches(builder, config.preprocessing().channels(), vit.patch(), vit.width());
  ClassTokenAndPositions(builder, {vit.grid_rows(), vit.grid_columns()}, vit.width());
  builder.Enter(ModelPart::kBlock);
  const bool post = vit.norm() == v1::VitConfig::POST;
  for (int i = 0; i < vit.depth(); ++i) {
    builder.Within(absl::StrCat("blocks.", i), [&] {
      if (!post) builder.LayerNorm("norm", builder.tokens(), vit.width());
      SelfAttention(builder, vit.width(), vit.heads());
      builder.Add("add", builder.tokens(), vit.width());
      if (post) builder.LayerNorm("norm", builder.tokens(), vit.width());
      builder.Within("feed_forward", [&] {
        if (!post) builder.LayerNorm("norm", builder.tokens(), vit.width());
        builder.LinearGelu("fc1", builder.tokens(), vit.width(), vit.mlp_width());
        builder.Linear("fc2", builder.tokens(), vit.mlp_width(), vit.width());
        builder.Add("add", builder.tokens(), vit.width());
        if (post) builder.LayerNorm("norm", builder.tokens(), vit.width());
      });
    });
  }
  if (post) {
    builder.Enter(ModelPart::kHead);
    builder.Linear("head", builder.images(), vit.width(), config.classes());
  } else {
    NormAndHead(builder, vit.width(), config.classes());
  }
}

}  // namespace vitrine::workload
