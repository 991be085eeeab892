// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/batch_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/batch_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "models/reference/operators/cpu_kernels.h"
#include "models/reference/operators/sum_by_chunks.h"

namespace vitrine {
namespace {

struct ColumnStatistics {
  at::Tensor mean;      // [columns] fp32
  at::Tensor variance;  // mean square deviation, not the unbiased estimate
};

ColumnStatistics StatisticsOf(const at::Tensor& x) {
  const int64_t rows = x.size(0), columns = x.size(1);
  ColumnStatistics statistics{at::zeros({columns}, at::kFloat), at::zeros({columns}, at::kFloat)};
  WithKernels(x.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
    const auto add_chunks = [&](at::Tensor& total, const auto& add) {
      SumByChunks<1>(rows, kRowsOfAChunk, {total}, [&](int64_t first, int64_t count, const auto& sums) {
        add({Elements<E>(x) + first * columns, count, columns, columns}, MutableElements<float>(sums[0]));
      });
      total.div_(rows);
    };
    using Chunk = cpu::View<const E>;
    add_chunks(statistics.mean, [&](const Chunk& chunk, float* sums) { kernels.column_sums(chunk, sums); });
    add_chunks(statistics.variance, [&](const Chunk& chunk, float* sums) {
      kernels.column_squares(chunk, Elements<float>(statistics.mean), sums);
    });
  });
  return statistics;
}

class BatchNormFunction : public torch::autograd::Function<BatchNormFunction> {
 public:
  // Normalises x [rows, columns], fp32 or bf16, contiguous; `mean` and `inverse` are the statistics of x.
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const at::Tensor& mean, const at::Tensor& inverse, bool gelu) {
    context->save_for_backward({x, weight, bias, mean, inverse});
    context->saved_data["gelu"] = gelu;
    at::Tensor y = at::empty_like(x);
    WithKernels(x.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      cpu::ColumnNormCall<E> call = CallFor<E>({x, weight, bias, mean, inverse}, gelu);
      call.y = MutableElements<E>(y);
      kernels.column_norm(call);
    });
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor dy = gradients[0].contiguous();
    at::Tensor dx = at::empty_like(dy), dweight = at::zeros_like(saved[1]), dbias = at::zeros_like(saved[1]);
    WithKernels(dy.scalar_type(), [&]<class E>(const cpu::TrainingKernels<E>& kernels, E) {
      const cpu::ColumnNormGradientCall<E> call{.forward = CallFor<E>(saved, context->saved_data["gelu"].toBool()),
                                                .dy = Elements<E>(dy),
                                                .dx = MutableElements<E>(dx),
                                                .dweight = MutableElements<float>(dweight),
                                                .dbias = MutableElements<float>(dbias)};
      const auto add = [&](int64_t first, int64_t count, const auto& sums) {
        cpu::ColumnNormGradientCall<E> chunk = call;
        chunk.forward.x += first * call.forward.columns;
        chunk.forward.rows = count;
        chunk.dy += first * call.forward.columns;
        chunk.dweight = MutableElements<float>(sums[0]);
        chunk.dbias = MutableElements<float>(sums[1]);
        kernels.column_norm_sums(chunk);
      };
      SumByChunks<2>(call.forward.rows, kRowsOfAChunk, {dweight, dbias}, add);
      kernels.column_norm_gradient(call);
    });
    return {dx, dweight, dbias, at::Tensor(), at::Tensor(), at::Tensor()};
  }

 private:
  // Returns the kernel's arguments. `inputs` are x, weight, bias, mean and inverse.
  template <class E>
  static cpu::ColumnNormCall<E> CallFor(const torch::autograd::variable_list& inputs, bool gelu) {
    return {.rows = inputs[0].size(0),
            .columns = inputs[0].size(1),
            .x = Elements<E>(inputs[0]),
            .mean = Elements<float>(inputs[3]),
            .inverse = Elements<float>(inputs[4]),
            .weight = Elements<float>(inputs[1]),
            .bias = Elements<float>(inputs[2]),
            .gelu = gelu,
            .y = nullptr};
  }
};

}  // namespace

namespace {

at::Tensor NormalizeRows(const at::Tensor& x, const BatchNormTensors& norm, bool gelu, const ForwardContext& context) {
  const at::Tensor rows = x.contiguous();
  at::Tensor mean, inverse;
  {
    const at::NoGradGuard no_grad;
    const ColumnStatistics statistics = StatisticsOf(rows);
    mean = statistics.mean;
    inverse = (statistics.variance + norm.epsilon).rsqrt();
    if (context.update_statistics) {
      const double count = static_cast<double>(x.size(0));
      norm.running_mean.mul_(1 - norm.momentum).add_(mean, norm.momentum);
      // Uses the unbiased estimate of the variance, as PyTorch does.
      norm.running_variance.mul_(1 - norm.momentum)
          .add_(statistics.variance, norm.momentum * count / std::max(count - 1, 1.0));
    }
  }
  return BatchNormFunction::apply(rows, norm.weight, norm.bias, mean, inverse, gelu);
}

}  // namespace

at::Tensor NormalizeBatch(const at::Tensor& x, const BatchNormTensors& norm, const ForwardContext& context) {
  if (context.training && x.dim() == 2 && UsesOwnGradients(x, context)) return NormalizeRows(x, norm, false, context);
  // Without running statistics as arguments, LibTorch uses the batch's statistics, and leaves the running statistics of
  // `norm` unchanged.
  const bool pass = !context.training || context.update_statistics;
  return at::batch_norm(x, norm.weight, norm.bias, pass ? norm.running_mean : at::Tensor(),
                        pass ? norm.running_variance : at::Tensor(), context.training, norm.momentum, norm.epsilon,
                        /*cudnn_enabled=*/true);
}

at::Tensor NormalizeBatchGelu(const at::Tensor& x, const BatchNormTensors& norm, const ForwardContext& context) {
  if (UsesOwnGradients(x, context)) return NormalizeRows(x, norm, true, context);
  return at::gelu(NormalizeBatch(x, norm, context));
}

at::Tensor BatchNormTensors::Scale() const {
  return weight * (running_variance + epsilon).rsqrt();
}

at::Tensor BatchNormTensors::Shift() const {
  return bias - running_mean * Scale();
}

}  // namespace vitrine
