// SPDX-License-Identifier: Apache-2.0
// Answers zeros without looking at the pixels: what is left is the cost of the service.
#include <ATen/ops/zeros.h>

#include "models/modules/modules.h"

namespace vitrine {
namespace {

class Null : public Model {
 public:
  explicit Null(const v1::ModelConfig& config) : Model(config) {}

  at::Tensor Forward(const ImageBatch& images, const ForwardContext&) const override {
    return at::zeros({static_cast<int64_t>(images.size()), config().classes()},
                     at::TensorOptions().dtype(at::kFloat).device(images[0].device()));
  }
  // One token, whatever the size.
  absl::StatusOr<Grid> GridFor(int, int) const override { return Grid{1, 1}; }
  int cell() const override {
    const v1::Preprocessing& preprocessing = config().preprocessing();
    return preprocessing.has_native() ? preprocessing.native().cell() : preprocessing.fixed().height();
  }
  int prefix_tokens() const override { return 0; }
  FeatureAbility features() const override { return {}; }
  AttentionAbility attention() const override { return {}; }
};

}  // namespace

std::unique_ptr<Model> MakeNull(const v1::ModelConfig& config, Initializer&) {
  return std::make_unique<Null>(config);
}

}  // namespace vitrine
