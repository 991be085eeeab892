// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/custom.h"

#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <utility>

#include "models/reference/operators/cpu_kernels.h"

namespace vitrine {
namespace {

at::Tensor RowsOnCpu(const at::Tensor& x) {
  return x.to(at::kCPU, at::kFloat).contiguous();
}

at::Tensor ZerosLike(const at::Tensor& rows) {
  return at::zeros(rows.sizes(), at::kFloat);
}

struct CustomHolder : torch::CustomClassHolder {
  CustomHolder(std::shared_ptr<const TokenLayout> of, program::Custom::Gradient by)
      : layout(std::move(of)), gradient(by) {}
  const std::shared_ptr<const TokenLayout> layout;
  const program::Custom::Gradient gradient;
};

class CustomFunction : public torch::autograd::Function<CustomFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x,
                            const std::shared_ptr<const TokenLayout>& layout, program::Custom::Forward forward,
                            program::Custom::Gradient gradient) {
    const at::Tensor rows = RowsOnCpu(x);
    context->save_for_backward({rows});
    context->saved_data["call"] = at::IValue::make_capsule(c10::make_intrusive<CustomHolder>(layout, gradient));
    context->saved_data["device"] = x.device();
    at::Tensor y = ZerosLike(rows);
    for (int image = 0; image < layout->images(); ++image) {
      const int64_t first = layout->offset(image) * rows.size(1);
      forward(layout->grid(image), rows.size(1), Elements<float>(rows) + first, MutableElements<float>(y) + first);
    }
    return y.to(x.device());
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const at::Tensor rows = context->get_saved_variables()[0];
    const auto call = c10::static_intrusive_pointer_cast<CustomHolder>(context->saved_data["call"].toCapsule());
    const TokenLayout& layout = *call->layout;
    const at::Tensor dy = RowsOnCpu(gradients[0]);
    at::Tensor dx = ZerosLike(rows);
    for (int image = 0; image < layout.images(); ++image) {
      const int64_t first = layout.offset(image) * rows.size(1);
      call->gradient(layout.grid(image), rows.size(1), Elements<float>(rows) + first, Elements<float>(dy) + first,
                     MutableElements<float>(dx) + first);
    }
    return {dx.to(context->saved_data["device"].toDevice()), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor RunCustom(const PackedTokens& x, const program::Custom& custom) {
  return CustomFunction::apply(x.data, x.layout, custom.forward, custom.gradient);
}

}  // namespace vitrine
