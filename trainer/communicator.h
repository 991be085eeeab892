// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_COMMUNICATOR_H_
#define VITRINE_TRAINER_COMMUNICATOR_H_

#include <ATen/core/Tensor.h>

#include <span>

#include "absl/status/status.h"

namespace vitrine {

// A group of processes that train one model. Every rank must make the same calls in the same order, from one thread.
// UNAVAILABLE names the rank that was lost or timed out; after this error, the group cannot be used.
class Communicator {
 public:
  virtual ~Communicator() = default;
  virtual int rank() const = 0;  // 0 to size() - 1
  virtual int size() const = 0;
  // Replaces every tensor by its sum over the ranks. The results of all ranks are bitwise equal.
  virtual absl::Status Sum(std::span<const at::Tensor> tensors) = 0;
  // Replaces every tensor by rank 0's tensor at the same index.
  virtual absl::Status Broadcast(std::span<const at::Tensor> tensors) = 0;
};

// A group of one process.
class Alone final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  absl::Status Sum(std::span<const at::Tensor>) override { return absl::OkStatus(); }
  absl::Status Broadcast(std::span<const at::Tensor>) override { return absl::OkStatus(); }
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_COMMUNICATOR_H_
