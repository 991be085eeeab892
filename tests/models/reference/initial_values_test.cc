// SPDX-License-Identifier: Apache-2.0
// Compares initial weights with the digests in recorded_weights.txt.
#include <ATen/Version.h>
#include <gtest/gtest.h>

#include "models/families/family.h"
#include "models/reference/model.h"
#include "tests/models/recorded_weights.h"

namespace vitrine {
namespace {

TEST(InitialValues, EqualTheRecordedOnesBitForBit) {
  if (at::get_cpu_capability() == "DEFAULT") GTEST_SKIP() << "LibTorch draws other normal values without AVX2";
  int compared = 0;
  for (const testing::RecordedWeights& recorded : testing::ReadRecordedWeights()) {
    if (recorded.initial == "-") continue;
    const auto model = MakeModel(recorded.config, 7);
    ASSERT_TRUE(model.ok()) << recorded.name << ": " << model.status();
    std::vector<NamedTensor> tensors = (*model)->Parameters();
    for (NamedTensor& buffer : (*model)->Buffers()) tensors.push_back(std::move(buffer));
    const program::Program program = ProgramOf(recorded.config).value();
    testing::WeightsDigest digest;
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(tensors[i].decays, program.weights()[i].decays) << recorded.name << ": " << tensors[i].name;
    }
    for (const NamedTensor& each : tensors) digest.Add(each.tensor.const_data_ptr(), each.tensor.nbytes());
    EXPECT_EQ(digest.hex(), recorded.initial) << recorded.name;
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace vitrine
