// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_STEM_H_
#define VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_STEM_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/engine/cuda/launches/device.h"
#include "models/engine/cuda/launches/step_memory.h"
#include "models/engine/plan/step.h"
#include "models/program/program.h"

namespace vitrine::cuda {

// A layer of a stem. The sizes of its result for each image (`places`) are uploaded with a batch.
struct StemLayer {
  program::Convolve convolve;
  MapRows* places = nullptr;  // one entry more than BatchLimits::images
  int64_t most_places = 0;
};

struct StemLaunches {
  std::vector<Launch> launches;
  std::vector<StemLayer> layers;
};

// Makes one launch per layer. The launches use fast kernels if these support all layers, and plain kernels otherwise.
// With fast kernels, the maps between the layers are bf16.
StemLaunches MakeStem(const engine::StemStep& step, const std::string& name, StepMemory& memory);

// Returns for each layer the maximum number of positions in the results of a batch within the limits. Assumes that no
// side of an image is shorter than a cell.
std::vector<int64_t> MostPlaces(std::span<const program::Convolve> layers, int channels, int cell,
                                const BatchLimits& limits);

}  // namespace vitrine::cuda

#endif  // VITRINE_MODELS_ENGINE_CUDA_LAUNCHES_STEM_H_
