// SPDX-License-Identifier: Apache-2.0
#include "tests/trainer/untrained_version.h"

#include <gtest/gtest.h>

#include <memory>

#include "models/reference/checkpoint/checkpoint.h"
#include "models/reference/model.h"
#include "models/repository/stored_version.h"

namespace vitrine {

std::string PublishUntrained(const std::filesystem::path& root, const v1::ModelConfig& config,
                             const std::vector<std::string>& labels) {
  Draft draft;
  *draft.manifest.mutable_config() = config;
  const std::unique_ptr<Model> model = *MakeModel(config, 3);
  draft.manifest.set_parameters(model->CountParameters());
  draft.weights = SaveWeights(*model, Dtype::kF32);
  draft.labels = labels;
  v1::GoldenTolerance& tolerance = *draft.manifest.add_golden_tolerances();
  tolerance.set_device("cpu");
  tolerance.set_precision("fp32");
  tolerance.set_tolerance(1e-4f);
  const auto id = Publish(root, "source", draft);
  EXPECT_TRUE(id.ok()) << id.status();
  return (root / "source").string();
}

}  // namespace vitrine
