// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASKS_TEACHER_H_
#define VITRINE_TRAINER_TASKS_TEACHER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "models/reference/model.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// A published or imported model that labels images for distillation. Thread-safe.
class Teacher {
 public:
  // Reads the version. INVALID_ARGUMENT, with the difference, in three cases: the class names differ from `labels`; the
  // mean or deviation of the pixels differs from the student's; or the teacher does not accept the student's fixed size
  // or a size of recipe.sizes. Otherwise returns the errors of ReadVersionAt and BuildModel.
  static absl::StatusOr<std::unique_ptr<Teacher>> Make(const v1::Distillation& distillation,
                                                       const v1::ModelConfig& student,
                                                       const std::vector<std::string>& labels,
                                                       const v1::Recipe& recipe);

  // Returns the most likely class of each image, [images] int64. `images` are the student's inputs.
  absl::StatusOr<at::Tensor> Label(const ImageBatch& images) const;
  // Weight of the teacher's loss.
  double weight() const { return weight_; }

 private:
  Teacher(std::unique_ptr<Model> model, double weight) : model_(std::move(model)), weight_(weight) {}

  const std::unique_ptr<Model> model_;
  const double weight_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_TEACHER_H_
