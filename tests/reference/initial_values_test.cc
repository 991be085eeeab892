// SPDX-License-Identifier: Apache-2.0
// What weights start as, against the recording.
#include <gtest/gtest.h>

#include "reference/model.h"
#include "tests/models/recorded_weights.h"

namespace vitrine {
namespace {

TEST(InitialValues, AreThoseOfTheRecordingToTheBit) {
  int compared = 0;
  for (const testing::RecordedWeights& recorded : testing::ReadRecordedWeights()) {
    if (recorded.initial == "-") continue;
    const auto model = MakeModel(recorded.config, 7);
    ASSERT_TRUE(model.ok()) << recorded.name << ": " << model.status();
    std::vector<NamedTensor> tensors = (*model)->Parameters();
    for (NamedTensor& buffer : (*model)->Buffers()) tensors.push_back(std::move(buffer));
    testing::WeightsDigest digest;
    for (const NamedTensor& each : tensors) digest.Add(each.tensor.const_data_ptr(), each.tensor.nbytes());
    EXPECT_EQ(digest.hex(), recorded.initial) << recorded.name;
    ++compared;
  }
  EXPECT_GT(compared, 100);
}

}  // namespace
}  // namespace vitrine
