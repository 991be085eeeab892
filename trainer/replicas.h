#ifndef VITRINE_TRAINER_REPLICAS_H_
#define VITRINE_TRAINER_REPLICAS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "models/model.h"
#include "trainer/loader.h"

namespace vitrine {

struct StepOutcome {
  double loss = 0;  // mean over the batch
  int64_t correct = 0;
};

// Computes a batch's gradients on several cores: each thread takes a share of the images through a replica of the model
// that shares the weights' memory but has gradients of its own. One rendezvous per step instead of one per operator,
// which is faster for small models and bears a machine that is busy with other work.
//
// The sum of the gradients is taken in a fixed order, so the result depends on the count of replicas and on nothing
// else. Thread-compatible.
class Replicas {
 public:
  // `model`, which must outlive the replicas and stay where it is, is the first of `count`. Gradients are required of
  // its parameters from now on.
  static absl::StatusOr<std::unique_ptr<Replicas>> Make(Model& model, int count);

  // Leaves the gradient of the batch's mean loss in the model's parameters. LibTorch's exceptions become INTERNAL.
  absl::StatusOr<StepOutcome> ComputeGradients(const TrainingBatch& batch, const ForwardContext& context,
                                               double label_smoothing);

 private:
  explicit Replicas(Model& model) : model_(model) {}
  Model& ReplicaAt(int i) const { return i == 0 ? model_ : *others_[i - 1]; }

  Model& model_;
  std::vector<std::unique_ptr<Model>> others_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_REPLICAS_H_
