// SPDX-License-Identifier: Apache-2.0
#include "models/engine/logits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdint>
#include <map>
#include <vector>

#include "common/mutex.h"

namespace vitrine {
namespace {

using ::testing::ElementsAre;

// A backend that returns two logits per image: the first value of the image, and the index of the image in the call.
// Records the number of images of each call.
class Calls : public Backend {
 public:
  absl::Status Run(std::span<const engine::ImagePlanes> images, engine::Workspace&, float* logits, AttentionTap*,
                   TokenTap*) const override {
    for (size_t i = 0; i < images.size(); ++i) {
      logits[2 * i] = images[i].data[0];
      logits[2 * i + 1] = static_cast<float>(i);
      if (images[i].data[0] < 0) return absl::InternalError("below zero");
    }
    MutexLock lock(mutex_);
    ++calls_[images.size()];
    return absl::OkStatus();
  }
  std::map<size_t, int> calls() const {
    MutexLock lock(mutex_);
    return calls_;
  }

 private:
  mutable Mutex mutex_;
  mutable std::map<size_t, int> calls_ ABSL_GUARDED_BY(mutex_);  // number of calls by their number of images
};

std::vector<FloatArray> Images(int count) {
  std::vector<FloatArray> images;
  for (int i = 0; i < count; ++i) images.push_back({.shape = {1, 1, 1}, .values = {static_cast<float>(10 + i)}});
  return images;
}

TEST(LogitsOf, ThreadsShareTheImagesAndRowsKeepTheirOrder) {
  const std::map<int, std::map<size_t, int>> shares = {{0, {{5, 1}}},         {1, {{5, 1}}}, {2, {{2, 1}, {3, 1}}},
                                                       {3, {{1, 1}, {2, 2}}}, {5, {{1, 5}}}, {9, {{1, 5}}}};
  for (const auto& [threads, expected] : shares) {
    const Calls backend;
    const absl::StatusOr<FloatArray> logits = LogitsOf(backend, 2, Images(5), threads);
    ASSERT_TRUE(logits.ok());
    EXPECT_THAT(logits->shape, ElementsAre(5, 2));
    for (size_t i = 0; i < 5; ++i) EXPECT_EQ(logits->values[2 * i], static_cast<float>(10 + i)) << threads;
    EXPECT_EQ(backend.calls(), expected) << threads << " threads";
  }
}

TEST(LogitsOf, AFailureOnAnyThreadIsReturned) {
  for (const size_t wrong : {0, 4}) {
    std::vector<FloatArray> images = Images(5);
    images[wrong].values[0] = -1;
    EXPECT_EQ(LogitsOf(Calls(), 2, images, 3).status(), absl::InternalError("below zero"));
  }
}

#ifndef VITRINE_SANITIZED  // sanitizers need more address space than this test allows
TEST(LogitsOf, ComputesAllImagesIfNoThreadCanStart) {
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  const std::vector<FloatArray> images = Images(64);
  const rlimit none = {.rlim_cur = 1, .rlim_max = before.rlim_max};  // no room for the stack of another thread
  ASSERT_EQ(setrlimit(RLIMIT_AS, &none), 0);
  const Calls backend;
  const absl::StatusOr<FloatArray> logits = LogitsOf(backend, 2, images, /*threads=*/64);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  ASSERT_TRUE(logits.ok()) << logits.status();
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(logits->values[2 * i], images[i].values[0]);
}
#endif

}  // namespace
}  // namespace vitrine
