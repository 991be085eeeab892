// SPDX-License-Identifier: Apache-2.0
#include "trainer/inspect/generate.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/status_macros.h"
#include "trainer/sampler.h"

namespace vitrine {

int64_t DrawToken(std::span<const float> logits, const GenerateOptions& options, double uniform) {
  std::vector<int64_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::ranges::stable_sort(ids, std::greater(), [&](int64_t id) { return logits[id]; });
  if (options.temperature == 0) return ids.front();
  if (options.top_k > 0 && options.top_k < static_cast<int64_t>(ids.size())) ids.resize(options.top_k);
  std::vector<double> sums;  // cumulative sums of the unnormalised probabilities
  for (const int64_t id : ids) {
    const double share = std::exp((logits[id] - logits[ids.front()]) / options.temperature);
    sums.push_back(share + (sums.empty() ? 0 : sums.back()));
  }
  const auto drawn = std::ranges::upper_bound(sums, uniform * sums.back());
  return ids[std::min<size_t>(drawn - sums.begin(), ids.size() - 1)];
}

absl::Status Generate(const SequenceModel& model, SequenceBatch batch, const GenerateOptions& options,
                      const std::function<void(int64_t id)>& take) {
  CounterRandom random(options.seed, 0, 0);
  at::Tensor& ids = batch.source;  // [1, n]
  for (int64_t i = 0; i < options.tokens; ++i) {
    ids = ids.slice(1, std::max<int64_t>(0, ids.size(1) - options.context));
    ASSIGN_OR_RETURN(const at::Tensor logits, RunSequenceModel(model, batch));  // [1, n, V]
    const at::Tensor last = logits[0][-1].slice(0, 0, options.vocabulary).contiguous();
    const int64_t id =
        DrawToken({last.const_data_ptr<float>(), static_cast<size_t>(last.size(0))}, options, random.Uniform());
    take(id);
    ids = at::cat({ids, at::full({1, 1}, id, ids.options())}, 1);
  }
  return absl::OkStatus();
}

}  // namespace vitrine
