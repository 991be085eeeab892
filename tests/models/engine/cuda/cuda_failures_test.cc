// SPDX-License-Identifier: Apache-2.0
// Makes one driver call fail in each run, which starts the driver, uses a model and replaces it. Callers must get right
// bits or an error, and nothing may leak.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/models/engine/cuda/small_model.h"

namespace vitrine::testing {
namespace {

using cuda::driver::Card;
using ::testing::HasSubstr;

#ifdef VITRINE_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

// Opens the driver, loads a model, runs batches of several callers, replaces the model and runs batches again.
class FailingDriverCall : public SmallCudaModel {
 protected:
  // Returns the first error of the whole sequence.
  absl::Status Live() {
    absl::StatusOr<cuda::driver::Driver> driver = OpenFake();
    if (!driver.ok()) return driver.status();
    auto card = Card::Open(*driver, 0, kNoImage);
    if (!card.ok()) return card.status();
    absl::Status status;
    auto serving = Load(**card);
    status.Update(serving.status());
    has_loaded_ = Fake().Calls("") < nth_;
    if (serving.ok()) {
      status.Update(RunBatches(**serving));
      auto next = Load(**card);
      status.Update(next.status());
      if (next.ok()) serving = std::move(next);
      status.Update(RunBatches(**serving));
      // An error that is not sticky affects one batch only; the next batch succeeds.
      if (!status.ok() && !sticky_) {
        EXPECT_TRUE(RunBatches(**serving).ok());
      }
    }
    const bool has_failed = Fake().Calls("") >= nth_;
    EXPECT_EQ((*card)->lost(), sticky_ && has_failed);
    if (sticky_ && has_failed) {
      EXPECT_FALSE(status.ok());
    }
    return status;
  }
  virtual absl::StatusOr<std::unique_ptr<const Backend>> Load(Card& card) const { return On(card); }
  // Runs batches in three threads. Checks that each caller gets the right bits or an error. Returns one of the errors.
  virtual absl::Status RunBatches(const Backend& backend) const {
    absl::Status statuses[3];
    {
      std::vector<std::jthread> callers;
      for (size_t i = 0; i < std::size(statuses); ++i) {
        callers.emplace_back([&, i] {
          const size_t which[] = {i, i + 1};
          statuses[i] = RunBatch(backend, std::span(which).first(1 + i % 2));
        });
      }
    }
    for (const absl::Status& status : statuses) {
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  // Runs the sequence once for each chosen driver call and makes that call fail. Chooses every call until the first
  // model is loaded, and every `step`-th call afterwards. With sanitizers, chooses every seventh call. Returns the
  // number of driver calls in a run without a failure.
  int64_t FailEach(cuda::driver::Result error, bool sticky, int step = 1) {
    sticky_ = sticky;
    has_loaded_ = false;
    for (nth_ = 1;; nth_ += kIsSanitized ? 7 : has_loaded_ ? step : 1) {
      Fake().Reset(settings_);
      Fake().Fail(nth_, error, sticky);
      const absl::Status status = Live();
      if (const int64_t calls = Fake().Calls(""); calls < nth_) return calls;
      SCOPED_TRACE(absl::StrCat("call ", nth_, ": ", status.ToString()));
      EXPECT_EQ(Fake().faults(), "");
      if (!status.ok()) {
        EXPECT_THAT(std::string(status.message()), HasSubstr("CUDA_ERROR_"));
        EXPECT_THAT(std::string(status.message()), HasSubstr(" failed ("));
      }
      if (!sticky) {
        EXPECT_EQ(Fake().use(), FakeUse());
      }
      if (HasFailure()) return nth_;
    }
  }

  FakeSettings settings_;

 private:
  int64_t nth_ = 0;
  bool sticky_ = false;
  bool has_loaded_ = false;  // true if call nth_, which fails, comes after the first load
};

TEST_F(FailingDriverCall, GivesAnErrorAndLeaksNothing) {
  EXPECT_GT(FailEach(cuda::driver::kInvalidValue, /*sticky=*/false), 100);
}

TEST_F(FailingDriverCall, GivesAnErrorWithoutMemoryAndLeaksNothing) {
  EXPECT_GT(FailEach(cuda::driver::kOutOfMemory, /*sticky=*/false), 100);
}

TEST_F(FailingDriverCall, LosesTheDeviceAfterAStickyError) {
  EXPECT_GT(FailEach(cuda::driver::kIllegalAddress, /*sticky=*/true), 100);
}

// A ViT needs further driver calls: it uploads positions for new image sizes, and runs the kernels one by one to
// collect attention and tokens. To save time, the device computes nothing and returns zeros from the first launch of a
// graph on. So these tests check errors, leaks and the state of the device, but no bits.
class FailingDriverCallOfAVit : public FailingDriverCall {
 protected:
  FailingDriverCallOfAVit() { settings_.free_after = 0; }

  absl::StatusOr<std::unique_ptr<const Backend>> Load(Card& card) const override {
    engine::WeightsInMemory source(compiled_.weights);
    return cuda::MakeBackend(card, *compiled_.program, source,
                             {.engine = {.limits = {.images = 2, .cells = 100, .pixels = 5000}},
                              .slot = {.staging_bytes = size_t{1} << 20, .limit = absl::Seconds(60)}});
  }
  absl::Status RunBatches(const Backend& backend) const override {
    absl::Status first = RunOne(backend, /*with_taps=*/false);
    first.Update(RunOne(backend, /*with_taps=*/true));
    return first;
  }
  absl::Status RunOne(const Backend& backend, bool with_taps) const {
    AttentionTap attention;
    TokenTap tokens;
    attention.Request(1, AttentionSource::kTokens, 0);
    tokens.Request(TokenTap::kFinal);
    engine::Workspace workspace;
    const std::vector<cuda::ImagePlanes> batch = {View(pictures_[0]), View(pictures_[1])};
    std::vector<float> logits(batch.size() * static_cast<size_t>(form_.config.classes()));
    return backend.Run(batch, workspace, logits.data(), with_taps ? &attention : nullptr,
                       with_taps ? &tokens : nullptr);
  }

 private:
  static EngineForm Vit() {
    const std::vector<EngineForm> forms = EngineForms();
    EngineForm vit =
        *std::find_if(forms.begin(), forms.end(), [](const EngineForm& form) { return form.name == "vit"; });
    vit.config.mutable_vit()->set_depth(1);
    return vit;
  }

  const EngineForm form_ = Vit();
  const Compiled compiled_{form_.config, cpu::CpuPath::kPortable};
  const std::vector<at::Tensor> pictures_ = {
      RandomImage(form_.config.preprocessing().channels(), form_.sizes[0].first, form_.sizes[0].second, 1),
      RandomImage(form_.config.preprocessing().channels(), form_.sizes[1].first, form_.sizes[1].second, 2)};
};

TEST_F(FailingDriverCallOfAVit, GivesAnErrorAndLeaksNothing) {
  EXPECT_GT(FailEach(cuda::driver::kInvalidValue, /*sticky=*/false, /*step=*/5), 300);
}

TEST_F(FailingDriverCallOfAVit, LosesTheDeviceAfterAStickyError) {
  EXPECT_GT(FailEach(cuda::driver::kIllegalAddress, /*sticky=*/true, /*step=*/5), 300);
}

TEST_F(FailingDriverCallOfAVit, IsReportedByARunWithTaps) {
  const std::unique_ptr<Card> card = NewCard(settings_);
  const auto backend = Load(*card);
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_TRUE(RunOne(**backend, /*with_taps=*/true).ok());
  for (const char* const name : {"cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuMemcpyDtoHAsync_v2"}) {
    Fake().FailNext(name, cuda::driver::kInvalidValue, /*sticky=*/false);
    EXPECT_THAT(std::string(RunOne(**backend, /*with_taps=*/true).message()), HasSubstr("CUDA_ERROR_INVALID_VALUE"))
        << name;
    EXPECT_TRUE(RunOne(**backend, /*with_taps=*/true).ok()) << name;
  }
}

}  // namespace
}  // namespace vitrine::testing
