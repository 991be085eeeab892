// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/channel_products.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <utility>

#include "models/reference/operators/attention/attention.h"
#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/token_sequence.h"

namespace vitrine {
namespace {

// Calls body(image, head) for every image and head, on several threads.
template <typename Body>
void ForHeads(const TokenLayout& layout, int64_t heads, const Body& body) {
  at::parallel_for(0, layout.images() * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(static_cast<int>(i / heads), i % heads);
  });
}

const float* HeadOf(const at::Tensor& x, const TokenLayout& layout, int image, int64_t head) {
  return x.const_data_ptr<float>() + layout.offset(image) * x.stride(0) + head * x.stride(1);
}

}  // namespace

at::Tensor ChannelProducts(const at::Tensor& a, const at::Tensor& b, const TokenLayout& layout,
                           const ForwardContext& context) {
  const int64_t heads = a.size(1), width = a.size(2);
  if (RunsWithoutGradient(a, context)) {
    at::Tensor products = at::empty({layout.images(), heads, width, width}, a.options());
    float* y = products.data_ptr<float>();
    ForHeads(layout, heads, [&](int image, int64_t head) {
      CpuKernels().product({.a = HeadOf(a, layout, image, head),
                            .a_row = a.stride(2),
                            .a_inner = a.stride(0),
                            .b = HeadOf(b, layout, image, head),
                            .b_stride = b.stride(0),
                            .rows = width,
                            .inner = layout.tokens(image),
                            .columns = width,
                            .y = y + (image * heads + head) * width * width,
                            .y_stride = width});
    });
    return products;
  }
  std::vector<at::Tensor> products;
  for (const TokenLayout::Run& run : layout.runs()) {
    products.push_back(at::matmul(HeadsOfRun(a, run).transpose(2, 3), HeadsOfRun(b, run)));
  }
  return JoinRuns(std::move(products), layout.images());
}

at::Tensor ChannelNorms(const at::Tensor& a, const TokenLayout& layout, const ForwardContext& context) {
  const int64_t heads = a.size(1), width = a.size(2);
  if (RunsWithoutGradient(a, context)) {
    at::Tensor norms = at::zeros({layout.images(), heads, width}, a.options());
    float* values = norms.data_ptr<float>();
    ForHeads(layout, heads, [&](int image, int64_t head) {
      float* sums = values + (image * heads + head) * width;
      const float* row = HeadOf(a, layout, image, head);
      for (int64_t token = 0; token < layout.tokens(image); ++token, row += a.stride(0)) {
        for (int64_t c = 0; c < width; ++c) sums[c] += row[c] * row[c];
      }
      for (int64_t c = 0; c < width; ++c) sums[c] = std::sqrt(sums[c]);
    });
    return norms;
  }
  std::vector<at::Tensor> norms;
  for (const TokenLayout::Run& run : layout.runs()) norms.push_back(at::linalg_vector_norm(HeadsOfRun(a, run), 2, 2));
  return JoinRuns(std::move(norms), layout.images());
}

at::Tensor MixChannels(const at::Tensor& x, const at::Tensor& matrices, const TokenLayout& layout,
                       const ForwardContext& context) {
  const int64_t heads = x.size(1), width = x.size(2);
  if (RunsWithoutGradient(x, context)) {
    const at::Tensor rows = matrices.contiguous();
    at::Tensor mixed = at::empty({x.size(0), heads * width}, x.options());
    mixed.slice(0, layout.total_tokens()).zero_();
    float* y = mixed.data_ptr<float>();
    ForHeads(layout, heads, [&](int image, int64_t head) {
      CpuKernels().product({.a = HeadOf(x, layout, image, head),
                            .a_row = x.stride(0),
                            .a_inner = x.stride(2),
                            .b = rows.const_data_ptr<float>() + (image * heads + head) * width * width,
                            .b_stride = width,
                            .rows = layout.tokens(image),
                            .inner = width,
                            .columns = width,
                            .y = y + layout.offset(image) * heads * width + head * width,
                            .y_stride = heads * width});
    });
    return mixed;
  }
  std::vector<at::Tensor> mixed;
  for (const TokenLayout::Run& run : layout.runs()) {
    const at::Tensor of_run = at::matmul(HeadsOfRun(x, run), matrices.narrow(0, run.first_image, run.images));
    mixed.push_back(of_run.transpose(1, 2).reshape({-1, heads * width}));
  }
  return JoinRuns(std::move(mixed), x.size(0));
}

}  // namespace vitrine
