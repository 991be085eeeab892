// SPDX-License-Identifier: Apache-2.0
#include "bench/gpu_check/subject.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "common/simd/chosen_path.h"
#include "common/status_macros.h"
#include "models/engine/cpu_backend.h"
#include "models/engine/logits.h"
#include "tests/models/hashed_weights.h"

namespace vitrine {

double ToleranceOf(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return 1e-5;
    case Precision::kBf16:
      return 0.02;
    case Precision::kInt8:
      return 0.03;
  }
  return 0;
}

absl::StatusOr<Subject> Subject::Make(const v1::ModelConfig& config, uint64_t seed) {
  ASSIGN_OR_RETURN(ModelDescription description, ModelDescription::Make(config));
  std::vector<std::vector<float>> weights;
  for (const program::Weight& weight : description.program().weights()) {
    weights.push_back(testing::HashedWeight(weight.name, weight.shape, weight.trained, ++seed));
  }
  return Subject(std::move(description), std::move(weights));
}

std::vector<const float*> Subject::weights() const {
  std::vector<const float*> pointers;
  for (const std::vector<float>& weight : weights_) pointers.push_back(weight.data());
  return pointers;
}

std::vector<FloatArray> Subject::Images(std::span<const std::pair<int, int>> sizes) const {
  std::vector<FloatArray> images;
  const int64_t channels = description_.config().preprocessing().channels();
  for (const auto& [height, width] : sizes) {
    if (!description_.GridFor(height, width).ok()) continue;
    const auto values = static_cast<size_t>(channels * height * width);
    images.push_back({{channels, height, width}, testing::HashedValues(values, images.size() + 1)});
  }
  return images;
}

absl::StatusOr<std::unique_ptr<const Backend>> Subject::OnCpu(Precision precision) const {
  ASSIGN_OR_RETURN(const cpu::CpuPath path, cpu::ChosenPath());
  const std::vector<const float*> pointers = weights();
  engine::WeightsInMemory source(pointers);
  return MakeCpuBackend(description_.program(), source, path, {.precision = precision, .kept = {}});
}

absl::StatusOr<std::unique_ptr<const Backend>> Subject::OnCard(const CheckSetting& setting, Precision precision,
                                                               std::span<const FloatArray> images) const {
  const std::vector<const float*> pointers = weights();
  engine::WeightsInMemory source(pointers);
  return setting.library->make_backend(setting.device, description_.program(), source,
                                       {.precision = precision, .kept = {}}, LargestOf(description_, images),
                                       BatchOf(description_, images));
}

LargestImage LargestOf(const ModelDescription& description, std::span<const FloatArray> images) {
  LargestImage largest;
  const int64_t cell = description.cell();
  for (const FloatArray& image : images) {
    if (cell > 0) largest.cells = std::max(largest.cells, image.shape[1] / cell * (image.shape[2] / cell));
    largest.pixels = std::max(largest.pixels, static_cast<int64_t>(image.values.size()));
  }
  return largest;
}

DeviceBatch BatchOf(const ModelDescription& description, std::span<const FloatArray> images) {
  const int count = static_cast<int>(images.size()) + 1;
  return {.images = count,
          .tokens = static_cast<int>(count * LargestOf(description, images).cells),
          .timeout = kDeviceTimeout};
}

absl::StatusOr<std::vector<float>> LogitsOf(const Backend& backend, int64_t classes, std::span<const FloatArray> images,
                                            std::span<const size_t> places, AttentionTap* attention, TokenTap* tokens) {
  std::vector<engine::ImagePlanes> planes;
  for (const size_t place : places) planes.push_back(ImageOf(images[place]));
  std::vector<float> logits(places.size() * static_cast<size_t>(classes), NAN);
  thread_local engine::Workspace workspace;
  RETURN_IF_ERROR(backend.Run(planes, workspace, logits.data(), attention, tokens));
  return logits;
}

absl::StatusOr<std::vector<float>> LogitsOfAll(const Backend& backend, int64_t classes,
                                               std::span<const FloatArray> images, AttentionTap* attention,
                                               TokenTap* tokens) {
  std::vector<size_t> places(images.size());
  std::iota(places.begin(), places.end(), size_t{0});
  return LogitsOf(backend, classes, images, places, attention, tokens);
}

double Apart(std::span<const float> values, std::span<const float> expected) {
  if (values.size() != expected.size()) return INFINITY;
  double largest = 0, difference = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double apart = std::abs(double{values[i]} - expected[i]);
    if (!std::isfinite(apart)) return INFINITY;
    largest = std::max(largest, std::abs(double{expected[i]}));
    difference = std::max(difference, apart);
  }
  return difference == 0 ? 0 : difference / largest;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace vitrine
