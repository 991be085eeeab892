// SPDX-License-Identifier: Apache-2.0
#include "models/engine/logits.h"

#include <algorithm>
#include <future>
#include <system_error>
#include <vector>

namespace vitrine {

engine::ImagePlanes ImageOf(const FloatArray& input) {
  return {.data = input.values.data(),
          .channels = static_cast<int>(input.shape[0]),
          .height = static_cast<int>(input.shape[1]),
          .width = static_cast<int>(input.shape[2])};
}

absl::StatusOr<FloatArray> LogitsOf(const Backend& backend, int64_t classes, std::span<const FloatArray> images,
                                    int threads) {
  const auto width = static_cast<size_t>(classes);
  FloatArray logits{.shape = {static_cast<int64_t>(images.size()), classes},
                    .values = std::vector<float>(images.size() * width)};
  std::vector<engine::ImagePlanes> views;
  for (const FloatArray& image : images) views.push_back(ImageOf(image));
  const auto parts = static_cast<size_t>(std::max(threads, 1));
  const size_t share = (views.size() + parts - 1) / parts;
  const auto run = [&](size_t first) {
    engine::Workspace workspace;
    const size_t count = std::min(share, views.size() - first);
    return backend.Run(std::span(views).subspan(first, count), workspace, logits.values.data() + first * width, nullptr,
                       nullptr);
  };
  absl::Status status;
  std::vector<std::future<absl::Status>> others;
  for (size_t first = share; first < views.size(); first += share) {
    try {
      others.push_back(std::async(std::launch::async, run, first));
    } catch (const std::system_error&) {
      status.Update(run(first));  // if no more threads can start, the calling thread computes the share
    }
  }
  status.Update(run(0));
  for (std::future<absl::Status>& other : others) status.Update(other.get());
  if (!status.ok()) return status;
  return logits;
}

}  // namespace vitrine
