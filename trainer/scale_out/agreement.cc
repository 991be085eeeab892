// SPDX-License-Identifier: Apache-2.0
#include "trainer/scale_out/agreement.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Returns a hash of the bits of all parameters and buffers, in order.
int64_t HashOf(const Module& model) {
  uint64_t hash = 14695981039346656037u;
  const auto add = [&hash](const std::vector<NamedTensor>& tensors) {
    for (const NamedTensor& each : tensors) {
      const at::Tensor tensor = each.tensor.detach().cpu().contiguous();
      const auto* bytes = static_cast<const char*>(tensor.data_ptr());
      const size_t count = tensor.numel() * tensor.element_size();
      for (size_t i = 0; i < count; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, bytes + i, std::min(sizeof word, count - i));
        hash = (hash ^ word) * 1099511628211u;
        hash ^= hash >> 32;  // multiplication alone does not change the lower bits
      }
    }
  };
  add(model.Parameters());
  add(model.Buffers());
  return static_cast<int64_t>(hash);
}

}  // namespace

absl::Status CheckParallel(const Module& model, int processes) {
  if (processes == 1) return absl::OkStatus();
  int layers = 0;
  std::string first;
  for (const NamedTensor& buffer : model.Buffers()) {
    if (!absl::EndsWith(buffer.name, "running_mean")) continue;
    if (layers++ == 0) first = buffer.name;
  }
  if (layers == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the model has ", layers, " layers of BatchNorm (the first has ", first, "), and ", processes,
                   " processes would each normalise with their own part of the batch; train in one process, or "
                   "choose a model without BatchNorm"));
}

absl::Status CheckSameStart(Communicator& ranks, const Module& model, int64_t step) {
  if (ranks.size() == 1) return absl::OkStatus();
  const at::NoGradGuard no_grad;
  const at::Tensor all = at::zeros({ranks.size(), 2}, at::kLong);
  int64_t* rows = all.mutable_data_ptr<int64_t>();
  rows[2 * ranks.rank()] = step;
  rows[2 * ranks.rank() + 1] = HashOf(model);
  RETURN_IF_ERROR(ranks.Sum({&all, 1}));
  std::string differ;
  for (int rank = 1; rank < ranks.size(); ++rank) {
    if (rows[2 * rank] != rows[0]) {
      absl::StrAppend(&differ, "; rank 0 begins at step ", rows[0], ", rank ", rank, " at step ", rows[2 * rank]);
    } else if (rows[2 * rank + 1] != rows[1]) {
      absl::StrAppend(&differ, "; rank ", rank, " begins with other weights than rank 0");
    }
  }
  if (differ.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the processes do not train the same model", differ,
                   ". All need the same recipe and seed, and the same --work folder when they resume"));
}

}  // namespace vitrine
