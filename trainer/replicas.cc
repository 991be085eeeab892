#include "trainer/replicas.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>

#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "trainer/loss.h"

namespace vitrine {
namespace {

// Every count-th image, so that each share holds every size of a sorted batch.
TrainingBatch Share(const TrainingBatch& batch, int part, int count) {
  TrainingBatch share;
  const auto images = static_cast<int64_t>(batch.images.size());
  share.labels = at::empty({(images - part + count - 1) / count}, at::kLong);
  int64_t* label = share.labels.mutable_data_ptr<int64_t>();
  for (int64_t i = part; i < images; i += count) {
    share.images.push_back(batch.images[i]);
    *label++ = batch.labels.const_data_ptr<int64_t>()[i];
  }
  return share;
}

struct ShareResult {
  double loss = 0;  // summed over the share, divided by the batch
  int64_t correct = 0;
  std::string error;
};

ShareResult ComputeShare(const Model& replica, const TrainingBatch& share, const ForwardContext& context,
                         double label_smoothing, double weight) {
  ShareResult result;
  try {
    const at::Tensor logits = replica.Forward(share.images, context);
    const at::Tensor loss = ClassificationLoss(logits, share.labels, label_smoothing).mul(weight);
    loss.backward();
    result.loss = loss.item<double>();
    result.correct = CountCorrect(logits.detach(), share.labels);
  } catch (const std::exception& error) {
    result.error = error.what();
  }
  return result;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Replicas>> Replicas::Make(Model& model, int count) {
  std::unique_ptr<Replicas> replicas(new Replicas(model));
  for (int i = 1; i < count; ++i) {
    ASSIGN_OR_RETURN(std::unique_ptr<Model> replica, MakeModel(model.config()));
    const std::vector<NamedTensor> parameters = model.Parameters(), buffers = model.Buffers();
    const std::vector<NamedTensor> own_parameters = replica->Parameters(), own_buffers = replica->Buffers();
    for (size_t p = 0; p < parameters.size(); ++p) own_parameters[p].tensor.set_data(parameters[p].tensor.detach());
    for (size_t b = 0; b < buffers.size(); ++b) own_buffers[b].tensor.set_data(buffers[b].tensor);
    replica->RequireGrad(true);
    replicas->others_.push_back(std::move(replica));
  }
  model.RequireGrad(true);
  return replicas;
}

absl::StatusOr<StepOutcome> Replicas::ComputeGradients(const TrainingBatch& batch, const ForwardContext& context,
                                                       double label_smoothing) {
  const auto images = static_cast<int>(batch.images.size());
  const int count = std::min(images, static_cast<int>(others_.size()) + 1);
  std::vector<ShareResult> results(count);
  const auto compute = [&](int part) {
    // oneDNN asks OpenMP, whose setting belongs to the thread.
    at::init_num_threads();
    const TrainingBatch share = Share(batch, part, count);
    ForwardContext own = context;
    own.dropout_seed += part;
    own.update_statistics = part == 0;
    const double weight = static_cast<double>(share.images.size()) / images;
    for (const NamedTensor& parameter : ReplicaAt(part).Parameters()) parameter.tensor.mutable_grad().reset();
    results[part] = ComputeShare(ReplicaAt(part), share, own, label_smoothing, weight);
  };
  std::vector<std::thread> threads;
  for (int part = 1; part < count; ++part) threads.emplace_back(compute, part);
  compute(0);
  for (std::thread& thread : threads) thread.join();

  const at::AutoGradMode no_grad(false);
  StepOutcome outcome;
  const std::vector<NamedTensor> sums = model_.Parameters();
  for (int part = 0; part < count; ++part) {
    if (!results[part].error.empty()) return absl::InternalError(results[part].error);
    outcome.loss += results[part].loss;
    outcome.correct += results[part].correct;
    if (part == 0) continue;
    const std::vector<NamedTensor> parameters = ReplicaAt(part).Parameters();
    for (size_t p = 0; p < sums.size(); ++p) {
      if (parameters[p].tensor.grad().defined()) sums[p].tensor.mutable_grad().add_(parameters[p].tensor.grad());
    }
  }
  return outcome;
}

}  // namespace vitrine
