#include "models/layers/layer_norm.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/layer_norm.h>

#include "models/layers/cpu_kernels.h"

namespace vitrine {

LayerNorm::LayerNorm(int width, double epsilon, Initializer& initializer) : epsilon_(epsilon) {
  RegisterParameter("weight", weight_, initializer.Ones({width}));
  RegisterParameter("bias", bias_, initializer.Zeros({width}));
}

at::Tensor LayerNorm::Forward(const at::Tensor& x) const {
  return at::layer_norm(x, weight_.sizes(), weight_, bias_, epsilon_);
}

at::Tensor LayerNorm::Forward(const at::Tensor& x, const ForwardContext& context) const {
  const cpu::KernelTable* kernels = KernelsFor(x, context);
  if (kernels == nullptr || !x.is_contiguous()) return Forward(x);
  at::Tensor y = at::empty_like(x);
  const int64_t width = x.size(1);
  const float* from = x.const_data_ptr<float>();
  float* to = y.data_ptr<float>();
  at::parallel_for(0, x.size(0), 64, [&](int64_t begin, int64_t end) {
    kernels->layer_norm({from + begin * width, end - begin, width, width}, static_cast<float>(epsilon_),
                        weight_.const_data_ptr<float>(), bias_.const_data_ptr<float>(),
                        {to + begin * width, end - begin, width, width});
  });
  return y;
}

}  // namespace vitrine
