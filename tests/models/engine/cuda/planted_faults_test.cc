// SPDX-License-Identifier: Apache-2.0
// The emulator finds each fault that is planted in a kernel, under every schedule, and none in the kernel without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "common/simd/bf16.h"
#include "models/engine/cuda/emulated/machine.h"
#include "tests/models/engine/cuda/tile_kernel.h"

namespace vitrine::cuda {
namespace {

using emulated::Fault;
using emulated::FaultKind;
using emulated::Machine;
using emulated::MachineOptions;
using ::testing::HasSubstr;

constexpr uint64_t kSchedules = 20;
constexpr int kRows = 100;  // the second block's tile is not full

// Arguments in the machine's memory, and the results that they must give.
class Tile {
 public:
  explicit Tile(Machine& machine) : machine_(machine) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    const auto numbers = [&](size_t count, std::vector<float>& values) {
      std::vector<cpu::Bf16> rounded;
      for (size_t i = 0; i < count; ++i) {
        rounded.push_back(cpu::ToBf16(normal(random)));
        values.push_back(cpu::ToFloat(rounded.back()));
      }
      void* const place = machine_.memory().Allocate(count * sizeof(uint16_t));
      machine_.memory().Upload(place, rounded.data(), count * sizeof(uint16_t));
      return static_cast<const uint16_t*>(place);
    };
    std::vector<float> a, w;
    arguments_.a = numbers(size_t{kRows} * kTileInner, a);
    arguments_.w = numbers(size_t{kTileColumns} * kTileInner, w);
    arguments_.y = static_cast<float*>(machine_.memory().Allocate(Bytes(kRows * kTileColumns)));
    arguments_.row_sums = static_cast<float*>(machine_.memory().Allocate(Bytes(kRows)));
    arguments_.rows = kRows;
    for (size_t row = 0; row < kRows; ++row) {
      double sum = 0;
      for (size_t column = 0; column < kTileColumns; ++column) {
        double value = 0;
        for (size_t k = 0; k < kTileInner; ++k) value += double{a[row * kTileInner + k]} * w[column * kTileInner + k];
        expected_.push_back(value);
        sum += value;
      }
      expected_sums_.push_back(sum);
    }
  }

  template <Planted kPlanted>
  std::optional<Fault> Run() const {
    return machine_.Launch({.kernel = "tile", .blocks = 2, .threads = kTileThreads, .shared_bytes = kTileShared},
                           [this] { TileKernel<kPlanted>(arguments_); });
  }

  // Returns the largest difference from the sums in fp64; NaN if a result is.
  double Apart() const { return std::max(Apart(arguments_.y, expected_), Apart(arguments_.row_sums, expected_sums_)); }

  std::vector<float> Results() const { return Download(arguments_.y, kRows * kTileColumns); }

 private:
  static size_t Bytes(size_t floats) { return floats * sizeof(float); }
  std::vector<float> Download(const float* from, size_t count) const {
    std::vector<float> values(count);
    machine_.memory().Download(values.data(), from, Bytes(count));
    return values;
  }
  double Apart(const float* place, const std::vector<double>& expected) const {
    double most = 0;
    const std::vector<float> values = Download(place, expected.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const double apart = std::abs(values[i] - expected[i]);
      most = std::isnan(apart) ? INFINITY : std::max(most, apart);
    }
    return most;
  }

  Machine& machine_;
  TileArguments arguments_ = {};
  std::vector<double> expected_, expected_sums_;
};

constexpr double kTolerance = 2e-3;  // of sums of 128 products near 1, truncated; row sums are of 16 of them

// Returns the fault of every schedule, or an empty text where there is none.
template <Planted kPlanted>
std::vector<std::optional<Fault>> Faults() {
  std::vector<std::optional<Fault>> faults;
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    Machine machine({.seed = seed});
    faults.push_back(Tile(machine).Run<kPlanted>());
  }
  return faults;
}

// Expects the fault under every schedule, with its place and `detail`.
template <Planted kPlanted>
void ExpectFound(FaultKind kind, const std::string& detail = "") {
  for (const std::optional<Fault>& fault : Faults<kPlanted>()) {
    ASSERT_TRUE(fault.has_value());
    EXPECT_EQ(fault->kind, kind) << fault->ToString();
    EXPECT_THAT(fault->ToString(), HasSubstr(detail));
    EXPECT_THAT(fault->ToString(), HasSubstr("in tile, block "));
    EXPECT_THAT(std::string(fault->source.file), HasSubstr("tile_kernel.h"));
    EXPECT_GT(fault->source.line, 0);
  }
}

TEST(PlantedFaults, NoneIsFoundWhereThereIsNone) {
  for (const emulated::RoundingModel model : emulated::kRoundingModels) {
    std::vector<float> first;
    for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
      Machine machine({.seed = seed, .rounding = model});
      const Tile tile(machine);
      const std::optional<Fault> fault = tile.Run<Planted::kNone>();
      ASSERT_FALSE(fault.has_value()) << fault->ToString();
      EXPECT_LE(tile.Apart(), kTolerance);
      if (first.empty()) first = tile.Results();
      if (model != emulated::RoundingModel::kRandom) {
        EXPECT_EQ(tile.Results(), first) << "schedule " << seed;
      }
    }
  }
}

TEST(PlantedFaults, AMissingBarrierIsFound) {
  for (const std::optional<Fault>& fault : Faults<Planted::kNoBarrierBehindWait>()) {
    ASSERT_TRUE(fault.has_value());
    // Either another warp reads before a thread has waited, or a thread copies what was just read.
    EXPECT_TRUE(fault->kind == FaultKind::kUnwritten || fault->kind == FaultKind::kInFlight ||
                fault->kind == FaultKind::kRace)
        << fault->ToString();
  }
  ExpectFound<Planted::kNoBarrierBeforeReuse>(FaultKind::kRace, "SyncBlock between");
}

TEST(PlantedFaults, AMissingSyncWarpIsFound) {
  // A lane reads the sums of others: too early, or, if it is late, without order.
  for (const std::optional<Fault>& fault : Faults<Planted::kNoSyncWarp>()) {
    ASSERT_TRUE(fault.has_value());
    EXPECT_TRUE(fault->kind == FaultKind::kUnwritten || fault->kind == FaultKind::kRace) << fault->ToString();
  }
}

TEST(PlantedFaults, AMissingWaitIsFound) {
  ExpectFound<Planted::kNoWait>(FaultKind::kInFlight, "address 0x");
}

TEST(PlantedFaults, AStrayIndexIsFound) {
  ExpectFound<Planted::kStrayIndex>(FaultKind::kStray, "block 1");
}

TEST(PlantedFaults, AWrongFragmentLaneIsFound) {
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    Machine machine({.seed = seed});
    const Tile tile(machine);
    const std::optional<Fault> fault = tile.Run<Planted::kWrongLane>();
    EXPECT_TRUE(fault.has_value() || tile.Apart() > 1);
  }
}

TEST(PlantedFaults, ASwizzleOffByOneIsFound) {
  for (uint64_t seed = 1; seed <= kSchedules; ++seed) {
    Machine machine({.seed = seed});
    const Tile tile(machine);
    const std::optional<Fault> fault = tile.Run<Planted::kSwizzleOffByOne>();
    EXPECT_TRUE(fault.has_value() || tile.Apart() > 1);
  }
}

TEST(PlantedFaults, BankConflictsAreCounted) {
  const auto passes = [](auto planted) {
    Machine machine({.counts = true});
    const Tile tile(machine);
    EXPECT_FALSE(tile.Run<decltype(planted)::value>().has_value());
    EXPECT_LE(tile.Apart(), kTolerance);
    const emulated::Traffic shared = machine.counters().Total(/*is_shared=*/true);
    return static_cast<double>(shared.passes) / static_cast<double>(shared.least_passes);
  };
  EXPECT_LT(passes(std::integral_constant<Planted, Planted::kNone>()), 1.05);
  EXPECT_GT(passes(std::integral_constant<Planted, Planted::kNoSwizzle>()), 1.5);
}

TEST(PlantedFaults, ABarrierInABranchIsFound) {
  ExpectFound<Planted::kBarrierInBranch>(FaultKind::kDiverged);
}

TEST(PlantedFaults, AMisalignedCopyIsFound) {
  ExpectFound<Planted::kMisalignedCopy>(FaultKind::kMisaligned, "thread 77");
}

TEST(PlantedFaults, TwoBlocksAtOneWordAreFound) {
  ExpectFound<Planted::kTwoBlocksWriteOneRow>(FaultKind::kRace, "another block");
}

}  // namespace
}  // namespace vitrine::cuda
