#include "models/layers/dropout.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace vitrine {
namespace {

// The finaliser of SplitMix64: a counter in, 64 well-mixed bits out.
uint64_t Mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

at::Tensor Dropout(const at::Tensor& x, int site, const ForwardContext& context) {
  // Eight decisions are the eight bytes of one random word, hence the steps of 1/256.
  const int threshold = static_cast<int>(std::lround(context.dropout * 256));
  if (!context.training || threshold <= 0) return x;
  const float keep = 256.0F / (256 - std::min(threshold, 255));
  const uint64_t key = Mix(Mix(context.dropout_seed) + site);
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

}  // namespace vitrine
