// SPDX-License-Identifier: Apache-2.0
// Tests Driver, Card and Slot (memory, streams, launches) with the fake driver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "models/engine/cuda/driver/slot.h"
#include "models/engine/cuda/kernels/arguments.h"
#include "tests/models/engine/cuda/fake.h"

namespace vitrine::testing {
namespace {

using cuda::Launch;
using cuda::driver::Card;
using cuda::driver::Driver;
using cuda::driver::Slot;
using ::testing::HasSubstr;

std::string Refusal(const FakeSettings& settings, int index = 0) {
  Fake().Reset(settings);
  const absl::StatusOr<Driver> driver = OpenFake();
  const absl::Status status = driver.ok() ? Card::Open(*driver, index, kNoImage).status() : driver.status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Fake().use(), FakeUse());
  return std::string(status.message());
}

TEST(CudaCard, ErrorsNameTheMissingDriverOrGpu) {
  EXPECT_THAT(std::string(Driver::Open("libno-such-driver.so").status().message()),
              HasSubstr("there is no NVIDIA driver on this machine (libno-such-driver.so"));
  EXPECT_THAT(std::string(Driver::Open("libm.so.6").status().message()),
              HasSubstr("the NVIDIA driver is too old: it lacks cuInit"));
  EXPECT_THAT(Refusal({.version = 12080}),
              HasSubstr("it supports CUDA 12.8, and the kernels need 13.0; update it to 580"));
  EXPECT_THAT(Refusal({.devices = 0}), HasSubstr("finds no GPU (CUDA_ERROR_NO_DEVICE 100: no CUDA-capable device"));
  EXPECT_THAT(Refusal({.major = 7, .minor = 5}),
              HasSubstr("cuda:0 is a Emulated GPU of compute capability 7.5; the kernels need 8.0"));
  EXPECT_THAT(Refusal({}, 1), HasSubstr("there is no cuda:1; the NVIDIA driver finds 1 GPUs, cuda:0 to cuda:0"));
}

// A launch that computes y = x + z for vectors of `count` numbers.
class Sum {
 public:
  Sum(Slot& slot, int count) : count_(count), buffers_(slot) {
    counts_ = buffers_.Allocate<int>(2);
    arguments_.batch = {counts_, buffers_.Allocate<cuda::ImageRows>(2)};
    for (cuda::Matrix* const matrix : {&arguments_.x, &arguments_.z, &arguments_.y}) {
      *matrix = {buffers_.Allocate<float>(static_cast<size_t>(count)), count, count, cuda::RowsOf::kImages};
    }
  }

  absl::Status Upload(Slot& slot, const std::vector<float>& x) {
    const int counts[] = {1, 1};
    absl::Status status = slot.Upload(counts_, counts, sizeof(counts));
    status.Update(slot.Upload(arguments_.x.data, x.data(), x.size() * sizeof(float)));
    status.Update(slot.Upload(arguments_.z.data, x.data(), x.size() * sizeof(float)));
    return status;
  }
  std::vector<Launch> launches() const { return {cuda::MakeLaunch("sum", "vitrine_add", arguments_)}; }
  absl::StatusOr<std::vector<float>> Download(Slot& slot) {
    std::vector<float> y(static_cast<size_t>(count_));
    const absl::Status status = slot.Download(y.data(), arguments_.y.data, y.size() * sizeof(float));
    if (!status.ok()) return status;
    return y;
  }
  const cuda::AddArguments& arguments() const { return arguments_; }

 private:
  const int count_;
  cuda::Buffers buffers_;
  int* counts_ = nullptr;
  cuda::AddArguments arguments_ = {};
};

std::vector<float> Numbers(int count, float first = 1) {
  std::vector<float> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}
std::vector<float> Twice(std::vector<float> numbers) {
  for (float& number : numbers) number *= 2;
  return numbers;
}

TEST(CudaSlot, RunsLaunchesAndGraphs) {
  const std::unique_ptr<Card> card = NewCard();
  {
    const std::unique_ptr<Slot> slot = Slot::Make(*card).value();
    Sum sum(*slot, 100);
    const std::vector<Launch> launches = sum.launches();
    const std::vector<float> x = Numbers(100);
    ASSERT_TRUE(sum.Upload(*slot, x).ok());
    ASSERT_TRUE(slot->Run(launches[0]).ok());
    EXPECT_EQ(sum.Download(*slot).value(), Twice(x));
    const auto graph = slot->Record(launches);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (const float first : {5.0F, 7.0F}) {
      std::vector<float> changed = Numbers(100, first);
      ASSERT_TRUE(sum.Upload(*slot, changed).ok());
      std::fill(changed.begin(), changed.end(), 0.0F);  // no effect: the slot has copied the numbers
      ASSERT_TRUE((*graph)->Run().ok());
      EXPECT_EQ(sum.Download(*slot).value(), Twice(Numbers(100, first)));
    }
    EXPECT_EQ(Fake().Calls("cuGraphLaunch"), 2);
  }
  EXPECT_EQ(Fake().use(), (FakeUse{.contexts = 1, .modules = 1}));
  EXPECT_EQ(Fake().faults(), "");
}

TEST(CudaSlot, CopiesMoreBytesThanItsStagingMemory) {
  const std::unique_ptr<Card> card = NewCard();
  const std::unique_ptr<Slot> slot = Slot::Make(*card, {.staging_bytes = 100}).value();
  Sum sum(*slot, 333);
  ASSERT_TRUE(sum.Upload(*slot, Numbers(333)).ok());
  ASSERT_TRUE(slot->Run(sum.launches()[0]).ok());
  EXPECT_EQ(sum.Download(*slot).value(), Twice(Numbers(333)));
}

TEST(CudaSlot, JoinsUploadsToAdjacentMemory) {
  const std::unique_ptr<Card> card = NewCard();
  const std::unique_ptr<Slot> slot = Slot::Make(*card).value();
  cuda::Buffers buffers(*slot);
  auto* const memory = buffers.Allocate<float>(64);
  std::vector<float> numbers = Numbers(64);
  for (size_t i = 0; i < 64; i += 8) ASSERT_TRUE(slot->Upload(memory + i, numbers.data() + i, 8 * sizeof(float)).ok());
  std::vector<float> read(64);
  ASSERT_TRUE(slot->Download(read.data(), memory, 64 * sizeof(float)).ok());
  EXPECT_EQ(read, numbers);
  EXPECT_EQ(Fake().Calls("cuMemcpyHtoDAsync_v2"), 1);
}

// The driver rejects a copy to two allocations, even if they are adjacent.
TEST(CudaSlot, CopiesToEachAllocationSeparately) {
  const std::unique_ptr<Card> card = NewCard();
  const std::unique_ptr<Slot> slot = Slot::Make(*card).value();
  constexpr size_t kCount = 128;  // 512 bytes
  cuda::Buffers buffers(*slot);
  auto *const a = buffers.Allocate<float>(kCount), *const b = buffers.Allocate<float>(kCount);
  ASSERT_EQ(a + kCount, b) << "the fake driver must allocate neighbours";
  const std::vector<float> numbers = Numbers(2 * kCount);
  ASSERT_TRUE(slot->Upload(a, numbers.data(), kCount * sizeof(float)).ok());
  ASSERT_TRUE(slot->Upload(b, numbers.data() + kCount, kCount * sizeof(float)).ok());
  std::vector<float> read(2 * kCount);
  ASSERT_TRUE(slot->Download(read.data(), a, kCount * sizeof(float)).ok());
  ASSERT_TRUE(slot->Download(read.data() + kCount, b, kCount * sizeof(float)).ok());
  EXPECT_EQ(read, numbers);
  EXPECT_EQ(Fake().faults(), "");
}

TEST(CudaSlot, TwoThreadsCanUseOneSlotEach) {
  const std::unique_ptr<Card> card = NewCard({.kernel_microseconds = 100});
  const auto work = [&](float first) {
    const std::unique_ptr<Slot> slot = Slot::Make(*card).value();
    Sum sum(*slot, 64);
    const std::vector<Launch> launches = sum.launches();
    const auto graph = slot->Record(launches).value();
    for (int i = 0; i < 50; ++i, ++first) {
      ASSERT_TRUE(sum.Upload(*slot, Numbers(64, first)).ok());
      ASSERT_TRUE(graph->Run().ok());
      ASSERT_EQ(sum.Download(*slot).value(), Twice(Numbers(64, first)));
    }
  };
  std::thread other(work, 1000.0F);
  work(0.0F);
  other.join();
  EXPECT_EQ(Fake().faults(), "");
}

TEST(CudaSlot, NeedsStagingMemory) {
  const std::unique_ptr<Card> card = NewCard({.pinned_bytes = 1000});
  EXPECT_EQ(Slot::Make(*card, {.staging_bytes = 0}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Slot::Make(*card, {.staging_bytes = 4096}).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_TRUE(Slot::Make(*card, {.staging_bytes = 512}).ok());
  EXPECT_FALSE(card->lost());
}

TEST(CudaSlot, OutOfMemoryDoesNotLoseTheDevice) {
  const std::unique_ptr<Card> card = NewCard({.memory_bytes = 1000});
  const std::unique_ptr<Slot> slot = Slot::Make(*card).value();
  cuda::Buffers buffers(*slot);
  EXPECT_EQ(buffers.Allocate<float>(1000), nullptr);
  EXPECT_EQ(buffers.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(buffers.status().message(),
            "cuda:0: cuMemAlloc of 4000 bytes failed (CUDA_ERROR_OUT_OF_MEMORY 2: out of memory)");
  EXPECT_FALSE(card->lost());
  EXPECT_NE(buffers.Allocate<float>(100), nullptr);
}

TEST(CudaSlot, AKernelFaultLosesTheDevice) {
  const std::unique_ptr<Card> card = NewCard();
  const std::unique_ptr<Slot> slot = Slot::Make(*card).value();
  Sum sum(*slot, 64);
  cuda::AddArguments wrong = sum.arguments();
  wrong.y.data += 64 << 10;  // far outside, because other allocations are adjacent
  ASSERT_TRUE(sum.Upload(*slot, Numbers(64)).ok());
  ASSERT_TRUE(slot->Run(cuda::MakeLaunch("sum", "vitrine_add", wrong)).ok());
  const absl::Status status = sum.Download(*slot).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS 700"));
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(card->lost());
  const absl::Status next = sum.Upload(*slot, Numbers(64));
  EXPECT_EQ(next.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(next.message()), HasSubstr("the device serves a new process alone"));
  EXPECT_THAT(Fake().faults(), HasSubstr("stray access in vitrine_add"));
}

TEST(CudaSlot, AnEndlessKernelLosesTheDeviceAfterTheTimeout) {
  const std::unique_ptr<Card> card = NewCard();
  const std::unique_ptr<Slot> slot = Slot::Make(*card, {.limit = absl::Milliseconds(200)}).value();
  Sum sum(*slot, 64);
  ASSERT_TRUE(sum.Upload(*slot, Numbers(64)).ok());
  Fake().Hang(1);
  ASSERT_TRUE(slot->Run(sum.launches()[0]).ok());
  const absl::Status status = sum.Download(*slot).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("cuda:0 did not finish within 200ms"));
  EXPECT_TRUE(card->lost());
  const int64_t calls = Fake().Calls("");
  EXPECT_FALSE(sum.Upload(*slot, Numbers(64)).ok());
  EXPECT_FALSE(slot->Record(sum.launches()).ok());
  EXPECT_EQ(Fake().Calls(""), calls) << "a call could block";
}

TEST(CudaSlot, ALostDeviceEndsTheWaitOfOtherSlots) {
  const std::unique_ptr<Card> card = NewCard();
  const absl::Duration long_limit = absl::Seconds(30);
  const std::unique_ptr<Slot> patient = Slot::Make(*card, {.limit = long_limit}).value();
  const std::unique_ptr<Slot> quick = Slot::Make(*card, {.limit = absl::Milliseconds(200)}).value();
  Sum first(*patient, 64), second(*quick, 64);
  Fake().Pause(true);
  ASSERT_TRUE(patient->Run(first.launches()[0]).ok());
  ASSERT_TRUE(quick->Run(second.launches()[0]).ok());
  const absl::Time begin = absl::Now();
  absl::Status status;
  std::thread waiter([&] { status = first.Download(*patient).status(); });
  EXPECT_EQ(second.Download(*quick).status().code(), absl::StatusCode::kUnavailable);
  waiter.join();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(absl::Now() - begin, long_limit / 2);
}

// A slot's time limit restarts when the device finishes work of another slot, because the device then does not hang.
TEST(CudaSlot, WorkOfOtherSlotsThatEndsExtendsTheWait) {
  const std::unique_ptr<Card> card = NewCard();
  const absl::Duration limit = absl::Seconds(1);
  const std::unique_ptr<Slot> slot = Slot::Make(*card, {.limit = limit}).value();
  Sum sum(*slot, 64);
  Fake().Pause(true);
  ASSERT_TRUE(sum.Upload(*slot, Numbers(64)).ok());
  ASSERT_TRUE(slot->Run(sum.launches()[0]).ok());
  std::thread others([&] {
    for (const absl::Time end = absl::Now() + 1.5 * limit; absl::Now() < end; absl::SleepFor(limit / 50))
      card->NoteEnd();
    Fake().Pause(false);
  });
  EXPECT_TRUE(sum.Download(*slot).ok());
  others.join();
}

TEST(CudaSlot, NamesAnUnknownKernel) {
  const std::unique_ptr<Card> card = NewCard();
  const std::unique_ptr<Slot> slot = Slot::Make(*card).value();
  const std::vector<Launch> launches = {cuda::MakeLaunch("head", "vitrine_unknown", 1)};
  EXPECT_THAT(std::string(slot->Record(launches).status().message()),
              HasSubstr("cuModuleGetFunction of vitrine_unknown failed (CUDA_ERROR_NOT_FOUND 500"));
}

}  // namespace
}  // namespace vitrine::testing
