#include "models/layers/gemm.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/linear.h>
#include <torch/csrc/autograd/custom_function.h>

namespace vitrine {
namespace {

using OneDnnLinear = c10::TypedOperatorHandle<at::Tensor(
    const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, c10::string_view,
    c10::List<std::optional<at::Scalar>>, std::optional<c10::string_view>)>;

// Null where this LibTorch was built without oneDNN.
const OneDnnLinear* FindOneDnnLinear() {
  static const std::optional<OneDnnLinear> found = []() -> std::optional<OneDnnLinear> {
    const auto schema = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
    if (!schema || !schema->hasKernelForDispatchKey(c10::DispatchKey::CPU)) return std::nullopt;
    return schema
        ->typed<at::Tensor(const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, c10::string_view,
                           c10::List<std::optional<at::Scalar>>, std::optional<c10::string_view>)>();
  }();
  return found ? &*found : nullptr;
}

class AffineFunction : public torch::autograd::Function<AffineFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, bool bf16) {
    const auto type = bf16 ? at::kBFloat16 : at::kFloat;
    const at::Tensor operand = x.to(type);
    const at::Tensor matrix = weight.to(type);
    context->save_for_backward({operand, matrix});
    context->saved_data["needs_x"] = x.requires_grad();
    context->saved_data["has_bias"] = bias.has_value();
    return Gemm(operand, matrix, bias ? bias->to(type) : at::Tensor()).to(at::kFloat);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor gradient = gradients[0].contiguous();
    const at::Tensor operand = gradient.to(weight.scalar_type());
    at::Tensor dx;
    if (context->saved_data["needs_x"].toBool()) dx = Gemm(operand, weight.t()).to(at::kFloat);  // dy W
    const at::Tensor dw = Gemm(operand.t(), x.t()).to(at::kFloat);                               // dy^T x
    const at::Tensor db = context->saved_data["has_bias"].toBool() ? gradient.sum(0) : at::Tensor();
    return {dx, dw, db, at::Tensor()};
  }
};

}  // namespace

at::Tensor Gemm(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  const OneDnnLinear* one_dnn = a.is_cpu() ? FindOneDnnLinear() : nullptr;
  // NOTE: an fp32 matrix that is not contiguous takes oneDNN's reference loop, 50 times slower; bf16 does not.
  if (one_dnn != nullptr && b.scalar_type() == at::kFloat && !b.is_contiguous()) return Gemm(a, b.contiguous(), bias);
  if (one_dnn == nullptr) return at::linear(a, b, bias.defined() ? std::optional(bias) : std::nullopt);
  return one_dnn->call(a, b, bias.defined() ? std::optional(bias) : std::nullopt, "none",
                       c10::List<std::optional<at::Scalar>>(), std::nullopt);
}

at::Tensor AffineMap(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool bf16) {
  const bool differentiate =
      at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad() || bias.requires_grad());
  if (differentiate) return AffineFunction::apply(x, weight, bias.defined() ? std::optional(bias) : std::nullopt, bf16);
  if (!bf16) return Gemm(x, weight, bias);
  return Gemm(x.to(at::kBFloat16), weight.to(at::kBFloat16), bias.defined() ? bias.to(at::kBFloat16) : bias)
      .to(at::kFloat);
}

}  // namespace vitrine
