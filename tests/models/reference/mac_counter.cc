// SPDX-License-Identifier: Apache-2.0
#include "tests/models/reference/mac_counter.h"

#include <ATen/record_function.h>

#include <algorithm>
#include <memory>
#include <string>

namespace vitrine::testing {
namespace {

// Returns the multiply-adds of an operator, from its operands; -1 for an operator without multiplications.
int64_t MacsOf(const std::string& name, const at::RecordFunction& call) {
  const auto tensor = [&](size_t i) { return call.inputs()[i].toTensor(); };
  const auto rows = [](const at::Tensor& x) { return x.numel() / x.size(-1); };
  if (name == "aten::linear" || name == "mkldnn::_linear_pointwise") return rows(tensor(0)) * tensor(1).numel();
  if (name == "aten::mm") return tensor(0).numel() * tensor(1).size(1);
  if (name == "aten::addmm") return tensor(1).numel() * tensor(2).size(1);
  if (name == "aten::bmm") return tensor(0).numel() * tensor(1).size(2);
  if (name == "aten::matmul") {
    const at::Tensor a = tensor(0), b = tensor(1);
    if (b.dim() == 1) return a.numel();
    // Either both operands have the same batch dimensions, or one of them is a single matrix.
    return std::max(a.numel() * b.size(-1), a.size(-2) * b.numel());
  }
  if (name == "aten::conv2d" || name == "aten::convolution") {
    const at::Tensor weight = tensor(1);
    const at::Tensor x = tensor(0);
    const auto stride = call.inputs()[3].toIntVector();
    const auto padding = call.inputs()[4].toIntVector();
    int64_t places = x.dim() == 4 ? x.size(0) : 1;
    for (size_t side = 0; side < 2; ++side) {
      const size_t axis = x.dim() - 2 + side;
      places *= (x.size(static_cast<int64_t>(axis)) + 2 * padding[padding.size() > 1 ? side : 0] -
                 weight.size(static_cast<int64_t>(2 + side))) /
                    stride[stride.size() > 1 ? side : 0] +
                1;
    }
    return places * weight.numel();
  }
  if (name == "aten::scaled_dot_product_attention") {
    const at::Tensor q = tensor(0), k = tensor(1);
    return 2 * q.numel() * k.size(-2);
  }
  return -1;
}

struct Counted : at::ObserverContext {};

thread_local int64_t macs_so_far = 0;
thread_local int depth = 0;

std::unique_ptr<at::ObserverContext> Start(const at::RecordFunction& call) {
  const int64_t macs = MacsOf(call.name(), call);
  if (macs < 0) return nullptr;
  if (depth++ == 0) macs_so_far += macs;
  return std::make_unique<Counted>();
}

void End(const at::RecordFunction&, at::ObserverContext* context) {
  if (context != nullptr) --depth;
}

}  // namespace

MacCounter::MacCounter() {
  macs_so_far = 0;
  depth = 0;
  handle_ = at::addThreadLocalCallback(at::RecordFunctionCallback(&Start, &End).needsInputs(true));
}

MacCounter::~MacCounter() {
  at::removeCallback(handle_);
}

int64_t MacCounter::total() const {
  return macs_so_far;
}

}  // namespace vitrine::testing
