// SPDX-License-Identifier: Apache-2.0
// Tests that the fast kernels that gather patches and neighbourhoods give the same bits as the plain kernels.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/models/engine/cuda/kernel_batch.h"

namespace vitrine::testing {
namespace {

using cuda::Matrix;
using cuda::RowsOf;

const std::vector<std::vector<Grid>> kGatheredBatches = {{{1, 1}}, {{3, 5}, {1, 2}, {7, 1}}};

// Returns the patches of images of these sizes.
std::vector<float> Patches(const std::vector<Grid>& sizes, int patch, int channels, bool fast,
                           const cuda::emulated::MachineOptions& machine, bool narrow = false) {
  std::vector<engine::ImagePlanes> planes;
  for (const Grid& size : sizes) {
    planes.push_back({.data = nullptr, .channels = channels, .height = size.rows, .width = size.columns});
  }
  const cuda::BatchRows rows(planes, patch);
  KernelBatch memory({{1, 1}}, machine);
  cuda::Buffers& buffers = memory.buffers();
  const std::vector<int> counts = {rows.count(), rows.cells(), 0};
  const cuda::Batch batch = {.counts = buffers.Copy(counts), .images = buffers.Copy(rows.images)};
  const int columns = patch * patch * channels;
  const auto numbers = static_cast<size_t>(rows.cells() * columns);
  const Matrix y = {buffers.Allocate<float>(numbers), columns, columns, RowsOf::kCells, narrow};
  const cuda::PatchifyArguments arguments = {batch, memory.Copy(memory.Numbers(static_cast<size_t>(rows.pixels))),
                                             patch, channels, y};
  fast ? memory.RunFast(arguments) : memory.Run("vitrine_patchify", arguments);
  if (narrow) return FloatsOfBf16(memory.Read<uint16_t>(reinterpret_cast<const uint16_t*>(y.data), numbers));
  return memory.Read<float>(y.data, numbers);
}

TEST(CudaFastPatches, EqualThePlainKernelBitForBit) {
  const std::vector<Grid> sizes = {{17, 33}, {16, 16}, {9, 40}};
  for (const auto& [patch, channels] : {std::pair(8, 3), {4, 1}, {2, 3}, {8, 5}}) {
    const std::vector<float> plain = Patches(sizes, patch, channels, false, {});
    for (const int sms : {1, 3, 132}) {
      EXPECT_TRUE(SameBits(Patches(sizes, patch, channels, true, {.seed = 5, .sms = sms}), plain))
          << patch << " x " << patch << " x " << channels << ", " << sms << " SMs";
    }
    EXPECT_TRUE(SameBits(Patches(sizes, patch, channels, true, {}, /*narrow=*/true), RoundedToBf16(plain))) << patch;
  }
}

TEST(CudaFastPatches, NeighbourhoodsEqualThePlainKernelBitForBit) {
  for (const RowsOf rows : {RowsOf::kTokens, RowsOf::kCells}) {
    for (const int channels : {4, 20, 132}) {
      ExpectEqualBits(kGatheredBatches, absl::StrCat("neighbours of ", channels), [&](KernelBatch& batch, bool fast) {
        const Matrix x = batch.NewMatrix(rows, channels, channels + 4);
        const cuda::GatherArguments arguments = {batch.batch(), x, batch.NewMatrix(RowsOf::kCells, 9 * channels)};
        fast ? batch.RunFast(arguments) : batch.Run("vitrine_gather_neighbours", arguments);
        return batch.Read(arguments.y);
      });
    }
  }
}

}  // namespace
}  // namespace vitrine::testing
