// SPDX-License-Identifier: Apache-2.0
// Tests that the CUDA engine can compile every model of the zoo, and gives the CPU's bits for the smallest model of
// each family.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "models/engine/cuda/emulated/kernels.h"
#include "models/families/family.h"
#include "models/zoo.h"
#include "tests/models/engine/cuda/lanes.h"
#include "tests/models/engine/cuda/on_device.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

// A device that computes and copies nothing.
class HollowDevice : public cuda::Device {
 public:
  void* Allocate(size_t bytes) override { return ::operator new(bytes); }
  void Free(void* buffer) override { ::operator delete(buffer); }
  absl::Status Upload(void*, const void*, size_t) override { return absl::OkStatus(); }
  absl::Status Download(void*, const void*, size_t) override { return absl::OkStatus(); }
  absl::Status Run(const cuda::Launch&) override { return absl::OkStatus(); }
};

// Returns the models of the zoo with their depth reduced to two blocks. If several models are then equal, returns the
// first. Of the ViTs with more than 100 M parameters, returns only one per width, because smaller ViTs cover the patch
// sizes.
std::vector<ZooRow> Rows() {
  std::vector<ZooRow> rows;
  std::set<std::string> seen;
  std::set<int> large;
  for (ZooRow row : Zoo()) {
    v1::ModelConfig& config = row.config;
    if (row.parameters > 100'000'000 && !large.insert(config.vit().width()).second) continue;
    if (config.has_vit()) config.mutable_vit()->set_depth(2);
    if (config.has_kv()) config.mutable_kv()->set_depth(2);
    if (config.has_xcit()) config.mutable_xcit()->set_depth(2);
    if (config.has_xvit()) config.mutable_xvit()->set_depth(2);
    if (config.has_eit_baseline()) config.mutable_eit_baseline()->set_depth(2);
    if (seen.insert(config.SerializeAsString()).second) rows.push_back(row);
  }
  return rows;
}

std::vector<EngineForm> Narrowest() {
  std::map<int, ZooRow> narrowest;  // for each family, the row with the fewest parameters
  for (const ZooRow& row : Rows()) {
    const auto [place, first] = narrowest.try_emplace(static_cast<int>(row.config.family_case()), row);
    if (!first && row.parameters < place->second.parameters) place->second = row;
  }
  std::vector<EngineForm> forms;
  for (const auto& [family, row] : narrowest) forms.push_back({std::string(row.name), row.config, {}});
  return forms;
}

// The int8 engines also cover bf16, in which they compute stems and attention.
TEST(CudaZoo, EveryVariantHasKernels) {
  for (const ZooRow& row : Rows()) {
    const program::Program program = *ProgramOf(row.config);
    engine::ZeroWeights weights(program);
    for (const Precision precision : {Precision::kFp32, Precision::kInt8}) {
      HollowDevice device;
      const auto engine =
          cuda::Engine::Make(program, weights, device, {.choice = {.precision = precision, .kept = {}}});
      ASSERT_TRUE(engine.ok()) << row.name << ": " << engine.status();
      EXPECT_FALSE((*engine)->plan().launches.empty()) << row.name;
      for (const cuda::Launch& launch : (*engine)->plan().launches) {
        EXPECT_NE(cuda::emulated::FindKernel(launch.kernel), nullptr) << row.name << ": " << launch.kernel;
      }
    }
  }
}

class CudaZooBits : public ::testing::TestWithParam<EngineForm> {};

TEST_P(CudaZooBits, EqualTheCpuBits) {
  const v1::Preprocessing& preprocessing = GetParam().config.preprocessing();
  int height = preprocessing.fixed().height(), width = preprocessing.fixed().width();
  if (!preprocessing.has_fixed()) {
    const int cell = preprocessing.native().cell(), cells = preprocessing.native().min_tokens();
    height = cell;
    width = cell * std::max(cells, 2);
  }
  const Compiled compiled(GetParam().config, cpu::CpuPath::kPortable);
  const at::Tensor image = RandomImage(preprocessing.channels(), height, width, 1);
  const std::vector<engine::ImagePlanes> images = {View(image)};
  OnDevice device(*compiled.program, compiled.weights, {.limits = {.images = 1, .cells = 64, .pixels = 1 << 18}});
  const std::vector<float> logits = device.Logits(images);
  const std::vector<float> expected = LogitsOnCpu(*compiled.program, compiled.weights, {}, images);
  ASSERT_EQ(logits.size(), expected.size());
  EXPECT_EQ(std::memcmp(logits.data(), expected.data(), logits.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Rows, CudaZooBits, ::testing::ValuesIn(Narrowest()),
                         [](const auto& info) { return NameOf(info.param, cpu::CpuPath::kPortable); });

}  // namespace
}  // namespace vitrine::testing
