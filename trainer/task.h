// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASK_H_
#define VITRINE_TRAINER_TASK_H_

#include <ATen/core/Tensor.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "reference/forward_context.h"
#include "reference/model.h"
#include "reference/module.h"
#include "trainer/lab/sequence_model.h"

namespace vitrine {

// What one step learns from, or a thread's share of it.
struct TrainingBatch {
  int64_t samples = 0;
  ImageBatch images = {};        // pictures: [channels, height, width] fp32, equal sizes side by side
  SequenceBatch sequences = {};  // sequences: [samples, ...]
  // What the model shall answer, int64: [samples] for pictures; for sequences [samples, ...] as the task's loss reads
  // it.
  at::Tensor labels = {};
  // [samples, classes] fp32 where pictures are mixed; undefined otherwise.
  at::Tensor targets = {};
  at::Tensor teacher_labels = {};  // [samples] int64, what the teacher says, where there is one
};

// Every count-th picture from the part-th on, so that each share holds every size of a sorted batch; sequences
// likewise.
TrainingBatch ShareOf(const TrainingBatch& batch, int part, int count);

struct BatchLoss {
  at::Tensor loss;  // [] fp32, mean over the batch; differentiable
  int64_t correct = 0;
  int64_t predictions = 0;  // of which `correct` were right: a picture has one, a sequence one per element
};

// What was measured on a split, the figure that chooses the best state first.
struct Measure {
  std::string name;  // "top1", "accuracy", "bleu", "loss"
  double value = 0;  // shares within 0 to 1
};
struct Score {
  std::vector<Measure> measures;
  int64_t samples = 0;
  std::string split = "test";  // or "train", where there is no other
  // Whether `measures.front()` is better the larger it is.
  bool larger_is_better = true;
  // A "loss" above this is that of a training that has diverged, not of one that learns badly.
  double absurd_loss = std::numeric_limits<double>::infinity();
};

enum class MeasuredSplit { kValidation, kTest };

// Told how many of `total` samples are measured, by the thread that measures: do little.
using MeasureProgress = std::function<void(int64_t done, int64_t total)>;

struct MeasureOptions {
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  // becomes true when the measurement shall end, with CANCELLED
  MeasureProgress progress = nullptr;
};

// One sample of one epoch. `repeat` tells those apart that are the same sample (repeated augmentation).
struct Member {
  int64_t sample = 0;
  int repeat = 0;
};

// What a run learns: a model, the data, a loss and a measure. Every const function is thread-safe; MakeBatch and
// EpochMembers are pure functions of their arguments and the recipe, so a run does not depend on who calls them when.
class Task {
 public:
  virtual ~Task() = default;

  // The model as it is before the first step: from the recipe's seed, or where it starts from.
  virtual absl::StatusOr<std::unique_ptr<Module>> MakeModel() const = 0;
  // Whether training moves the parameter of this name; those it does not move get no gradients.
  virtual bool Trains(const std::string& /*parameter*/) const { return true; }
  // "pictures", "sequences", "sets".
  virtual std::string samples_in_words() const = 0;
  // Samples of an epoch.
  virtual int64_t samples() const = 0;
  // SHA-256 over the training split, whatever of it is held out; a state is continued with equal data alone.
  virtual const std::string& data_digest() const = 0;

  // The samples of an epoch in their order, samples() of them.
  virtual std::vector<Member> EpochMembers(int64_t epoch) const = 0;
  // The batch of these members of the epoch; `index` is its number within the epoch.
  virtual absl::StatusOr<TrainingBatch> MakeBatch(int64_t epoch, int64_t index,
                                                  std::span<const Member> members) const = 0;
  // LibTorch's exceptions pass through. `model` is one of MakeModel's.
  virtual BatchLoss Loss(const Module& model, const TrainingBatch& batch, const ForwardContext& context) const = 0;

  // Measures `model` as it will be used. kValidation is the test split where nothing is held out.
  virtual absl::StatusOr<Score> MeasureOn(MeasuredSplit split, const Module& model,
                                          const MeasureOptions& options) const = 0;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASK_H_
