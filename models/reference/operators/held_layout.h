// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_REFERENCE_OPERATORS_HELD_LAYOUT_H_
#define VITRINE_MODELS_REFERENCE_OPERATORS_HELD_LAYOUT_H_

#include <torch/csrc/autograd/custom_function.h>

#include <memory>
#include <utility>

#include "models/reference/packed_tokens.h"

namespace vitrine {

// Passes a layout from the forward to the backward pass of a custom derivative.
struct LayoutHolder : torch::CustomClassHolder {
  explicit LayoutHolder(std::shared_ptr<const TokenLayout> held) : layout(std::move(held)) {}
  const std::shared_ptr<const TokenLayout> layout;
};
inline at::IValue HoldLayout(const std::shared_ptr<const TokenLayout>& layout) {
  return at::IValue::make_capsule(c10::make_intrusive<LayoutHolder>(layout));
}
inline std::shared_ptr<const TokenLayout> HeldLayout(const at::IValue& held) {
  return c10::static_intrusive_pointer_cast<LayoutHolder>(held.toCapsule())->layout;
}

}  // namespace vitrine

#endif  // VITRINE_MODELS_REFERENCE_OPERATORS_HELD_LAYOUT_H_
