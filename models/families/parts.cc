// SPDX-License-Identifier: Apache-2.0
#include "models/families/parts.h"

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

namespace vitrine {

using program::Builder;
using program::Value;
using Place = program::Drop::Place;

Value LinearPatches(Builder& b, int patch, int64_t width, bool bias) {
  return b.Within("patches", [&] { return b.Linear("proj", b.Patchify(patch), width, bias); });
}

Value ConvolutionStem(Builder& b, int patch, int64_t width) {
  const int steps = patch == 16 ? 4 : 3;
  return b.Within("stem", [&] {
    std::vector<std::string> names;
    for (int i = 0; i < steps; ++i) names.push_back(absl::StrCat("convolutions.", i));
    b.ListsFirst(names);
    Value x = b.images();
    for (int i = 0; i < steps; ++i) {
      const program::Convolve convolve = {.stride = 2, .cut = i == 0 ? patch : 1};
      x = b.Convolve(names[static_cast<size_t>(i)], x, width >> (steps - 1 - i), convolve, /*bias=*/false);
      x = b.BatchNorm(absl::StrCat("norms.", i), x);
      if (i + 1 < steps) x = b.Gelu(absl::StrCat("gelu.", i), x);
    }
    return b.ToTokens(x);
  });
}

double AttentionScale(int64_t columns, int heads) {
  return 1 / std::sqrt(static_cast<double>(columns) / heads);
}

Value Project(Builder& b, Value mixed, int64_t width, const char* name) {
  return b.Drop(b.Linear(name, mixed, width), Place::kProjection, b.site() + 2);
}

Value SelfAttention(Builder& b, Value u, int heads) {
  const int64_t width = b.columns(u);
  return b.Within("attention", [&] {
    const Value qkv = b.Linear("qkv", u, 3 * width);
    const Value mixed = b.Attend("mix", {qkv}, {.heads = heads, .scale = AttentionScale(width, heads)});
    return Project(b, mixed, width);
  });
}

Value Mlp(Builder& b, Value u, int64_t hidden, Activation activation) {
  const Value wide = b.Linear("fc1", u, hidden);
  const Value active = activation == Activation::kGelu ? b.Gelu("gelu", wide) : b.QuickGelu("gelu", wide);
  const Value h = b.Drop(active, Place::kMlp, b.site());
  return b.Drop(b.Linear("fc2", h, b.columns(u)), Place::kMlp, b.site() + 1);
}

Value FeedForward(Builder& b, Value x, int64_t hidden, double norm_epsilon, Activation activation) {
  return b.Within("feed_forward", [&] { return Mlp(b, b.LayerNorm("norm", x, norm_epsilon), hidden, activation); });
}

Value LocalPatchInteraction(Builder& b, Value x, double norm_epsilon) {
  return b.Within("local", [&] {
    const Value near = b.ConvolveGrid("convolutions.0", b.LayerNorm("norm", x, norm_epsilon), /*depthwise=*/true);
    return b.ConvolveGrid("convolutions.1", b.BatchNorm("batch_norm", b.Gelu("gelu", near)), /*depthwise=*/true);
  });
}

}  // namespace vitrine
