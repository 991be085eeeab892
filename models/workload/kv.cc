// SPDX-License-Identifier: Apache-2.0
// KV transformer, vision classifier (paper 004, 5.3 to 5.5).
#include "absl/strings/str_cat.h"
#include "models/workload/families.h"
#include "models/workload/layers.h"

namespace vitrine::workload {
namespace {

void KvAttention(Builder& builder, const v1::KvConfig& kv) {
  const bool queries = kv.attention() == v1::KvConfig::QKV;
  const bool positions = kv.attention() == v1::KvConfig::KV_POS;
  builder.Within("attention", [&] {
    builder.Linear("projection", builder.tokens(), kv.width(), (queries ? 3 : 2) * int64_t{kv.width()}, false);
    if (positions) {
      // The published form maps [score_ij + P_ijc] over c; the reduced one, which all counts take, is a scale of the
      // logits and one offset per key.
      const int64_t n = builder.grid().cells() + 1;
      builder.Elementwise(OperatorKind::kAffine, "map_pos", builder.images() * kv.heads() * n, n,
                          kv.position_channels() + 1);
    }
    MixTokens(builder, kv.heads(), kv.width() / kv.heads());
    builder.Linear("output", builder.tokens(), kv.width(), kv.width());
  });
}

}  // namespace

void DescribeKv(const v1::ModelConfig& config, const WorkloadInput&, Builder& builder) {
  const v1::KvConfig& kv = config.kv();
  LinearPatches(builder, config.preprocessing().channels(), kv.patch(), kv.width());
  ClassTokenAndPositions(builder, {kv.grid_rows(), kv.grid_columns()}, kv.width());
  builder.Enter(ModelPart::kBlock);
  for (int i = 0; i < kv.depth(); ++i) {
    builder.Within(absl::StrCat("blocks.", i), [&] {
      builder.LayerNorm("norm", builder.tokens(), kv.width());
      KvAttention(builder, kv);
      builder.Add("add", builder.tokens(), kv.width());
      FeedForward(builder, builder.tokens(), builder.tokens(), kv.width(), kv.mlp_width());
      builder.Add("feed_forward.add", builder.tokens(), kv.width());
    });
  }
  builder.Enter(ModelPart::kHead);
  builder.Linear("head_in", builder.images(), kv.width(), kv.mlp_width());
  builder.Gelu("head_gelu", builder.images(), kv.mlp_width());
  builder.Linear("head_out", builder.images(), kv.mlp_width(), config.classes());
}

}  // namespace vitrine::workload
