// SPDX-License-Identifier: Apache-2.0
#include "trainer/optimise/trained.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "trainer/optimise/blocks.h"

namespace vitrine {
namespace {

// Multiplies each rate by decay^(n + 1 - layer), where n is the number of blocks. Layers are numbered as in timm: the
// stem is 0, the blocks are 1 to n, the last norm is n, and the head is n + 1.
void DecayByLayer(double decay, std::vector<NamedTensor>& parameters) {
  const std::vector<std::string> blocks = BlocksOf(parameters);
  for (NamedTensor& parameter : parameters) {
    const auto block = std::ranges::find(blocks, BlockOf(parameter.name));
    std::ptrdiff_t above = std::ssize(blocks) + 1;
    if (block != blocks.end()) {
      above = blocks.end() - block;
    } else if (parameter.name.starts_with("norm")) {
      above = 1;
    } else if (parameter.name.starts_with("head")) {
      above = 0;
    }
    parameter.rate *= std::pow(decay, above);
  }
}

// Sets the rate of each parameter to the multiplier of the first pattern that matches the parameter's name.
absl::Status SetByPattern(const v1::Optimizer& settings, std::vector<NamedTensor>& parameters) {
  std::vector<NamedTensor*> open;
  for (NamedTensor& parameter : parameters) open.push_back(&parameter);
  for (const v1::RateByPattern& rate : settings.rate_by_pattern()) {
    const size_t decided = std::erase_if(open, [&rate](NamedTensor* parameter) {
      const bool matches = fnmatch(rate.pattern().c_str(), parameter->name.c_str(), 0) == 0;
      if (matches) parameter->rate = rate.multiplier();
      return matches;
    });
    if (decided > 0) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "optimizer.rate_by_pattern: \"", rate.pattern(), "\" matches no parameter that no earlier pattern matches; ",
        "names are ", parameters.front().name, ", ..., ", parameters.back().name));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<NamedTensor>> TrainedParameters(const v1::Optimizer& settings, const Task& task,
                                                           const Module& model) {
  std::vector<NamedTensor> parameters = model.Parameters();
  if (parameters.empty()) return absl::InvalidArgumentError("the model has no parameters to train");
  RETURN_IF_ERROR(SetByPattern(settings, parameters));
  if (settings.layer_decay() > 0) DecayByLayer(settings.layer_decay(), parameters);
  std::erase_if(parameters,
                [&task](const NamedTensor& parameter) { return parameter.rate == 0 || !task.Trains(parameter.name); });
  if (!parameters.empty()) return parameters;
  return absl::InvalidArgumentError("optimizer.rate_by_pattern freezes every parameter");
}

std::string FrozenInWords(const Module& model, const std::vector<NamedTensor>& trained) {
  const int64_t all = model.CountParameters(), tensors = std::ssize(model.Parameters());
  int64_t frozen = all;
  for (const NamedTensor& parameter : trained) frozen -= parameter.tensor.numel();
  if (frozen == 0) return "";
  return absl::StrCat("frozen: ", frozen, " of ", all, " parameters, ", tensors - std::ssize(trained), " of ", tensors,
                      " tensors");
}

}  // namespace vitrine
