// SPDX-License-Identifier: Apache-2.0
#include "models/reference/operators/library_bf16.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/conv2d.h>

#include <optional>

namespace vitrine {
namespace {

bool OneDnnMultipliesBf16() {
  static const bool multiplies = [] {
    const auto schema = c10::Dispatcher::singleton().findSchema({"mkldnn::_is_mkldnn_bf16_supported", ""});
    return schema && schema->typed<bool()>().call();
  }();
  return multiplies;
}

}  // namespace

bool MultipliedAsFloats(const at::Tensor& tensor) {
  return tensor.is_cpu() && tensor.scalar_type() == at::kBFloat16 && !OneDnnMultipliesBf16();
}

at::Tensor LibraryConvolution(const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias, int stride,
                              int padding) {
  if (MultipliedAsFloats(x)) {
    const at::Tensor shift = bias.defined() ? bias.to(at::kFloat) : bias;
    return LibraryConvolution(x.to(at::kFloat), kernel.to(at::kFloat), shift, stride, padding).to(at::kBFloat16);
  }
  return at::conv2d(x, kernel, bias.defined() ? std::optional(bias) : std::nullopt, stride, padding);
}

}  // namespace vitrine
