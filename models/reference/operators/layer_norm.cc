// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/layer_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/sum_by_chunks.h"

namespace vitrine {
namespace {

constexpr int64_t kRowsOfAThread = 64;  // with fewer rows, a second thread would save no time

void RunNorm(const at::Tensor& values, const at::Tensor& weight, const at::Tensor& bias, double epsilon, at::Tensor& y,
             const at::Tensor& statistics) {
  const int64_t width = values.size(1);
  WithKernels(y.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
    at::parallel_for(0, values.size(0), kRowsOfAThread, [&](int64_t begin, int64_t end) {
      kernels.norm({.x = {Elements<float>(values) + begin * width, end - begin, width, width},
                    .epsilon = static_cast<float>(epsilon),
                    .weight = Elements<float>(weight),
                    .bias = Elements<float>(bias),
                    .y = MutableElements<E>(y) + begin * width,
                    .statistics = MutableElements<float>(statistics) + 2 * begin});
    });
  });
}

class NormFunction : public torch::autograd::Function<NormFunction> {
 public:
  // Normalises x [T, width], fp32; the result has the type `type`.
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, double epsilon, at::ScalarType type) {
    const at::Tensor values = x.contiguous();
    const at::Tensor statistics = at::empty({x.size(0), 2}, at::kFloat);
    at::Tensor y = at::empty(values.sizes(), values.options().dtype(type));
    context->save_for_backward({values, weight, statistics});
    RunNorm(values, weight, bias, epsilon, y, statistics);
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor dy = gradients[0].contiguous();
    at::Tensor dx = at::empty_like(x);
    at::Tensor dweight = at::zeros({x.size(1)}, at::kFloat), dbias = at::zeros({x.size(1)}, at::kFloat);
    WithKernels(dy.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      const int64_t width = x.size(1);
      SumByChunks<2>(x.size(0), kRowsOfAChunk, {dweight, dbias}, [&](int64_t first, int64_t count, const auto& sums) {
        kernels.norm_gradient({.x = {Elements<float>(x) + first * width, count, width, width},
                               .weight = Elements<float>(saved[1]),
                               .statistics = Elements<float>(saved[2]) + 2 * first,
                               .dy = Elements<E>(dy) + first * width,
                               .dx = MutableElements<float>(dx) + first * width,
                               .dweight = MutableElements<float>(sums[0]),
                               .dbias = MutableElements<float>(sums[1])});
      });
    });
    return {dx, dweight, dbias, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor NormalizeLayer(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double epsilon,
                          const ForwardContext& context, at::ScalarType type) {
  if (UsesOwnGradients(x, context)) return NormFunction::apply(x, weight, bias, epsilon, type);
  if (RunsOnKernels(x, context)) {  // avoids autograd, which takes as long as the norm of a small image
    const at::Tensor values = x.contiguous();
    at::Tensor y = at::empty(values.sizes(), values.options().dtype(type));
    RunNorm(values, weight, bias, epsilon, y, at::empty({x.size(0), 2}, at::kFloat));
    return y;
  }
  return at::layer_norm(x, weight.sizes(), weight, bias, epsilon);
}

}  // namespace vitrine
