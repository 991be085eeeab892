// SPDX-License-Identifier: Apache-2.0
// Tests that the CUDA engine can compile every model of the zoo, gives the CPU's bits for the smallest model of each
// family, and agrees with LibTorch in bf16 and int8 for the smallest model. With VITRINE_WHOLE_ZOO=1, tests bf16 and
// int8 for every model, which takes long (script/nightly).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/engine/cuda/emulated/kernels.h"
#include "models/families/family.h"
#include "models/zoo.h"
#include "tests/models/engine/cuda/lanes.h"
#include "tests/models/engine/cuda/on_device.h"
#include "tests/models/reference/images.h"
#include "tests/paths.h"
#include "tests/read_file.h"

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

// Returns the models of the zoo with their depth reduced to two blocks, except in EIT. If several models are then
// equal, returns the first. Of the ViTs with more than 100 M parameters, returns only one per width, because smaller
// ViTs cover the patch sizes.
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

EngineForm FormOf(const ZooRow& row) {
  return {std::string(row.name), row.config, {}};
}

std::vector<EngineForm> Narrowest() {
  std::map<int, ZooRow> narrowest;  // for each family, the row with the fewest parameters
  for (const ZooRow& row : Rows()) {
    const auto [place, first] = narrowest.try_emplace(static_cast<int>(row.config.family_case()), row);
    if (!first && row.parameters < place->second.parameters) place->second = row;
  }
  std::vector<EngineForm> forms;
  for (const auto& [family, row] : narrowest) forms.push_back(FormOf(row));
  return forms;
}

// Returns the model with the fewest parameters, or with VITRINE_WHOLE_ZOO all models. ViT, XCiT and X-ViT models with a
// fixed image size get images of 2 x 3 patches, because the widths select the kernels and the number of tokens does
// not. The other models keep their sizes.
std::vector<EngineForm> FewTokens() {
  std::vector<ZooRow> rows = Rows();
  std::erase_if(rows, [](const ZooRow& row) { return row.config.has_null(); });
  if (std::getenv("VITRINE_WHOLE_ZOO") == nullptr) {
    rows = {*std::min_element(rows.begin(), rows.end(),
                              [](const ZooRow& a, const ZooRow& b) { return a.parameters < b.parameters; })};
  }
  std::vector<EngineForm> forms;
  for (const ZooRow& row : rows) forms.push_back(FormOf(row));
  std::set<std::string> seen;
  for (EngineForm& form : forms) {
    v1::ModelConfig& config = form.config;
    const int patch = std::max({config.vit().patch(), config.xcit().patch(), config.xvit().patch()});
    if (patch == 0 || !config.preprocessing().has_fixed()) continue;
    config.mutable_preprocessing()->mutable_fixed()->set_height(2 * patch);
    config.mutable_preprocessing()->mutable_fixed()->set_width(3 * patch);
  }
  std::erase_if(forms, [&](const EngineForm& form) { return !seen.insert(form.config.SerializeAsString()).second; });
  return forms;
}

at::Tensor SmallestImage(const v1::Preprocessing& preprocessing) {
  int height = preprocessing.fixed().height(), width = preprocessing.fixed().width();
  if (!preprocessing.has_fixed()) {
    const int cell = preprocessing.native().cell(), cells = preprocessing.native().min_tokens();
    height = cell;
    width = cell * std::max(cells, 2);
  }
  return RandomImage(preprocessing.channels(), height, width, 1);
}

// Returns models/engine/cuda/launches.tsv as it must be: for each kernel, the threads of a block and the largest shared
// memory of a launch.
std::string TableOf(const std::map<std::string, std::pair<int, size_t>>& launches) {
  std::string table = "kernel\tthreads\tshared\n";
  for (const auto& [kernel, launch] : launches) {
    absl::StrAppend(&table, kernel, "\t", launch.first, "\t", launch.second, "\n");
  }
  return table;
}

// script/dev/cuda-budget reads launches.tsv. If the file differs, replace it with the printed table.
TEST(CudaZoo, EveryVariantHasKernels) {
  std::map<std::string, std::pair<int, size_t>> launches;
  for (const ZooRow& row : Rows()) {
    const program::Program program = *ProgramOf(row.config);
    engine::ZeroWeights weights(program);
    for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
      HollowDevice device;
      const auto engine =
          cuda::Engine::Make(program, weights, device, {.choice = {.precision = precision, .kept = {}}});
      ASSERT_TRUE(engine.ok()) << row.name << ": " << engine.status();
      EXPECT_FALSE((*engine)->plan().launches.empty()) << row.name;
      for (const cuda::Launch& launch : (*engine)->plan().launches) {
        EXPECT_NE(cuda::emulated::FindKernel(launch.kernel), nullptr) << row.name << ": " << launch.kernel;
        auto& [threads, shared] = launches[launch.kernel];
        threads = std::max(threads, launch.threads);
        shared = std::max(shared, launch.shared_bytes);
      }
    }
  }
  EXPECT_EQ(ReadFile(VITRINE_SOURCE "/models/engine/cuda/launches.tsv"), TableOf(launches));
}

class CudaZooBits : public ::testing::TestWithParam<EngineForm> {};

TEST_P(CudaZooBits, EqualTheCpuBits) {
  const Compiled compiled(GetParam().config, cpu::CpuPath::kPortable);
  const at::Tensor image = SmallestImage(GetParam().config.preprocessing());
  const std::vector<engine::ImagePlanes> images = {View(image)};
  OnDevice device(*compiled.program, compiled.weights, {.limits = {.images = 1, .cells = 64, .pixels = 1 << 18}});
  const std::vector<float> logits = device.Logits(images);
  const std::vector<float> expected = LogitsOnCpu(*compiled.program, compiled.weights, {}, images);
  ASSERT_EQ(logits.size(), expected.size());
  EXPECT_EQ(std::memcmp(logits.data(), expected.data(), logits.size() * sizeof(float)), 0);
}

INSTANTIATE_TEST_SUITE_P(Rows, CudaZooBits, ::testing::ValuesIn(Narrowest()),
                         [](const auto& info) { return NameOf(info.param, cpu::CpuPath::kPortable); });

class CudaZooNarrow : public ::testing::TestWithParam<EngineForm> {};

// The tolerances equal those for the small forms (cuda_parity_test.cc).
TEST_P(CudaZooNarrow, LogitsAreCloseToTheReference) {
  const Compiled compiled(GetParam().config, cpu::CpuPath::kPortable);
  const at::Tensor image = SmallestImage(GetParam().config.preprocessing());
  const std::vector<float> expected = compiled.ByReference({image});
  for (const auto& [precision, tolerance] : {std::pair(Precision::kBf16, 0.02), {Precision::kInt8, 0.03}}) {
    OnDevice device(
        *compiled.program, compiled.weights,
        {.limits = {.images = 1, .cells = 64, .pixels = 1 << 18}, .choice = {.precision = precision, .kept = {}}});
    const std::vector<engine::ImagePlanes> images = {View(image)};
    EXPECT_LE(Apart(device.Logits(images), expected), tolerance) << Name(precision);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, CudaZooNarrow, ::testing::ValuesIn(FewTokens()),
                         [](const auto& info) { return NameOf(info.param, cpu::CpuPath::kPortable); });

}  // namespace
}  // namespace vitrine::testing
