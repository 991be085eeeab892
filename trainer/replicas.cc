// SPDX-License-Identifier: Apache-2.0
#include "trainer/replicas.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <string>
#include <thread>
#include <utility>

#include "common/status_macros.h"

namespace vitrine {
namespace {

struct ShareResult {
  StepOutcome outcome;
  std::string error;
};

ShareResult ComputeShare(const Task& task, const Module& replica, const TrainingBatch& share,
                         const ForwardContext& context, double weight) {
  ShareResult result;
  try {
    const BatchLoss batch_loss = task.Loss(replica, share, context);
    const at::Tensor loss = batch_loss.loss.mul(weight);
    loss.backward();
    result.outcome = {loss.item<double>(), batch_loss.correct, batch_loss.predictions};
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

void Forget(const Module& module) {
  for (const NamedTensor& parameter : module.Parameters()) parameter.tensor.mutable_grad().reset();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Replicas>> Replicas::Make(const Task& task, Module& model, int count) {
  std::unique_ptr<Replicas> replicas(new Replicas(task, model));
  for (int i = 1; i < count; ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<Module> replica, task.MakeModel());
    const std::vector<NamedTensor> parameters = model.Parameters(), buffers = model.Buffers();
    const std::vector<NamedTensor> own_parameters = replica->Parameters(), own_buffers = replica->Buffers();
    for (size_t p = 0; p < parameters.size(); ++p) {
      own_parameters[p].tensor.set_data(parameters[p].tensor.detach());
      own_parameters[p].tensor.set_requires_grad(parameters[p].tensor.requires_grad());
    }
    for (size_t b = 0; b < buffers.size(); ++b) own_buffers[b].tensor.set_data(buffers[b].tensor);
    replicas->others_.push_back(std::move(replica));
  }
  return replicas;
}

void Replicas::ClearGradients() {
  Forget(model_);
}

absl::StatusOr<StepOutcome> Replicas::AddGradients(const TrainingBatch& batch, const ForwardContext& context,
                                                   double weight) {
  const int count = static_cast<int>(std::clamp<int64_t>(batch.samples, 1, static_cast<int64_t>(others_.size()) + 1));
  std::vector<ShareResult> results(count);
  const auto compute = [&](int part) {
    // oneDNN uses OpenMP's number of threads, which every thread must set for itself.
    at::init_num_threads();
    const TrainingBatch share = ShareOf(batch, part, count);
    ForwardContext own = context.Share(part, count);
    own.update_statistics = context.update_statistics && part == 0;
    if (part > 0) Forget(ReplicaAt(part));
    const double part_of_batch = static_cast<double>(share.samples) / static_cast<double>(batch.samples);
    results[part] = ComputeShare(task_, ReplicaAt(part), share, own, weight * part_of_batch);
  };
  std::vector<std::thread> threads;
  for (int part = 1; part < count; ++part) threads.emplace_back(compute, part);
  compute(0);
  for (std::thread& thread : threads) thread.join();

  StepOutcome outcome;
  for (const ShareResult& result : results) {
    if (!result.error.empty()) return absl::InternalError(result.error);
    outcome.loss += result.outcome.loss;
    outcome.correct += result.outcome.correct;
    outcome.predictions += result.outcome.predictions;
  }
  AddUp(count);
  return outcome;
}

void Replicas::AddUp(int count) {
  const at::AutoGradMode no_grad(false);
  const std::vector<NamedTensor> sums = model_.Parameters();
  for (int part = 1; part < count; ++part) {
    const std::vector<NamedTensor> parameters = ReplicaAt(part).Parameters();
    for (size_t p = 0; p < sums.size(); ++p) {
      const at::Tensor& gradient = parameters[p].tensor.grad();
      if (!gradient.defined()) continue;
      at::Tensor& sum = sums[p].tensor.mutable_grad();
      if (sum.defined()) {
        sum.add_(gradient);
      } else {
        sum = gradient.clone();
      }
    }
  }
}

}  // namespace vitrine
