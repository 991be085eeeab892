// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bench/images.h"
#include "bench/stored_model.h"
#include "bench/work.h"
#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/engine/cpu/engine.h"
#include "models/reference/float_arrays.h"
#include "models/reference/model.h"
#include "server/registry/golden_input.h"
#include "server/serve/scheduling/batching_policy.h"

namespace vitrine {
namespace {

int64_t TokensOf(const Model& model, const at::Tensor& image) {
  const auto grid = model.GridFor(static_cast<int>(image.size(1)), static_cast<int>(image.size(2)));
  return (grid.ok() ? grid->cells() : 0) + model.prefix_tokens();
}

// Makes batches as the scheduler does for a long queue: an image that does not fit ends the batch.
std::vector<ImageBatch> CutIntoBatches(const Model& model, const std::vector<at::Tensor>& images) {
  const BatchOptions budget;
  std::vector<ImageBatch> batches;
  int64_t tokens = 0;
  for (const at::Tensor& image : images) {
    const int64_t more = TokensOf(model, image);
    const bool fits = !batches.empty() && tokens + more <= budget.max_batch_tokens &&
                      static_cast<int>(batches.back().size()) < budget.max_batch_images;
    if (!fits) {
      batches.emplace_back();
      tokens = 0;
    }
    batches.back().push_back(image);
    tokens += more;
  }
  for (ImageBatch& batch : batches) {
    std::stable_sort(batch.begin(), batch.end(), [](const at::Tensor& a, const at::Tensor& b) {
      return std::pair(a.size(1), a.size(2)) < std::pair(b.size(1), b.size(2));
    });
  }
  return batches;
}

// A model's engine, and the memory in which it computes batches.
struct Computed {
  engine::Engine engine;
  engine::Workspace workspace;
  std::vector<float> logits;

  void Run(const ImageBatch& batch) {
    std::vector<engine::ImagePlanes> images;
    for (const at::Tensor& image : batch) images.push_back(ImageOf(image));
    logits.resize(batch.size() * static_cast<size_t>(engine.plan().classes));
    engine.Run(images, workspace, logits.data());
  }
};

}  // namespace

absl::StatusOr<Work> DecodeWork(const std::string& repository, const std::string& name,
                                const std::vector<std::string>& paths) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, ReadNewest(repository, name));
  ASSIGN_OR_RETURN(const std::vector<std::string> images, ReadImages(paths));
  Work work;
  work.description = absl::StrCat("decoding and preprocessing of ", images.size(), " images for ", name);
  work.images = static_cast<int>(images.size());
  work.repeat = [model, images]() -> absl::Status {
    for (const std::string& image : images) {
      RETURN_IF_ERROR(DecodeGoldenInput(image, model->config().preprocessing()).status());
    }
    return absl::OkStatus();
  };
  return work;
}

absl::StatusOr<Work> ModelWork(const std::string& repository, const std::string& name,
                               const std::vector<std::string>& paths) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> model, ReadNewest(repository, name));
  ASSIGN_OR_RETURN(const std::vector<std::string> files, ReadImages(paths));
  std::vector<at::Tensor> images;
  for (const std::string& image : files) {
    ASSIGN_OR_RETURN(const FloatArray input, DecodeGoldenInput(image, model->config().preprocessing()));
    images.push_back(TensorOf(input));
  }
  const std::vector<ImageBatch> batches = CutIntoBatches(*model, images);
  Work work;
  work.description =
      absl::StrCat("forward of ", name, " over ", files.size(), " images in ", batches.size(), " batches");
  work.images = static_cast<int>(files.size());
  ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
  ASSIGN_OR_RETURN(engine::Engine engine, EngineOf(*model, path, Precision::kFp32));
  const auto computed = std::make_shared<Computed>(Computed{std::move(engine), {}, {}});
  work.repeat = [computed, batches] {
    for (const ImageBatch& batch : batches) computed->Run(batch);
    return absl::OkStatus();
  };
  return work;
}

}  // namespace vitrine
