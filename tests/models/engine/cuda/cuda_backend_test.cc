// SPDX-License-Identifier: Apache-2.0
// Models on the fake driver: the emulator's bits by graphs, whatever runs beside; no allocation after the load; and the
// n-th call that fails, for every n.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/engine/cuda/backend.h"
#include "models/program/builder.h"
#include "tests/models/engine/cuda/fake.h"
#include "tests/models/engine/cuda/on_device.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {
namespace {

using cuda::driver::Card;
using ::testing::HasSubstr;

constexpr cuda::driver::SlotOptions kSlot = {.staging_bytes = size_t{1} << 20, .limit = absl::Seconds(60)};
const cuda::BackendOptions kOptions = {.engine = {.limits = kSmallBatch}, .slot = kSlot};

std::vector<float> LogitsOf(const Backend& backend, std::span<const cuda::ImagePlanes> images, int64_t classes,
                            AttentionTap* attention = nullptr) {
  engine::Workspace workspace;
  std::vector<float> logits(images.size() * static_cast<size_t>(classes), NAN);
  const absl::Status status = backend.Run(images, workspace, logits.data(), attention, nullptr);
  EXPECT_TRUE(status.ok()) << status;
  return logits;
}

bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
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

TEST_P(CudaBackend, HasTheEmulatorsBits) {
  const std::vector<at::Tensor> images = Images(3);
  const std::vector<cuda::ImagePlanes> views = Views(images);
  OnDevice device(*compiled_.program, compiled_.weights);
  const std::vector<float> expected = device.Logits(views);
  const int64_t classes = GetParam().config.classes();
  const std::unique_ptr<Card> card = NewCard();
  {
    const auto backend = On(*card);
    EXPECT_TRUE(SameBits(LogitsOf(*backend, views, classes), expected));
    AttentionTap tap;
    for (const AttentionSource source :
         {AttentionSource::kTokens, AttentionSource::kClassQuery, AttentionSource::kChannels}) {
      tap.Request(1, source, 0);
    }
    EXPECT_TRUE(SameBits(LogitsOf(*backend, views, classes, &tap), expected)) << "with taps";
  }
  EXPECT_EQ(Fake().use(), (FakeUse{.contexts = 1, .modules = 1}));
  EXPECT_EQ(Fake().faults(), "");
}

// A form of each family: with softmax attention, convolutions, a stem, attention among channels, positions.
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

// A linear head over the mean of 2 x 2 patches, which takes little time.
class SmallCudaModel : public ::testing::Test {
 protected:
  static constexpr int kClasses = 5;

  SmallCudaModel() {
    for (size_t i = 0; i < numbers_.size(); ++i) numbers_[i] = 0.01F * static_cast<float>(i % 37) - 0.2F;
    for (uint64_t i = 0; i < 6; ++i) images_.push_back(RandomImage(3, 2 + 2 * (i % 3), 2 + 2 * (i / 2), i + 1));
  }

  absl::StatusOr<std::unique_ptr<const Backend>> On(Card& card, int images = 3) const {
    const std::vector<const float*> weights(program_.weights().size(), numbers_.data());
    engine::WeightsInMemory source(weights);
    return cuda::MakeBackend(card, program_, source,
                             {.engine = {.limits = {.images = images, .cells = 40, .pixels = 480}}, .slot = kSlot});
  }
  std::vector<cuda::ImagePlanes> Batch(std::span<const size_t> which) const {
    std::vector<cuda::ImagePlanes> views;
    for (const size_t i : which) views.push_back(View(images_[i]));
    return views;
  }
  // Logits of each image alone, on the emulator.
  std::vector<std::vector<float>> Alone() const {
    const std::vector<const float*> weights(program_.weights().size(), numbers_.data());
    OnDevice device(program_, weights);
    std::vector<std::vector<float>> logits;
    for (size_t i = 0; i < images_.size(); ++i) logits.push_back(device.Logits(Batch({&i, 1})));
    return logits;
  }

  static program::Program Make() {
    program::Builder b(3);
    return b.Take(b.Linear("head", b.MeanTokens(b.Patchify(2)), kClasses));
  }

  const program::Program program_ = Make();
  std::vector<float> numbers_ = std::vector<float>(64);
  std::vector<at::Tensor> images_;
};

// Calls that take or give memory, load code, or wait for more than an event.
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
  constexpr int kBatches = 500;  // of each thread
  const std::vector<std::vector<float>> alone = Alone();
  const std::unique_ptr<Card> card = NewCard();
  const auto backend = On(*card);
  ASSERT_TRUE(backend.ok()) << backend.status();
  const int64_t before = CallsOfALoad(), graphs = Fake().Calls("cuGraphLaunch");
  const auto work = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < kBatches; ++i) {
      std::vector<size_t> which(1 + random() % 3);
      for (size_t& image : which) image = random() % images_.size();
      const std::vector<float> logits = LogitsOf(**backend, Batch(which), kClasses);
      for (size_t image = 0; image < which.size(); ++image) {
        ASSERT_TRUE(SameBits(std::span(logits).subspan(image * kClasses, kClasses), alone[which[image]]));
      }
    }
  };
  std::thread other(work, 1);
  work(2);
  other.join();
  EXPECT_EQ(CallsOfALoad(), before);
  EXPECT_EQ(Fake().Calls("cuGraphLaunch") - graphs, 2 * kBatches);
  EXPECT_EQ(Fake().faults(), "");
}

TEST_F(SmallCudaModel, NeedsASlot) {
  const std::unique_ptr<Card> card = NewCard();
  engine::WeightsInMemory none({});
  EXPECT_EQ(cuda::MakeBackend(*card, program_, none, {.slots = 0}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SmallCudaModel, ABatchBeyondTheLimitsRunsInParts) {
  const std::vector<std::vector<float>> alone = Alone();
  const std::unique_ptr<Card> card = NewCard();
  const auto backend = On(*card, 2);
  ASSERT_TRUE(backend.ok()) << backend.status();
  const std::vector<size_t> which = {0, 1, 2, 3, 4, 5, 0};
  const std::vector<float> logits = LogitsOf(**backend, Batch(which), kClasses);
  for (size_t i = 0; i < which.size(); ++i) {
    EXPECT_TRUE(SameBits(std::span(logits).subspan(i * kClasses, kClasses), alone[which[i]])) << i;
  }
}

TEST_F(SmallCudaModel, AModelThatDoesNotFitIsRefusedAndTheOtherServes) {
  const std::vector<std::vector<float>> alone = Alone();
  size_t needed = 0;
  {
    const std::unique_ptr<Card> card = NewCard();
    const auto backend = On(*card);
    needed = Fake().use().device_bytes;
  }
  const std::unique_ptr<Card> small = NewCard({.memory_bytes = 2 * needed - 1});
  const auto first = On(*small);
  ASSERT_TRUE(first.ok()) << first.status();
  const absl::Status second = On(*small).status();
  EXPECT_EQ(second.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(second.message()), HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_EQ(Fake().use().device_bytes, needed);
  EXPECT_FALSE(small->lost());
  const size_t one = 3;
  EXPECT_TRUE(SameBits(LogitsOf(**first, Batch({&one, 1}), kClasses), alone[one]));
}

// A start, a load, a batch, a swap and a batch; returns the first error.
class EveryCall : public SmallCudaModel {
 protected:
  absl::Status Live(bool& lost) {
    lost = false;
    absl::StatusOr<cuda::driver::Driver> driver = OpenFake();
    if (!driver.ok()) return driver.status();
    auto card = Card::Open(*driver, 0, kNoImage);
    if (!card.ok()) return card.status();
    absl::Status status;
    auto serving = On(**card);
    status.Update(serving.status());
    if (serving.ok()) {
      status.Update(RunBatch(**serving));
      auto next = On(**card);
      status.Update(next.status());
      if (next.ok()) serving = std::move(next);
      status.Update(RunBatch(**serving));
      lost = (*card)->lost();
      // A failure costs one request: the model serves the next one.
      if (!status.ok() && !lost) {
        EXPECT_TRUE(RunBatch(**serving).ok());
      }
    }
    lost = (*card)->lost();
    return status;
  }
  absl::Status RunBatch(const Backend& backend) {
    engine::Workspace workspace;
    const std::vector<size_t> which = {1, 2};
    std::vector<float> logits(which.size() * kClasses);
    const absl::Status status = backend.Run(Batch(which), workspace, logits.data(), nullptr, nullptr);
    if (!status.ok()) return status;
    for (size_t i = 0; i < which.size(); ++i) {
      EXPECT_TRUE(SameBits(std::span(logits).subspan(i * kClasses, kClasses), alone_[which[i]]));
    }
    return status;
  }

  // Fails the n-th call for every n; returns how many there are.
  int FailEach(cuda::driver::Result error, bool sticky) {
    for (int n = 1;; ++n) {
      Fake().Reset({});
      Fake().Fail(n, error, sticky);
      bool lost = false;
      const absl::Status status = Live(lost);
      if (Fake().Calls("") < n) return n - 1;
      SCOPED_TRACE(absl::StrCat("call ", n, ": ", status.ToString()));
      EXPECT_EQ(Fake().faults(), "");
      if (!status.ok()) {
        EXPECT_THAT(std::string(status.message()), HasSubstr("CUDA_ERROR_"));
        EXPECT_THAT(std::string(status.message()), HasSubstr(" failed ("));
      }
      if (!sticky) {
        EXPECT_FALSE(lost);
        EXPECT_EQ(Fake().use(), FakeUse());
      }
      if (HasFailure()) return n;
    }
  }

  const std::vector<std::vector<float>> alone_ = Alone();
};

TEST_F(EveryCall, ThatFailsIsASentenceAndLeaksNothing) {
  EXPECT_GT(FailEach(cuda::driver::kInvalidValue, /*sticky=*/false), 100);
}

TEST_F(EveryCall, WithoutMemoryIsASentenceAndLeaksNothing) {
  EXPECT_GT(FailEach(cuda::driver::kOutOfMemory, /*sticky=*/false), 100);
}

TEST_F(EveryCall, AfterAStickyErrorEnds) {
  EXPECT_GT(FailEach(cuda::driver::kIllegalAddress, /*sticky=*/true), 100);
}

}  // namespace
}  // namespace vitrine::testing
