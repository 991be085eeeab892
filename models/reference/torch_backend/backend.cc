// SPDX-License-Identifier: Apache-2.0
#include "models/reference/torch_backend/backend.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <exception>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "models/reference/float_arrays.h"
#include "models/reference/model.h"
#include "models/reference/out_of_memory.h"

namespace vitrine {
namespace {

// Returns a view, which must not be written to.
at::Tensor View(const float* values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values), shape, at::kFloat);
}

absl::Status StatusOf(const std::exception& error) {
  if (IsOutOfMemory(error)) return absl::ResourceExhaustedError("there is not enough memory for the reference");
  return absl::InternalError(absl::StrCat("LibTorch: ", error.what()));
}

class ReferenceBackend : public Backend {
 public:
  explicit ReferenceBackend(std::unique_ptr<const Model> model) : model_(std::move(model)) {}

  absl::Status Run(std::span<const engine::ImagePlanes> inputs, engine::Workspace& /*workspace*/, float* logits,
                   AttentionTap* attention, TokenTap* tokens) const override {
    try {
      ImageBatch images;
      for (const engine::ImagePlanes& image : inputs) images.push_back(TensorOf(image));
      ASSIGN_OR_RETURN(const at::Tensor computed, RunModel(*model_, images, attention, tokens));
      const FloatArray values = FloatsOf(computed);
      if (values.values.size() != inputs.size() * static_cast<size_t>(model_->outputs())) {
        return absl::InternalError(absl::StrCat("logits have the wrong shape for ", inputs.size(), " images"));
      }
      std::copy(values.values.begin(), values.values.end(), logits);
      return absl::OkStatus();
    } catch (const std::exception& error) {
      return StatusOf(error);
    }
  }

 private:
  // Returns the image as a tensor. For a model that reads no pixels, returns a tensor whose elements all share one zero
  // in memory.
  static at::Tensor TensorOf(const engine::ImagePlanes& image) {
    const int64_t shape[] = {image.channels, image.height, image.width};
    if (image.data == nullptr) return at::zeros({1}).expand(shape);
    return View(image.data, shape);
  }

  const std::unique_ptr<const Model> model_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<const Backend>> MakeReferenceBackend(const v1::ModelConfig& config,
                                                                    std::span<const float* const> weights) {
  ASSIGN_OR_RETURN(std::unique_ptr<Model> model, MakeBlankModel(config));
  try {
    const c10::AutoGradMode no_gradients(false);
    std::map<std::string, at::Tensor> tensors;
    for (size_t i = 0; i < weights.size(); ++i) {
      const program::Weight& weight = model->program().weights()[i];
      tensors[weight.name] = View(weights[i], weight.shape);
    }
    model->Take([&](const std::string& name) { return tensors.at(name); });
    model->RequireGrad(false);
    return std::make_unique<ReferenceBackend>(std::move(model));
  } catch (const std::exception& error) {
    return StatusOf(error);
  }
}

void ComputeAsPublished() {
  at::globalContext().setSDPUseFlash(false);
  at::set_num_threads(1);
}

}  // namespace vitrine
