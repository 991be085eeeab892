// SPDX-License-Identifier: Apache-2.0
#include "tests/server/hashed_version.h"

#include <gtest/gtest.h>

#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "models/engine/cpu_backend.h"
#include "models/engine/logits.h"
#include "models/repository/golden.h"
#include "models/repository/stored_version.h"
#include "server/registry/golden_input.h"
#include "tests/models/hashed_weights.h"

namespace vitrine {

WeightedModel HashedModel(const v1::ModelConfig& config, uint64_t seed) {
  WeightedModel model = {ModelDescription::Make(config).value(), {}};
  for (const program::Weight& weight : model.description.program().weights()) {
    model.weights.push_back(StoredOf(FloatArray{
        .shape = weight.shape, .values = testing::HashedWeight(weight.name, weight.shape, weight.trained, ++seed)}));
  }
  return model;
}

std::unique_ptr<const Backend> PortableBackend(const WeightedModel& model) {
  return MakeCpuBackend(model.description.program(), PointersTo(model), cpu::CpuPath::kPortable).value();
}

VersionId PublishHashed(const std::filesystem::path& root, const std::string& model, const v1::ModelConfig& config,
                        uint64_t seed, const std::vector<std::string>& golden_images) {
  const WeightedModel hashed = HashedModel(config, seed);
  const std::unique_ptr<const Backend> backend = PortableBackend(hashed);
  Draft draft;
  *draft.manifest.mutable_config() = config;
  draft.manifest.set_parameters(hashed.description.program().parameters());
  for (const char* const device : {"cpu", "cuda"}) {
    v1::GoldenTolerance& tolerance = *draft.manifest.add_golden_tolerances();
    tolerance.set_device(device);
    tolerance.set_precision("fp32");
    tolerance.set_tolerance(1e-4F);
  }
  draft.weights = NamedWeights(hashed);
  for (size_t i = 0; i < golden_images.size(); ++i) {
    draft.golden.tensors[absl::StrCat("picture.", i)] = StoredBytes(golden_images[i]);
  }
  const Forward forward = [&](std::span<const FloatArray> images) {
    return LogitsOf(*backend, hashed.description.outputs(), images);
  };
  const absl::Status recorded = RecordGolden(hashed.description, forward, DecodeGoldenInput, draft.golden);
  EXPECT_TRUE(recorded.ok()) << recorded;
  for (int i = 0; i < config.classes(); ++i) draft.labels.push_back(absl::StrCat("class-", i));
  const absl::StatusOr<VersionId> published = Publish(root, model, draft);
  EXPECT_TRUE(published.ok()) << published.status();
  return published.value_or(VersionId{});
}

}  // namespace vitrine
