// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/elementwise.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/addcmul.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/sum_by_chunks.h"

namespace vitrine {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kValuesOfAThread = 1 << 14;  // with fewer values, a second thread would save no time

class GeluFunction : public torch::autograd::Function<GeluFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x) {
    const at::Tensor values = x.contiguous();
    context->save_for_backward({values});
    at::Tensor y = at::empty_like(values);
    WithKernels(x.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      at::parallel_for(0, y.numel(), kValuesOfAThread, [&](int64_t begin, int64_t end) {
        kernels.gelu(Elements<E>(values) + begin, MutableElements<E>(y) + begin, end - begin);
      });
    });
    return y;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const at::Tensor x = context->get_saved_variables()[0];
    const at::Tensor dy = gradients[0].contiguous();
    at::Tensor dx = at::empty_like(x);
    WithKernels(x.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      kernels.gelu_gradient(Elements<E>(x), Elements<E>(dy), MutableElements<E>(dx), dx.numel());
    });
    return {dx};
  }
};

class BranchFunction : public torch::autograd::Function<BranchFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& branch,
                            const std::optional<at::Tensor>& scale) {
    const at::Tensor y = branch.contiguous();
    const at::Tensor values = x.contiguous();
    // Without a scale, the backward pass needs only the type and shape of y.
    context->save_for_backward({scale ? y : y.new_empty({0}), scale.value_or(at::Tensor())});
    at::Tensor z = at::empty_like(values);
    WithKernels(y.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      kernels.add_branch({.rows = z.size(0),
                          .columns = z.size(1),
                          .x = Elements<float>(values),
                          .scale = scale ? Elements<float>(*scale) : nullptr,
                          .y = Elements<E>(y),
                          .z = MutableElements<float>(z)});
    });
    return z;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& y = saved[0];
    const at::Tensor& scale = saved[1];
    const at::Tensor dz = gradients[0].contiguous();
    if (!scale.defined() && y.scalar_type() == at::kFloat) return {dz, dz, at::Tensor()};
    at::Tensor dy = at::empty(dz.sizes(), y.options());
    const at::Tensor dscale = scale.defined() ? at::zeros(scale.sizes(), scale.options()) : at::Tensor();
    WithKernels(y.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      const bool scaled = scale.defined();
      const int64_t columns = dz.size(1);
      SumByChunks<1>(dz.size(0), kRowsOfAChunk, {dscale}, [&](int64_t first, int64_t count, const auto& sums) {
        kernels.branch_gradient({.rows = count,
                                 .columns = columns,
                                 .dz = Elements<float>(dz) + first * columns,
                                 .scale = scaled ? Elements<float>(scale) : nullptr,
                                 .y = scaled ? Elements<E>(y) + first * columns : nullptr,
                                 .dy = MutableElements<E>(dy) + first * columns,
                                 .dscale = scaled ? MutableElements<float>(sums[0]) : nullptr});
      });
    });
    return {dz, dy, dscale};
  }
};

}  // namespace

at::Tensor Gelu(const at::Tensor& x, const ForwardContext& context) {
  return RunsOnKernels(x, context) ? GeluFunction::apply(x) : at::gelu(x);
}

at::Tensor AddBranch(const at::Tensor& x, const at::Tensor& y, const at::Tensor& scale, const ForwardContext& context) {
  if (UsesOwnGradients(x, context)) {
    return BranchFunction::apply(x, y, scale.defined() ? std::optional(scale) : std::nullopt);
  }
  return scale.defined() ? at::addcmul(x, scale, y) : x + y;
}

at::Tensor ColumnSums(const at::Tensor& x) {
  const bool ours = x.is_cpu() && (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
  if (!ours || x.stride(1) != 1) return x.sum(0, /*keepdim=*/false, at::kFloat);
  at::Tensor sums = at::zeros({x.size(1)}, at::kFloat);
  WithKernels(x.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
    SumByChunks<1>(x.size(0), kRowsOfAChunk, {sums}, [&](int64_t first, int64_t count, const auto& chunk) {
      kernels.column_sums({Elements<E>(x) + first * x.stride(0), count, x.size(1), x.stride(0)},
                          MutableElements<float>(chunk[0]));
    });
  });
  return sums;
}

}  // namespace vitrine
