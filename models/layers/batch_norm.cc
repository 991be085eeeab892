#include "models/layers/batch_norm.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/batch_norm.h>

namespace vitrine {

BatchNorm::BatchNorm(int channels, Initializer& initializer, double epsilon, double momentum)
    : epsilon_(epsilon), momentum_(momentum) {
  RegisterParameter("weight", weight_, initializer.Ones({channels}));
  RegisterParameter("bias", bias_, initializer.Zeros({channels}));
  RegisterBuffer("running_mean", running_mean_, initializer.Zeros({channels}));
  RegisterBuffer("running_var", running_variance_, initializer.Ones({channels}));
}

at::Tensor BatchNorm::Forward(const at::Tensor& x, const ForwardContext& context) const {
  // Without running statistics to write LibTorch takes the batch's and leaves ours.
  const bool pass = !context.training || context.update_statistics;
  return at::batch_norm(x, weight_, bias_, pass ? running_mean_ : at::Tensor(), pass ? running_variance_ : at::Tensor(),
                        context.training, momentum_, epsilon_, /*cudnn_enabled=*/true);
}

at::Tensor BatchNorm::Scale() const {
  return weight_ * (running_variance_ + epsilon_).rsqrt();
}

at::Tensor BatchNorm::Shift() const {
  return bias_ - running_mean_ * Scale();
}

}  // namespace vitrine
