// SPDX-License-Identifier: Apache-2.0
// Tests the emulator of CUDA devices: shuffles, counters, guard pages, races, asynchronous copies and blocks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "models/engine/cuda/device/device.h"

namespace vitrine::cuda {
namespace {

using emulated::Fault;
using emulated::FaultKind;
using emulated::Machine;
using ::testing::HasSubstr;

// Returns a buffer in device memory with these values.
template <class T>
T* Put(Machine& machine, const std::vector<T>& values) {
  T* const place = static_cast<T*>(machine.memory().Allocate(values.size() * sizeof(T)));
  machine.memory().Upload(place, values.data(), values.size() * sizeof(T));
  return place;
}

TEST(Shuffles, ExchangeWithinAWarp) {
  Machine machine;
  std::vector<int> sums(64);
  const auto fault = machine.Launch({.kernel = "sum", .threads = 64}, [&] {
    int sum = Thread();
    for (int mask = 16; mask > 0; mask /= 2) sum += ShuffleXor(sum, mask);
    sums[static_cast<size_t>(Thread())] = sum;
  });
  ASSERT_FALSE(fault.has_value()) << fault->ToString();
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(sums[i], i < 32 ? 496 : 496 + 1024);
}

// Each launch has more threads than the previous launch.
TEST(Shuffles, SumAWarpInBlocksOfAnySize) {
  Machine machine;
  for (const int threads : {32, 64, 256, 1024}) {
    std::vector<int> sums(static_cast<size_t>(threads));
    const auto fault = machine.Launch({.kernel = "sum", .threads = threads}, [&] {
      int sum = 1;
      for (int mask = 16; mask > 0; mask /= 2) sum += ShuffleXor(sum, mask);
      SyncBlock();
      sums[static_cast<size_t>(Thread())] = sum;
    });
    ASSERT_FALSE(fault.has_value()) << fault->ToString();
    for (const int sum : sums) EXPECT_EQ(sum, 32);
  }
}

TEST(Shuffles, AreAFaultInABranch) {
  Machine machine;
  const auto fault = machine.Launch({.kernel = "sum"}, [&] {
    if (Lane() < 16) static_cast<void>(ShuffleXor(1, 1));
  });
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->kind, FaultKind::kDiverged);
  EXPECT_THAT(fault->ToString(), HasSubstr("has ended"));
}

TEST(Traffic, CountsBankConflictsAndSectors) {
  Machine machine({.counts = true});
  float* const global = Put(machine, std::vector<float>(1024, 1.0F));
  const auto fault = machine.Launch({.kernel = "traffic", .shared_bytes = 4096}, [&] {
    const Shared<float> shared = SharedMemory<float>(0);
    shared[Lane()] = Global<float>(global)[Lane()];          // consecutive words
    const float value = Global<float>(global)[Lane() * 32];  // each lane reads a different sector
    SyncWarp();
    shared[Lane() * 32] = value;  // all lanes write to one bank
  });
  ASSERT_FALSE(fault.has_value()) << fault->ToString();
  const emulated::Traffic reads = machine.counters().Total(/*is_shared=*/false);
  EXPECT_EQ(reads.requests, 2);
  EXPECT_EQ(reads.bytes, 2 * 128);
  EXPECT_EQ(reads.sectors, 4 + 32);
  EXPECT_EQ(reads.least_sectors, 4 + 4);
  const emulated::Traffic writes = machine.counters().Total(/*is_shared=*/true);
  EXPECT_EQ(writes.passes, 1 + 32);
  EXPECT_EQ(writes.least_passes, 2);
}

TEST(Memory, IsInitiallyNanAndUnwritten) {
  Machine machine;
  auto* const buffer = static_cast<float*>(machine.memory().Allocate(5 * sizeof(float)));
  float value = 0;
  machine.memory().Download(&value, buffer + 4, sizeof(value));
  EXPECT_TRUE(std::isnan(value));
  const auto read = [&](const Global<const float>& from, int at) {
    return machine.Launch({.kernel = "read"}, [&] { value = from[at]; });
  };
  EXPECT_EQ(read(Global<const float>(buffer), 4)->kind, FaultKind::kUnwritten);
  EXPECT_EQ(read(Global<const float>(buffer), 5)->kind, FaultKind::kStray);
  EXPECT_EQ(read(Global<const float>(buffer), -1)->kind, FaultKind::kStray);
  EXPECT_EQ(read(Global<const float>(&value), 0)->kind, FaultKind::kStray) << "memory of the host";
  machine.memory().Free(buffer);
  EXPECT_EQ(read(Global<const float>(buffer), 4)->kind, FaultKind::kStray);
}

TEST(MemoryDeathTest, DirectAccessesHitGuardPages) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Machine machine;
  auto* const buffer = static_cast<volatile float*>(machine.memory().Allocate(8 * sizeof(float)));
  EXPECT_EXIT(machine.Launch({.kernel = "stray"}, [&] { buffer[Lane()] = 1; }), ::testing::ExitedWithCode(1),
              "guard page: block 0, thread [0-9]+, address 0x");
}

// Runs a kernel of two warps under 20 schedules. Returns the number of runs with a fault of this kind, or -1 if a run
// has a fault of another kind.
int Faults(FaultKind kind, const std::function<void()>& body) {
  int faults = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Machine machine({.seed = seed});
    const auto fault = machine.Launch({.kernel = "race", .threads = 64, .shared_bytes = 1024}, body);
    if (fault && fault->kind != kind) return -1;
    if (fault) ++faults;
  }
  return faults;
}

// Every word is initialised, so the only possible fault is the order of accesses.
TEST(Races, BetweenLanesNeedSyncWarp) {
  const auto exchange = [](bool syncs, int apart) {
    return [=] {
      const Shared<int> words = SharedMemory<int>(0);
      words[Thread()] = 0;
      SyncBlock();
      words[Thread()] = Thread();
      if (syncs) SyncWarp();
      static_cast<void>(static_cast<int>(words[Thread() ^ apart]));
    };
  };
  EXPECT_EQ(Faults(FaultKind::kRace, exchange(false, 1)), 20);
  EXPECT_EQ(Faults(FaultKind::kRace, exchange(true, 1)), 0);
  EXPECT_EQ(Faults(FaultKind::kRace, exchange(true, 32)), 20) << "the other warp's lanes need SyncBlock";
}

// The first lane to read the word also writes it, after its read. A shuffle brings the lanes together, but does not
// order their accesses to memory.
TEST(Races, BetweenAWriterAndReadersAreDetected) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (const bool syncs : {false, true}) {
      Machine machine({.seed = seed});
      int first = -1;
      const auto fault = machine.Launch({.kernel = "race", .shared_bytes = 16}, [&] {
        const Shared<int> words = SharedMemory<int>(0);
        if (Thread() == 5) words[0] = 1;
        SyncBlock();
        if (first < 0) first = Thread();
        static_cast<void>(ShuffleXor(static_cast<int>(words[0]), 1));
        if (syncs) SyncWarp();
        if (Thread() == first) words[0] = 2;
      });
      EXPECT_EQ(fault.has_value(), !syncs);
      if (fault) {
        EXPECT_EQ(fault->kind, FaultKind::kRace) << fault->ToString();
      }
    }
  }
}

// A thread waits only for its own copies. Other threads may read the copied data only after a barrier that follows this
// wait.
TEST(Races, DueToAWaitAfterTheBarrierAreDetected) {
  for (const bool late : {false, true}) {
    Machine machine;
    const float* const from = Put(machine, std::vector<float>(4, 1.0F));
    const auto fault = machine.Launch({.kernel = "wait", .shared_bytes = 16}, [&] {
      const Shared<float> words = SharedMemory<float>(0);
      if (Thread() == 0) CopyAsync(words, Global<const float>(from));
      CommitCopies();
      if (!late) WaitCopies<0>();
      SyncBlock();
      if (late) WaitCopies<0>();
      static_cast<void>(ShuffleXor(0, 1));  // after this, thread 0 has waited
      static_cast<void>(static_cast<float>(words[1]));
    });
    EXPECT_EQ(fault.has_value(), late);
    if (fault) {
      EXPECT_EQ(fault->kind, FaultKind::kRace) << fault->ToString();
    }
  }
}

// A copy of 16 bytes needs aligned addresses. Its destination must not be read before the wait.
TEST(Copies, WithoutWaitOrAlignmentAreDetected) {
  const auto copy = [](bool waits, int shift) {
    Machine machine;
    const float* const from = Put(machine, std::vector<float>(8, 1.0F));
    return machine.Launch({.kernel = "copy", .shared_bytes = 16}, [&] {
      const Shared<float> words = SharedMemory<float>(0);
      if (Thread() == 0) CopyAsync(words, Global<const float>(from) + shift);
      CommitCopies();
      if (waits) WaitCopies<0>();
      SyncBlock();
      static_cast<void>(static_cast<float>(words[1]));
    });
  };
  EXPECT_FALSE(copy(true, 0).has_value());
  EXPECT_EQ(copy(false, 0)->kind, FaultKind::kInFlight);
  const auto misaligned = copy(true, 1);
  ASSERT_TRUE(misaligned.has_value());
  EXPECT_EQ(misaligned->kind, FaultKind::kMisaligned);
  EXPECT_THAT(misaligned->ToString(), HasSubstr("in copy, block 0, thread 0"));
  EXPECT_THAT(std::string(misaligned->source.file), HasSubstr("emulator_test.cc"));
}

TEST(Blocks, ABarrierInABranchIsDetected) {
  Machine machine;
  const auto fault = machine.Launch({.kernel = "branch", .threads = 64}, [&] {
    if (Thread() < 32) SyncBlock();
  });
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->kind, FaultKind::kDiverged) << fault->ToString();
}

TEST(Blocks, TwoBlocksThatWriteOneWordAreDetected) {
  Machine machine;
  auto* const word = static_cast<float*>(machine.memory().Allocate(sizeof(float)));
  const auto fault = machine.Launch({.kernel = "blocks", .blocks = 2}, [&] {
    const Global<float> words(word);
    if (Thread() == 0) words[0] = 1;
  });
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->kind, FaultKind::kRace);
  EXPECT_THAT(fault->ToString(), HasSubstr("another block"));
}

TEST(Blocks, RunEachThreadOnceInEverySchedule) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Machine machine({.seed = seed});
    int* const places = static_cast<int*>(machine.memory().Allocate(7 * 96 * sizeof(int)));
    const auto fault =
        machine.Launch({.kernel = "place", .blocks = 7, .threads = 96, .shared_bytes = 96 * sizeof(int)}, [&] {
          const Shared<int> numbers = SharedMemory<int>(0);
          for (int turn = 0; turn < 3; ++turn) {
            numbers[Thread()] = Thread() + turn;
            SyncBlock();
            const int next = numbers[(Thread() + 1) % Threads()];
            SyncBlock();
            const Global<int> results(places);
            if (turn == 2) results[Block() * Threads() + Thread()] = next;
          }
        });
    ASSERT_FALSE(fault.has_value()) << fault->ToString();
    std::vector<int> found(7 * 96);
    machine.memory().Download(found.data(), places, found.size() * sizeof(int));
    for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<int>((i + 1) % 96) + 2);
  }
}

}  // namespace
}  // namespace vitrine::cuda
