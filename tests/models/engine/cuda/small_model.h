// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_MODELS_ENGINE_CUDA_SMALL_MODEL_H_
#define VITRINE_TESTS_MODELS_ENGINE_CUDA_SMALL_MODEL_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "models/engine/cuda/backend.h"
#include "models/program/builder.h"
#include "tests/models/engine/cuda/fake.h"
#include "tests/models/engine/cuda/on_device.h"
#include "tests/models/reference/images.h"

namespace vitrine::testing {

inline bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

// A fixture with a small, fast model: a linear head on the mean of 2 x 2 patches.
class SmallCudaModel : public ::testing::Test {
 protected:
  static constexpr int kClasses = 5;

  absl::StatusOr<std::unique_ptr<const Backend>> On(cuda::driver::Card& card, int images = 3, int slots = 2) const {
    const std::vector<const float*> weights(program_.weights().size(), numbers_.data());
    engine::WeightsInMemory source(weights);
    return cuda::MakeBackend(card, program_, source,
                             {.engine = {.limits = {.images = images, .cells = 40, .pixels = 480}},
                              .slot = {.staging_bytes = size_t{1} << 20, .limit = absl::Seconds(60)},
                              .slots = slots});
  }
  std::vector<cuda::ImagePlanes> Batch(std::span<const size_t> which) const {
    std::vector<cuda::ImagePlanes> views;
    for (const size_t i : which) views.push_back(View(images_[i]));
    return views;
  }
  // Runs the images in one call. Expects that each image gets the same bits as in a call with only this image.
  absl::Status RunBatch(const Backend& backend, std::span<const size_t> which) const {
    engine::Workspace workspace;
    std::vector<float> logits(which.size() * kClasses, NAN);
    const absl::Status status = backend.Run(Batch(which), workspace, logits.data(), nullptr, nullptr);
    if (!status.ok()) return status;
    for (size_t i = 0; i < which.size(); ++i) {
      EXPECT_TRUE(SameBits(std::span(logits).subspan(i * kClasses, kClasses), alone_[which[i]])) << i;
    }
    return status;
  }

 private:
  // Returns the logits of each image alone, computed on the emulator.
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

  static std::vector<float> Numbers() {
    std::vector<float> numbers(64);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.01F * static_cast<float>(i % 37) - 0.2F;
    return numbers;
  }
  static std::vector<at::Tensor> Images() {
    std::vector<at::Tensor> images;
    for (uint64_t i = 0; i < 6; ++i) images.push_back(RandomImage(3, 2 + 2 * (i % 3), 2 + 2 * (i / 2), i + 1));
    return images;
  }

 protected:
  const program::Program program_ = Make();
  const std::vector<float> numbers_ = Numbers();
  const std::vector<at::Tensor> images_ = Images();
  const std::vector<std::vector<float>> alone_ = Alone();
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_ENGINE_CUDA_SMALL_MODEL_H_
