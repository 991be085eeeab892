// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace vitrine {
namespace {

// Maps a counter to 64 well-mixed bits, with the finalizer of SplitMix64.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Constant that makes the random numbers for images differ from the random numbers for values.
constexpr uint64_t kOfImages = 0x5d0c4a1e7be3f219;

// Returns per image the factor of its residual branch: 0 if skipped, otherwise 1 / (1 - drop_path).
std::vector<float> PathFactors(int64_t images, int site, const ForwardContext& context) {
  const uint64_t key = Mix(Mix(context.dropout_seed ^ kOfImages) + site);
  std::vector<float> factors(images);
  for (int64_t i = 0; i < images; ++i) {
    const uint64_t image = context.first_image + i * context.image_stride;
    const double uniform = static_cast<double>(Mix(key + image) >> 11) * 0x1p-53;  // [0, 1)
    factors[i] = uniform < context.drop_path ? 0 : 1 / (1 - context.drop_path);
  }
  return factors;
}

}  // namespace

at::Tensor Dropout(const at::Tensor& x, float rate, int site, const ForwardContext& context, int run) {
  // Each of the eight bytes of a random word decides whether one value is dropped, so rates have steps of 1/256.
  const int threshold = static_cast<int>(std::lround(rate * 256));
  if (!context.training || threshold <= 0) return x;
  const float keep = 256.0F / (256 - std::min(threshold, 255));
  // The index of a value counts only this replica's values. The key contains the replica's first_image, so that
  // replicas use different random numbers.
  const uint64_t key = Mix(Mix(context.dropout_seed + context.first_image) + site + (static_cast<uint64_t>(run) << 32));
  at::Tensor mask = at::empty(x.sizes(), at::kFloat);
  float* values = mask.data_ptr<float>();
  const int64_t count = mask.numel();
  at::parallel_for(0, (count + 7) / 8, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t word = begin; word < end; ++word) {
      const uint64_t bits = Mix(key + static_cast<uint64_t>(word));
      const int64_t last = std::min<int64_t>(8, count - word * 8);
      for (int64_t byte = 0; byte < last; ++byte) {
        values[word * 8 + byte] = static_cast<int>(bits >> (8 * byte) & 255) < threshold ? 0 : keep;
      }
    }
  });
  return x * mask.to(x.device());
}

at::Tensor DropPath(const PackedTokens& branch, int site, const ForwardContext& context) {
  if (!context.training || context.drop_path <= 0) return branch.data;
  const TokenLayout& layout = *branch.layout;
  const std::vector<float> factors = PathFactors(layout.images(), site, context);
  at::Tensor rows = at::zeros({branch.data.size(0), 1}, at::kFloat);  // rows after the layout's last token are padding
  float* values = rows.data_ptr<float>();
  for (int image = 0; image < layout.images(); ++image) {
    std::fill_n(values + layout.offset(image), layout.tokens(image), factors[image]);
  }
  return branch.data * rows.to(branch.data.device());
}

at::Tensor DropPath(const at::Tensor& branch, int site, const ForwardContext& context) {
  if (!context.training || context.drop_path <= 0) return branch;
  const std::vector<float> factors = PathFactors(branch.size(0), site, context);
  std::vector<int64_t> shape(branch.dim(), 1);
  shape[0] = branch.size(0);
  at::Tensor images = at::empty(shape, at::kFloat);
  std::copy(factors.begin(), factors.end(), images.data_ptr<float>());
  return branch * images.to(branch.device());
}

}  // namespace vitrine
