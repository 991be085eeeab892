// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_ENGINE_H_
#define VITRINE_MODELS_ENGINE_CUDA_ENGINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "models/attention_tap.h"
#include "models/engine/cuda/launches/plan.h"
#include "models/engine/precision.h"
#include "models/engine/weight_source.h"
#include "models/kept_for_grids.h"
#include "models/program/program.h"
#include "models/token_tap.h"

namespace vitrine::cuda {

struct EngineOptions {
  BatchLimits limits = {};
  PrecisionChoice choice = {};
  bool has_bf16 = true;  // false: fp32 replaces bf16
};

// A program on a device: weights and memory for batches within the limits, allocated once. Only one thread at a time
// may use the engine and its device. Run allocates no device memory, even with taps.
//
// The logits of an image have the same bits in any batch. The choice of kernels does not depend on the number of rows,
// and every sum is added in one fixed order.
class Engine {
 public:
  // Copies the weights, then calls WeightSource::LetGo for all of them. Returns the errors of Lower. UNIMPLEMENTED
  // also names an operator that the device does not support. RESOURCE_EXHAUSTED if the memory of the device is too
  // small. `device` must outlive the engine.
  static absl::StatusOr<std::unique_ptr<Engine>> Make(const program::Program& program, engine::WeightSource& weights,
                                                      Device& device, const EngineOptions& options = {});
  // Makes one engine per slot of a GPU. The engines share the weights and may run concurrently.
  static absl::StatusOr<std::vector<std::unique_ptr<Engine>>> MakeSlots(const program::Program& program,
                                                                        engine::WeightSource& weights,
                                                                        std::span<Device* const> slots,
                                                                        const EngineOptions& options = {});

  // Computes the logits [images, classes] of at least one image, and the values that `attention` and `tokens` request;
  // both may be null. RESOURCE_EXHAUSTED if the images exceed the limits. Also returns errors of the device; after an
  // error, the contents of both taps are undefined.
  absl::Status Run(std::span<const ImagePlanes> images, float* logits, AttentionTap* attention = nullptr,
                   TokenTap* tokens = nullptr);
  // Like Run, but uploads no pixels: the caller has written the pixels of all images to pixels(), image after image.
  // The images must not exceed the limits.
  absl::Status RunUploaded(std::span<const ImagePlanes> images, float* logits, AttentionTap* attention = nullptr,
                           TokenTap* tokens = nullptr);
  float* pixels() const { return batch_.pixels; }  // in device memory

  const LaunchPlan& plan() const { return logits_; }
  // Returns the bytes that weights in bf16 or int8 save, compared to fp32.
  int64_t saved_bytes() const { return saved_bytes_; }

 private:
  Engine(Device& device, const BatchLimits& limits) : device_(device), limits_(limits), buffers_(device) {}

  // Plan whose position rows are in device memory, and the grids of these rows, image by image.
  struct Placed {
    const LaunchPlan* plan = nullptr;
    std::vector<Grid> grids;
  };

  static absl::Status MakePlans(const program::Program& program, engine::WeightSource& weights,
                                const EngineOptions& options, DeviceMatrices& matrices,
                                std::span<const std::unique_ptr<Engine>> engines);
  absl::Status AllocateBatch();
  absl::Status Upload(const LaunchPlan& plan, const BatchRows& batch);
  absl::Status UploadPositions(const LaunchPlan& plan, const BatchRows& batch);
  absl::Status UploadPlaces(const LaunchPlan& plan, const BatchRows& batch);
  absl::Status RunWithTaps(const LaunchPlan& plan, const BatchRows& batch, const Taps& taps);
  absl::Status DownloadLogits(const LaunchPlan& plan, int count, float* logits);

  Device& device_;
  const BatchLimits limits_;
  std::shared_ptr<Buffers> weights_;
  int64_t saved_bytes_ = 0;
  Buffers buffers_;
  BatchMemory batch_;
  LaunchPlan logits_;
  LaunchPlan tokens_;                   // computes all tokens of every stage; used with a token tap
  std::unique_ptr<Recorded> recorded_;  // launches of logits_

  using Rows = std::shared_ptr<const std::vector<float>>;
  std::map<const LaunchPlan::Positions*, std::unique_ptr<GridCache<Rows>>> rows_;
  Placed placed_;  // positions of the last batch; empty while a batch runs and after an error
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_ENGINE_H_
