// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/attention/class_attention.h"

#include <ATen/TensorOperators.h>

#include <cmath>
#include <utility>

#include "models/reference/operators/attention/attention.h"
#include "models/reference/operators/attention/capture.h"
#include "models/reference/operators/dropout.h"
#include "models/reference/operators/token_sequence.h"

namespace vitrine {

at::Tensor AttendFromClass(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, int heads,
                           const TokenLayout& layout, int layer, int site, const ForwardContext& context) {
  const int64_t width = k.size(1);
  const double scale = 1 / std::sqrt(static_cast<double>(width) / heads);
  const at::Tensor queries = q.view({-1, heads, 1, width / heads});  // [images, h, 1, d_h]
  const at::Tensor keys = k.view({-1, heads, width / heads});        // [T, h, d_h]
  const at::Tensor values = v.view({-1, heads, width / heads});
  std::vector<at::Tensor> outputs;
  for (const TokenLayout::Run& run : layout.runs()) {
    const at::Tensor of_run = queries.narrow(0, run.first_image, run.images);
    const at::Tensor keys_of_run = HeadsOfRun(keys, run);  // [B, h, n, d_h]
    Capture(context.tap, AttentionSource::kClassQuery, layer, run.first_image, run.images, [&](int i) {
      const at::Tensor scores = (of_run[i] * scale).matmul(keys_of_run[i].transpose(1, 2));  // [h, 1, n]
      return Explicit(scores, scores.softmax(-1));
    });
    const at::Tensor mixed = AttendRun(of_run, keys_of_run, HeadsOfRun(values, run), scale, run, site, context);
    outputs.push_back(mixed.reshape({run.images, width}));
  }
  return JoinRuns(std::move(outputs), layout.images());
}

}  // namespace vitrine
