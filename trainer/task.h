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
#include "models/reference/forward_context.h"
#include "models/reference/model.h"
#include "models/reference/module.h"
#include "trainer/lab/sequence_model.h"

namespace vitrine {

// Training samples of a batch, or one thread's share of the batch.
struct TrainingBatch {
  int64_t samples = 0;
  ImageBatch images = {};        // image tasks: [channels, height, width] fp32, equal sizes adjacent
  SequenceBatch sequences = {};  // sequence tasks: [samples, ...]
  // Expected answers, int64: [samples] for images; [samples, ...] for sequences, as the task's loss requires.
  at::Tensor labels = {};
  // Image tasks: class probabilities of mixed images, [samples, classes] fp32; undefined if images are not mixed.
  // Translation: weight of each sentence's loss, [samples, 1].
  at::Tensor targets = {};
  at::Tensor teacher_labels = {};  // [samples] int64: the teacher's answers; undefined without a teacher
};

// Returns every `count`-th sample, beginning with sample `part`. Shares of a batch that is sorted by size therefore
// take about equal time.
TrainingBatch ShareOf(const TrainingBatch& batch, int part, int count);

struct BatchLoss {
  at::Tensor loss;  // [] fp32, mean over the batch; differentiable
  int64_t correct = 0;
  int64_t predictions = 0;  // number of predictions: one per image, or one per element of a sequence
};

// A figure measured on a split. The first of Score::measures selects the best state.
struct Measure {
  std::string name;  // "top1", "accuracy", "bleu", "loss"
  double value = 0;  // fractions are 0 to 1
};
struct Score {
  std::vector<Measure> measures;
  int64_t samples = 0;
  std::string split = "test";  // "train" if the data have no other split
  // True if a larger `measures.front()` is better.
  bool larger_is_better = true;
  // Limit of the measure "loss". A run with a larger loss counts as diverged.
  double absurd_loss = std::numeric_limits<double>::infinity();
};

enum class MeasuredSplit { kValidation, kTest };

// Function that gets the number of samples measured so far. Only the thread that started the measurement calls it.
// Calls must be short.
using MeasureProgress = std::function<void(int64_t done, int64_t total)>;

struct MeasureOptions {
  int threads = 1;
  const std::atomic<bool>* stop = nullptr;  // if set to true, the call stops with CANCELLED
  MeasureProgress progress = nullptr;
};

// A sample of an epoch. `repeat` numbers the copies of the same sample (repeated augmentation).
struct Member {
  int64_t sample = 0;
  int repeat = 0;
};

// A training task: a model, data, a loss and a measure. Every const function is thread-safe; MakeBatch and EpochMembers
// are pure functions of their arguments and the recipe, so a run does not depend on the thread or time of the call.
class Task {
 public:
  virtual ~Task() = default;

  // Returns the model before the first step, with random weights from the recipe's seed or with the weights of a stored
  // version.
  virtual absl::StatusOr<std::unique_ptr<Module>> MakeModel() const = 0;
  // Returns true if training changes this parameter. Other parameters get no gradients.
  virtual bool Trains(const std::string& /*parameter*/) const { return true; }
  // Returns "images", "sequences" or "sets".
  virtual std::string samples_in_words() const = 0;
  // Number of samples in an epoch.
  virtual int64_t samples() const = 0;
  // SHA-256 over the training split, including held-out samples. A run can be resumed only with equal data.
  virtual const std::string& data_digest() const = 0;

  // Returns the samples() members of an epoch, in order.
  virtual std::vector<Member> EpochMembers(int64_t epoch) const = 0;
  // Makes a batch of these members of the epoch. `index` is the batch's index within the epoch.
  virtual absl::StatusOr<TrainingBatch> MakeBatch(int64_t epoch, int64_t index,
                                                  std::span<const Member> members) const = 0;
  // Returns the loss of a batch. `model` must come from MakeModel. Throws LibTorch's exceptions.
  virtual BatchLoss Loss(const Module& model, const TrainingBatch& batch, const ForwardContext& context) const = 0;

  // Measures `model` in inference mode. If no samples are held out, kValidation is the test split.
  virtual absl::StatusOr<Score> MeasureOn(MeasuredSplit split, const Module& model,
                                          const MeasureOptions& options) const = 0;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASK_H_
