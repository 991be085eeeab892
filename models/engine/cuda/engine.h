// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_ENGINE_H_
#define VITRINE_MODELS_ENGINE_CUDA_ENGINE_H_

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
  bool has_bf16 = true;  // else what would be bf16 is fp32
  bool fast = true;      // else plain kernels alone, which fast ones are compared with
};

// A program on a device: weights and memory for batches within the limits, allocated once. Used by one thread at a
// time, the one that uses the device. A batch allocates no memory of the device, with taps or without.
//
// The logits of an image have the same bits in any batch: no kernel is chosen by the number of rows, and every sum has
// one order.
class Engine {
 public:
  // Copies the weights, then releases all of them to the source. UNIMPLEMENTED names an operator that the device does
  // not run; RESOURCE_EXHAUSTED if its memory is too small. `device` must outlive the engine.
  static absl::StatusOr<std::unique_ptr<Engine>> Make(const program::Program& program, engine::WeightSource& weights,
                                                      Device& device, const EngineOptions& options = {});
  // Makes an engine for each slot of one GPU: they share the weights, and run at the same time.
  static absl::StatusOr<std::vector<std::unique_ptr<Engine>>> MakeSlots(const program::Program& program,
                                                                        engine::WeightSource& weights,
                                                                        std::span<Device* const> slots,
                                                                        const EngineOptions& options = {});

  // Computes the logits [images, classes] of at least one image, and what the taps request; either may be null.
  // RESOURCE_EXHAUSTED if the images exceed the limits; errors of the device.
  absl::Status Run(std::span<const ImagePlanes> images, float* logits, AttentionTap* attention = nullptr,
                   TokenTap* tokens = nullptr);
  // Does the same with pixels that the caller has put into pixels(), image after image. The images' own are not read.
  absl::Status RunUploaded(std::span<const ImagePlanes> images, float* logits, AttentionTap* attention = nullptr,
                           TokenTap* tokens = nullptr);
  float* pixels() const { return batch_.pixels; }  // the device's memory

  const LaunchPlan& plan() const { return logits_; }

 private:
  Engine(Device& device, const BatchLimits& limits) : device_(device), limits_(limits), buffers_(device) {}

  // Rows of positions in the device's memory: those of the first images of a batch of a plan.
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
  Buffers buffers_;
  BatchMemory batch_;
  LaunchPlan logits_;
  LaunchPlan tokens_;                   // used with a token tap: computes all tokens of every stage
  std::unique_ptr<Recorded> recorded_;  // launches of logits_

  using Rows = std::shared_ptr<const std::vector<float>>;
  std::map<const LaunchPlan::Positions*, std::unique_ptr<GridCache<Rows>>> rows_;
  Placed placed_;  // of the last batch; nothing while a batch runs, and after an error
};

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_ENGINE_H_
