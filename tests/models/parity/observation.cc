// SPDX-License-Identifier: Apache-2.0
#include "tests/models/parity/observation.h"

#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "models/reference/float_arrays.h"

namespace vitrine::testing {
namespace {

// Maximum number of samples of a tensor, and the distance between two samples, as in tests/oracle/golden.py.
constexpr int64_t kSamples = 320;
constexpr int64_t kStride = 7919;

at::Tensor Sample(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous().flatten();
  const int64_t count = flat.numel();
  return count <= kSamples ? flat : flat.index_select(0, at::arange(kSamples).mul(kStride).remainder(count));
}

// The parts of a recorded name: "tokens.4.1" is {"tokens", 4, 1}, and "final.1" is {"final", TokenTap::kFinal, 1}.
struct RecordedName {
  std::string what;
  int layer = TokenTap::kFinal;
  int image = 0;

  explicit RecordedName(const std::string& name) {
    std::istringstream stream(name);
    std::string part;
    std::vector<int> numbers;
    std::getline(stream, what, '.');
    while (std::getline(stream, part, '.')) numbers.push_back(std::atoi(part.c_str()));
    image = numbers.back();
    if (numbers.size() == 2) layer = numbers[0];
  }
  bool tokens() const { return what == "tokens" || what == "final"; }
};

AttentionSource SourceOf(const Model& model, const std::string& what) {
  if (what == "channels") return AttentionSource::kChannels;
  const bool class_blocks = model.config().has_xcit() || model.config().has_xvit();
  return what == "class_row" && class_blocks ? AttentionSource::kClassQuery : AttentionSource::kTokens;
}

at::Tensor AttentionValues(const AttentionTap::Matrices& matrices, const std::string& what) {
  const at::Tensor weights = matrices.weights.empty()
                                 ? TensorOf(matrices.queries).matmul(TensorOf(matrices.keys).transpose(-2, -1))
                                 : TensorOf(matrices.weights);
  return what == "class_row" ? weights.select(1, 0) : weights;
}

at::Tensor TokensOf(const TokenTap::Tokens& tokens, int image) {
  return TensorOf(tokens.data).narrow(0, tokens.layout->offset(image), tokens.layout->tokens(image));
}

}  // namespace

std::map<std::string, at::Tensor> Observe(const Model& model, const ImageBatch& all, const std::vector<int>& batch,
                                          const std::vector<std::string>& names) {
  std::map<int, int> place;  // index in the batch, by image
  ImageBatch images;
  for (const int number : batch) {
    place[number] = static_cast<int>(images.size());
    images.push_back(all[number]);
  }
  AttentionTap attention;
  TokenTap tokens;
  for (const std::string& name : names) {
    const RecordedName wanted(name);
    if (!place.contains(wanted.image)) continue;
    if (wanted.tokens()) {
      tokens.Request(wanted.layer);
    } else {
      attention.Request(place[wanted.image], SourceOf(model, wanted.what), wanted.layer);
    }
  }
  const absl::StatusOr<at::Tensor> logits = RunModel(model, images, &attention, &tokens);
  std::map<std::string, at::Tensor> found;
  if (!logits.ok()) {
    ADD_FAILURE() << logits.status();
    return found;
  }
  for (const auto& [number, image] : place) found["logits." + std::to_string(number)] = (*logits)[image];
  for (const std::string& name : names) {
    const RecordedName wanted(name);
    if (!place.contains(wanted.image)) continue;
    const int image = place[wanted.image];
    if (wanted.tokens()) {
      const TokenTap::Tokens* taken = tokens.Find(wanted.layer);
      if (taken != nullptr) found[name] = Sample(TokensOf(*taken, image));
    } else {
      const auto* taken = attention.Find(image, SourceOf(model, wanted.what), wanted.layer);
      if (taken != nullptr) found[name] = Sample(AttentionValues(*taken, wanted.what));
    }
  }
  return found;
}

}  // namespace vitrine::testing
