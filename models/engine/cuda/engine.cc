// SPDX-License-Identifier: Apache-2.0
#include "models/engine/cuda/engine.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/simd/float_mode.h"
#include "common/status_macros.h"
#include "models/engine/cuda/batch_size.h"
#include "models/engine/cuda/launches/step_memory.h"
#include "models/engine/plan/plan.h"

namespace vitrine::cuda {
namespace {

constexpr int64_t kMostPositionBytes = int64_t{4} << 20;  // limit of each cache of position rows on the host

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> Engine::Make(const program::Program& program, engine::WeightSource& weights,
                                                     Device& device, const EngineOptions& options) {
  Device* const slots[] = {&device};
  ASSIGN_OR_RETURN(std::vector<std::unique_ptr<Engine>> made, MakeSlots(program, weights, slots, options));
  return std::move(made.front());
}

absl::StatusOr<std::vector<std::unique_ptr<Engine>>> Engine::MakeSlots(const program::Program& program,
                                                                       engine::WeightSource& weights,
                                                                       std::span<Device* const> slots,
                                                                       const EngineOptions& options) {
  const cpu::FloatMode mode;  // folding weights needs the engine's float mode
  std::vector<std::unique_ptr<Engine>> made;
  const auto shared = std::make_shared<Buffers>(*slots.front());
  for (Device* const slot : slots) {
    made.emplace_back(new Engine(*slot, options.limits));
    made.back()->weights_ = shared;
    RETURN_IF_ERROR(made.back()->AllocateBatch());
  }
  DeviceMatrices matrices(*shared);
  RETURN_IF_ERROR(MakePlans(program, weights, options, matrices, made));
  RETURN_IF_ERROR(shared->status());
  for (const std::unique_ptr<Engine>& engine : made) {
    engine->saved_bytes_ = matrices.SavedBytes();
    ASSIGN_OR_RETURN(engine->recorded_, engine->device_.Record(engine->logits_.launches));
  }
  for (size_t weight = 0; weight < program.weights().size(); ++weight) weights.LetGo(weight);
  return made;
}

// The plan for logits and the plan for tokens share an arena. Therefore both plans are measured before the arena is
// allocated.
absl::Status Engine::MakePlans(const program::Program& program, engine::WeightSource& weights,
                               const EngineOptions& options, DeviceMatrices& matrices,
                               std::span<const std::unique_ptr<Engine>> engines) {
  std::vector<engine::LoweredPlan> lowered;
  std::vector<std::vector<size_t>> sizes;
  for (const bool tokens : {false, true}) {
    ASSIGN_OR_RETURN(lowered.emplace_back(),
                     engine::Lower(program, weights, options.choice, options.has_bf16, tokens, /*head_rows=*/false));
    ASSIGN_OR_RETURN(sizes.emplace_back(), MeasureLaunches(lowered.back(), options.limits));
  }
  for (const std::unique_ptr<Engine>& engine : engines) {
    Arena arena;
    for (const std::vector<size_t>& of_plan : sizes) arena.Reserve(of_plan);
    RETURN_IF_ERROR(arena.Allocate(engine->buffers_));
    for (const bool tokens : {false, true}) {
      const std::vector<std::byte*> places = arena.PlacesOf(sizes[tokens ? 1 : 0]);
      ASSIGN_OR_RETURN((tokens ? engine->tokens_ : engine->logits_),
                       MakeLaunches(lowered[tokens ? 1 : 0], options.limits, engine->batch_, places, matrices));
    }
  }
  return absl::OkStatus();
}

absl::Status Engine::AllocateBatch() {
  const auto images = static_cast<size_t>(limits_.images);
  batch_ = {.counts = buffers_.Allocate<int>(3),
            .images = buffers_.Allocate<ImageRows>(images + 1),
            .tiles = buffers_.Allocate<GridTile>(static_cast<size_t>(limits_.cells)),
            .pixels = buffers_.Allocate<float>(static_cast<size_t>(limits_.pixels))};
  return buffers_.status();
}

absl::Status Engine::UploadPlaces(const LaunchPlan& plan, const BatchRows& batch) {
  for (const auto& stem : plan.stems) {
    std::vector<program::MapSize> sizes;
    for (const ImagePlanes& image : batch.planes) sizes.push_back({image.height, image.width});
    for (const StemLayer& layer : stem) {
      std::vector<MapRows> places;
      int64_t first = 0;
      for (program::MapSize& size : sizes) {
        size = program::ResultOf(layer.convolve, size);
        places.push_back({first, size.height, size.width});
        first += int64_t{size.height} * size.width;
      }
      places.push_back({first, 0, 0});
      RETURN_IF_ERROR(device_.Upload(layer.places, places.data(), places.size() * sizeof(MapRows)));
    }
  }
  return absl::OkStatus();
}

absl::Status Engine::Upload(const LaunchPlan& plan, const BatchRows& batch) {
  const int counts[] = {batch.count(), batch.cells(), static_cast<int>(batch.tiles.size())};
  RETURN_IF_ERROR(device_.Upload(batch_.counts, counts, sizeof(counts)));
  RETURN_IF_ERROR(device_.Upload(batch_.images, batch.images.data(), batch.images.size() * sizeof(ImageRows)));
  RETURN_IF_ERROR(device_.Upload(batch_.tiles, batch.tiles.data(), batch.tiles.size() * sizeof(GridTile)));
  RETURN_IF_ERROR(UploadPositions(plan, batch));
  return UploadPlaces(plan, batch);
}

// Uploads only position rows that are not on the device. Most batches have images of one size, whose rows are on the
// device after the first batches. Computing and copying the rows of a large batch takes longer than its forward pass.
absl::Status Engine::UploadPositions(const LaunchPlan& plan, const BatchRows& batch) {
  Placed placed = std::exchange(placed_, {});
  if (placed.plan != &plan) placed = {&plan, {}};
  const auto [differs, end] =
      std::mismatch(batch.grids.begin(), batch.grids.end(), placed.grids.begin(), placed.grids.end());
  const auto first = static_cast<int>(differs - batch.grids.begin());
  for (const LaunchPlan::Positions& positions : plan.positions) {
    auto& kept = rows_[&positions];
    if (kept == nullptr) kept = std::make_unique<GridCache<Rows>>(kMostPositionBytes);
    for (int image = first; image < batch.count(); ++image) {
      const Grid grid = batch.grids[static_cast<size_t>(image)];
      const Rows rows = kept->For(grid, [&] {
        auto made = std::make_shared<const std::vector<float>>(positions.rows(grid));
        const int64_t bytes = std::ssize(*made) * int64_t{sizeof(float)};
        return std::pair(Rows(std::move(made)), bytes);
      });
      float* const to = positions.to.data + batch.FirstRow(positions.to.rows, image) * positions.to.stride;
      RETURN_IF_ERROR(device_.Upload(to, rows->data(), rows->size() * sizeof(float)));
    }
  }
  if (first < batch.count()) placed.grids = batch.grids;
  placed_ = std::move(placed);
  return absl::OkStatus();
}

absl::Status Engine::RunWithTaps(const LaunchPlan& plan, const BatchRows& batch, const Taps& taps) {
  auto tap = plan.taps.begin();
  for (size_t i = 0; i <= plan.launches.size(); ++i) {
    for (; tap != plan.taps.end() && tap->after == i; ++tap) RETURN_IF_ERROR(tap->take(device_, batch, taps));
    if (i < plan.launches.size()) RETURN_IF_ERROR(device_.Run(plan.launches[i]));
  }
  return absl::OkStatus();
}

// Downloads all rows in one copy if they are contiguous, otherwise row by row.
absl::Status Engine::DownloadLogits(const LaunchPlan& plan, int count, float* logits) {
  const int rows = plan.logits.stride == plan.classes ? count : 1;
  for (int64_t i = 0; i < count; i += rows) {
    RETURN_IF_ERROR(device_.Download(logits + i * plan.classes, plan.logits.data + i * plan.logits.stride,
                                     static_cast<size_t>(rows * plan.classes) * sizeof(float)));
  }
  return absl::OkStatus();
}

absl::Status Engine::Run(std::span<const ImagePlanes> images, float* logits, AttentionTap* attention,
                         TokenTap* tokens) {
  BatchSize size(logits_, limits_);
  for (const ImagePlanes& image : images) size.Add(image);
  RETURN_IF_ERROR(size.Check());
  float* to = batch_.pixels;
  for (const ImagePlanes& image : images) {
    const int64_t pixels = int64_t{image.channels} * image.height * image.width;
    RETURN_IF_ERROR(device_.Upload(to, image.data, static_cast<size_t>(pixels) * sizeof(float)));
    to += pixels;
  }
  return RunUploaded(images, logits, attention, tokens);
}

absl::Status Engine::RunUploaded(std::span<const ImagePlanes> images, float* logits, AttentionTap* attention,
                                 TokenTap* tokens) {
  const cpu::FloatMode mode;  // for computing rows of positions
  const LaunchPlan& plan = tokens == nullptr ? logits_ : tokens_;
  const BatchRows batch(images, plan.cell, plan.prefix);
  RETURN_IF_ERROR(Upload(plan, batch));
  Placed placed = std::exchange(placed_, {});  // restored if the batch succeeds
  if (tokens == nullptr && (attention == nullptr || attention->empty())) {
    RETURN_IF_ERROR(recorded_->Run());
  } else {
    RETURN_IF_ERROR(RunWithTaps(plan, batch, {attention, tokens}));
  }
  RETURN_IF_ERROR(DownloadLogits(plan, batch.count(), logits));
  placed_ = std::move(placed);
  return absl::OkStatus();
}

}  // namespace vitrine::cuda
