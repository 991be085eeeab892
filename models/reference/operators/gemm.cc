// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/gemm.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mkldnn_linear_backward_weights.h>
#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/custom_function.h>

#include "models/reference/operators/elementwise.h"
#include "models/reference/operators/library_bf16.h"

namespace vitrine {
namespace {

// Number of multiply-adds below which oneDNN is slower than at::linear.
constexpr int64_t kSmallProduct = 1'000'000;

using NoScalars = c10::List<std::optional<at::Scalar>>;
using OneDnnLinear = c10::TypedOperatorHandle<at::Tensor(
    const at::Tensor&, const at::Tensor&, const std::optional<at::Tensor>&, c10::string_view,
    c10::List<std::optional<at::Scalar>>, std::optional<c10::string_view>)>;

// Returns null if this LibTorch was built without oneDNN.
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

// Returns true if GemmNn and GemmTn must call oneDNN directly for `a`. at::mm uses oneDNN for bf16, but not for fp32.
bool OneDnnForFloat(const at::Tensor& a) {
  return a.is_cpu() && a.scalar_type() == at::kFloat && FindOneDnnLinear() != nullptr;
}

// Returns oneDNN's linear layer if it is faster for a b^T, otherwise null.
const OneDnnLinear* OneDnnFor(const at::Tensor& a, const at::Tensor& b) {
  // oneDNN needs about 10 microseconds to prepare each call, which is too much for small products.
  const bool small = a.scalar_type() == at::kFloat && a.numel() * b.size(0) < kSmallProduct;
  return a.is_cpu() && !small ? FindOneDnnLinear() : nullptr;
}

std::optional<at::Tensor> Optional(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

at::Tensor Floats(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.to(at::kFloat) : tensor;
}

bool NeedsGradient(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return at::GradMode::is_enabled() && (x.requires_grad() || weight.requires_grad() || bias.requires_grad());
}

class AffineFunction : public torch::autograd::Function<AffineFunction> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const std::optional<at::Tensor>& bias, bool bf16, at::ScalarType result) {
    const auto type = bf16 ? at::kBFloat16 : at::kFloat;
    const at::Tensor operand = x.to(type).contiguous();
    const at::Tensor matrix = weight.to(type);
    context->save_for_backward({operand, matrix});
    context->saved_data["needs_x"] = x.requires_grad();
    context->saved_data["x_type"] = x.scalar_type();
    context->saved_data["has_bias"] = bias.has_value();
    return GemmNt(operand, matrix, bias ? bias->to(type) : at::Tensor()).to(result);
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 torch::autograd::variable_list gradients) {
    const torch::autograd::variable_list saved = context->get_saved_variables();
    const at::Tensor& x = saved[0];
    const at::Tensor& weight = saved[1];
    const at::Tensor gradient = gradients[0].contiguous();
    const at::Tensor operand = gradient.to(weight.scalar_type());
    at::Tensor dx;
    if (context->saved_data["needs_x"].toBool()) {
      dx = GemmNn(operand, weight).to(context->saved_data["x_type"].toScalarType());  // dy W
    }
    const at::Tensor dw = GemmTn(operand, x).to(at::kFloat);  // dy^T x
    const at::Tensor db = context->saved_data["has_bias"].toBool() ? ColumnSums(gradient) : at::Tensor();
    return {dx, dw, db, at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor GemmNt(const at::Tensor& a, const at::Tensor& b, const at::Tensor& bias) {
  if (MultipliedAsFloats(a)) return GemmNt(Floats(a), Floats(b), Floats(bias)).to(a.scalar_type());
  const OneDnnLinear* one_dnn = OneDnnFor(a, b);
  if (one_dnn == nullptr) return at::linear(a, b, Optional(bias));
  return one_dnn->call(a, b, Optional(bias), "none", NoScalars(), std::nullopt);
}

at::Tensor GemmNn(const at::Tensor& a, const at::Tensor& b) {
  if (MultipliedAsFloats(a)) return GemmNn(Floats(a), Floats(b)).to(a.scalar_type());
  if (!OneDnnForFloat(a)) return at::mm(a, b);
  // `b` is a weight and small compared to `a`, so this copy is cheap. NOTE: without the copy, oneDNN uses its reference
  // loop, which is 50 times slower.
  return GemmNt(a, b.t().contiguous());
}

at::Tensor GemmTn(const at::Tensor& a, const at::Tensor& b) {
  if (MultipliedAsFloats(a)) return GemmTn(Floats(a), Floats(b)).to(a.scalar_type());
  if (!OneDnnForFloat(a)) return at::mm(a.t(), b);
  // Calls oneDNN's derivative of an inner product with respect to the weights. oneDNN uses only the shape of the third
  // argument.
  const at::Tensor weight = at::empty({a.size(1), b.size(1)}, a.options().layout(at::kMkldnn));
  return std::get<0>(at::mkldnn_linear_backward_weights(a.to_mkldnn(), b.to_mkldnn(), weight, false)).to_dense();
}

at::Tensor AffineMap(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool bf16,
                     at::ScalarType result) {
  if (NeedsGradient(x, weight, bias)) return AffineFunction::apply(x, weight, Optional(bias), bf16, result);
  if (!bf16) return GemmNt(x, weight, bias);
  return GemmNt(x.to(at::kBFloat16), weight.to(at::kBFloat16), bias.defined() ? bias.to(at::kBFloat16) : bias)
      .to(result);
}

at::Tensor AffineGelu(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, bool bf16) {
  const OneDnnLinear* one_dnn = bf16 || NeedsGradient(x, weight, bias) ? nullptr : OneDnnFor(x, weight);
  if (one_dnn == nullptr) return at::gelu(AffineMap(x, weight, bias, bf16));
  return one_dnn->call(x, weight, Optional(bias), "gelu", NoScalars(), "none");  // no approximation
}

}  // namespace vitrine
