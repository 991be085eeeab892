// SPDX-License-Identifier: Apache-2.0
// Tests models on the fake driver. CUDA graphs must give the same bits as single kernel launches on the emulator, even
// if other calls run at the same time. After a model is loaded, no memory may be allocated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/models/engine/cuda/small_model.h"

namespace vitrine::testing {
namespace {

using cuda::driver::Card;
using ::testing::AllOf;
using ::testing::HasSubstr;

const cuda::BackendOptions kOptions = {.engine = {.limits = kSmallBatch},
                                       .slot = {.staging_bytes = size_t{1} << 20, .limit = absl::Seconds(60)}};

std::vector<float> LogitsOf(const Backend& backend, std::span<const cuda::ImagePlanes> images, int64_t classes,
                            AttentionTap* attention = nullptr) {
  engine::Workspace workspace;
  std::vector<float> logits(images.size() * static_cast<size_t>(classes), NAN);
  const absl::Status status = backend.Run(images, workspace, logits.data(), attention, nullptr);
  EXPECT_TRUE(status.ok()) << status;
  return logits;
}

class CudaBackend : public CudaForm {
 protected:
  std::unique_ptr<const Backend> On(Card& card, const cuda::BackendOptions& options = kOptions) const {
    engine::WeightsInMemory source(compiled_.weights);
    auto backend = cuda::MakeBackend(card, *compiled_.program, source, options);
    EXPECT_TRUE(backend.ok()) << backend.status();
    return std::move(backend).value();
  }
};

TEST_P(CudaBackend, EqualsTheEmulatorBitForBit) {
  const std::vector<at::Tensor> images = Images(3);
  const std::vector<cuda::ImagePlanes> views = Views(images);
  OnDevice device(*compiled_.program, compiled_.weights);
  const std::vector<float> expected = device.Logits(views);
  const int64_t classes = GetParam().config.classes();
  const std::unique_ptr<Card> card = NewCard();
  {
    const auto backend = On(*card);
    EXPECT_TRUE(SameBits(LogitsOf(*backend, views, classes), expected));
    // Calls that collect attention run while other calls run. No call may allocate or free memory, because the driver
    // would wait for all streams. No call may load code, because code takes memory of the device.
    const auto calls = [] {
      return Fake().Calls("cuMemAlloc_v2") + Fake().Calls("cuMemFree_v2") + Fake().Calls("cuModuleGetFunction");
    };
    const int64_t before = calls();
    std::vector<std::jthread> callers;
    for (const bool with_taps : {true, false, true, false}) {
      callers.emplace_back([&, with_taps] {
        AttentionTap tap;
        for (const AttentionSource source :
             {AttentionSource::kTokens, AttentionSource::kClassQuery, AttentionSource::kChannels}) {
          if (with_taps) tap.Request(1, source, 0);
        }
        EXPECT_TRUE(SameBits(LogitsOf(*backend, views, classes, &tap), expected)) << "with taps: " << with_taps;
      });
    }
    callers.clear();  // joins the threads
    TokenTap tokens;
    tokens.Request(0);
    tokens.Request(TokenTap::kFinal);
    engine::Workspace workspace;
    std::vector<float> logits(views.size() * static_cast<size_t>(classes));
    EXPECT_TRUE(backend->Run(views, workspace, logits.data(), nullptr, &tokens).ok());
    EXPECT_EQ(calls(), before);
  }
  EXPECT_EQ(Fake().use(), (FakeUse{.contexts = 1, .modules = 1}));
  EXPECT_EQ(Fake().faults(), "");
}

// Positional embeddings stay on the device for later batches, so an earlier batch could affect later results.
TEST_P(CudaBackend, EarlierBatchesDoNotChangeResults) {
  const std::vector<at::Tensor> images = Images(3);
  const std::vector<cuda::ImagePlanes> views = Views(images);
  OnDevice device(*compiled_.program, compiled_.weights);
  const int64_t classes = GetParam().config.classes();
  std::vector<std::vector<float>> alone;
  for (const cuda::ImagePlanes& view : views) alone.push_back(device.Logits({&view, 1}));
  const std::unique_ptr<Card> card = NewCard();
  cuda::BackendOptions options = kOptions;
  options.slots = 1;
  const auto backend = On(*card, options);
  for (const std::vector<size_t>& which : std::vector<std::vector<size_t>>{{0, 1}, {0}, {0, 2, 1}, {2, 1}, {2}}) {
    if (which.size() == 1) {
      engine::Workspace workspace;
      std::vector<float> logits(static_cast<size_t>(classes));
      Fake().FailNext("cuMemcpyHtoDAsync_v2", cuda::driver::kInvalidValue, /*sticky=*/false);
      EXPECT_FALSE(backend->Run({&views[1], 1}, workspace, logits.data(), nullptr, nullptr).ok());
    }
    std::vector<cuda::ImagePlanes> batch;
    std::vector<float> expected;
    for (const size_t image : which) {
      batch.push_back(views[image]);
      expected.insert(expected.end(), alone[image].begin(), alone[image].end());
    }
    EXPECT_TRUE(SameBits(LogitsOf(*backend, batch, classes), expected)) << which.size() << " from " << which[0];
  }
}

// Returns one small model of each family. Together they cover softmax attention, convolutions, stems, attention among
// channels and positional embeddings.
std::vector<EngineForm> OfEachFamily() {
  const std::set<std::string> names = {"vit", "eit", "baseline_cvt_t", "xcit", "xvit", "kv-pos-mnist-p7-d64-l2"};
  std::vector<EngineForm> forms;
  for (const EngineForm& form : EngineForms()) {
    if (names.contains(form.name)) forms.push_back(form);
  }
  EXPECT_EQ(forms.size(), names.size());
  return forms;
}
INSTANTIATE_TEST_SUITE_P(Forms, CudaBackend, ::testing::ValuesIn(OfEachFamily()),
                         [](const auto& info) { return NameOf(info.param, cpu::CpuPath::kPortable); });

// Returns the number of calls so far that allocate or free memory, load code, create objects or launch single kernels.
int64_t CallsOfALoad() {
  int64_t calls = 0;
  for (const char* const name :
       {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemHostAlloc", "cuMemFreeHost", "cuModuleLoadData", "cuModuleGetFunction",
        "cuStreamCreate", "cuEventCreate", "cuStreamBeginCapture_v2", "cuGraphInstantiateWithFlags", "cuGraphUpload",
        "cuLaunchKernel", "cuOccupancyMaxActiveBlocksPerMultiprocessor"}) {
    calls += Fake().Calls(name);
  }
  return calls;
}

TEST_F(SmallCudaModel, AThousandBatchesInTwoSlotsAllocateNothing) {
  constexpr int kBatches = 500;  // batches per thread
  const std::unique_ptr<Card> card = NewCard();
  const auto backend = On(*card);
  ASSERT_TRUE(backend.ok()) << backend.status();
  const int64_t before = CallsOfALoad();
  const auto work = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < kBatches; ++i) {
      std::vector<size_t> which(1 + random() % 3);
      for (size_t& image : which) image = random() % images_.size();
      ASSERT_TRUE(RunBatch(**backend, which).ok());
    }
  };
  std::thread other(work, 1);
  work(2);
  other.join();
  EXPECT_EQ(CallsOfALoad(), before);
  EXPECT_EQ(Fake().faults(), "");
}

TEST_F(SmallCudaModel, NeedsASlot) {
  const std::unique_ptr<Card> card = NewCard();
  engine::WeightsInMemory none({});
  EXPECT_EQ(cuda::MakeBackend(*card, program_, none, {.slots = 0}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SmallCudaModel, ABatchAboveTheLimitsRunsInParts) {
  const std::unique_ptr<Card> card = NewCard();
  const auto backend = On(*card, 2);
  ASSERT_TRUE(backend.ok()) << backend.status();
  const std::vector<size_t> which = {0, 1, 2, 3, 4, 5, 0};
  EXPECT_TRUE(RunBatch(**backend, which).ok());
}

TEST_F(SmallCudaModel, RefusesAModelThatDoesNotFitBesideAnother) {
  size_t needed = 0, pinned = 0;
  {
    const std::unique_ptr<Card> card = NewCard();
    const auto backend = On(*card);
    ASSERT_TRUE(backend.ok()) << backend.status();
    needed = Fake().use().device_bytes;
    pinned = Fake().use().pinned_bytes;
    EXPECT_EQ((*backend)->device_memory().device_bytes, static_cast<int64_t>(needed));
    EXPECT_EQ((*backend)->device_memory().pinned_bytes, static_cast<int64_t>(pinned));
  }
  const std::unique_ptr<Card> small = NewCard({.memory_bytes = 2 * needed - 1});
  const auto first = On(*small);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = On(*small).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(second.message()),
      AllOf(HasSubstr(absl::StrCat("more than the ", needed - 1, " bytes that cuda:0 has free: at least ")),
            HasSubstr("2 batches of up to 3 images and 40 tokens"),
            HasSubstr("lower --device-batch-tokens or --device-batch-images"), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
  EXPECT_EQ(Fake().use().device_bytes, needed);
  EXPECT_FALSE(small->lost());
  const size_t one = 3;
  EXPECT_TRUE(RunBatch(**first, {&one, 1}).ok());
}

TEST_F(SmallCudaModel, CountsMemorySavedByNarrowWeights) {
  const std::unique_ptr<Card> card = NewCard();
  const std::vector<const float*> weights(program_.weights().size(), numbers_.data());
  for (const auto& [precision, of_number] :
       {std::pair(Precision::kFp32, 0), {Precision::kBf16, 2}, {Precision::kInt8, 3}}) {
    engine::WeightsInMemory source(weights);
    const auto backend = cuda::MakeBackend(
        *card, program_, source, {.engine = {.limits = kSmallBatch, .choice = {.precision = precision, .kept = {}}}});
    ASSERT_TRUE(backend.ok()) << backend.status();
    EXPECT_EQ((*backend)->saved_bytes(), of_number * 12 * kClasses);  // a patch has 12 numbers
  }
}

TEST_F(SmallCudaModel, IsRefusedWithoutPinnedMemory) {
  const std::unique_ptr<Card> card = NewCard({.pinned_bytes = size_t{1} << 20});
  const absl::Status status = On(*card).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("2100992 bytes of pinned host memory"), HasSubstr("lower --device-batch-tokens")));
}

}  // namespace
}  // namespace vitrine::testing
