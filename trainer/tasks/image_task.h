// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_TASKS_IMAGE_TASK_H_
#define VITRINE_TRAINER_TASKS_IMAGE_TASK_H_

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/data/dataset.h"
#include "common/data/digest.h"
#include "models/reference/model.h"
#include "models/repository/stored_version.h"
#include "trainer/task.h"
#include "trainer/tasks/teacher.h"
#include "vitrine/v1/recipe.pb.h"

namespace vitrine {

// Task of image classification. The model is the recipe's zoo row or the model of the start version.
class ImageTask final : public Task {
 public:
  // `test` may be null; `train` and `test` must outlive the task. Reads every image of `train` on `threads` threads,
  // and every image of `test` unless SameImages(train, test). INVALID_ARGUMENT if recipe, model and data are
  // inconsistent; other errors are those of ReadVersionAt, ConfigOf, StartFrom, Teacher::Make and ImageDigestsOf.
  static absl::StatusOr<std::unique_ptr<ImageTask>> Make(const v1::Recipe& recipe, const Dataset& train,
                                                         const Dataset* test, int threads = 1);

  // Returns the preprocessing of the recipe's model. It is needed to open and decode the images. Errors are those of
  // ConfigOf or, with a start version, of ReadVersionAt and ConfigFrom.
  static absl::StatusOr<v1::Preprocessing> PreprocessingOf(const v1::Recipe& recipe);

  const v1::ModelConfig& config() const { return config_; }
  // Returns the training samples without the held-out ones.
  const Dataset& training_data() const { return *training_; }

  // Describes the start version in one line; empty if the initial weights are random.
  std::string StartInWords() const;
  // Returns a warning about test images that are also in the training split; empty if there are none.
  std::string SharedInWords() const;

  absl::StatusOr<std::unique_ptr<Module>> MakeModel() const override;
  bool Trains(const std::string& parameter) const override;
  std::string samples_in_words() const override { return "images"; }
  int64_t samples() const override { return training_->size(); }
  const std::string& data_digest() const override { return data_digest_; }
  std::vector<Member> EpochMembers(int64_t epoch) const override;
  absl::StatusOr<TrainingBatch> MakeBatch(int64_t epoch, int64_t index, std::span<const Member> members) const override;
  BatchLoss Loss(const Module& model, const TrainingBatch& batch, const ForwardContext& context) const override;
  // Returns "top1" and "loss" at the first evaluation size. FAILED_PRECONDITION if there are no samples to measure on.
  absl::StatusOr<Score> MeasureOn(MeasuredSplit split, const Module& model,
                                  const MeasureOptions& options) const override;

 private:
  ImageTask(const v1::Recipe& recipe, v1::ModelConfig config, const Dataset* test)
      : recipe_(recipe), config_(std::move(config)), test_(test) {}
  absl::Status HoldOut(const Dataset& train);
  absl::Status CheckFit(const Dataset& train) const;
  absl::Status CheckSizes() const;
  absl::Status CheckStart(const Dataset& train);
  std::string ModelInWords() const;

  const v1::Recipe recipe_;
  const v1::ModelConfig config_;
  const Dataset* const test_;
  std::unique_ptr<Dataset> training_;
  std::unique_ptr<Dataset> held_out_;  // null: the recipe holds out no samples
  std::optional<StoredVersion> start_;
  bool replaces_head_ = false;
  std::set<std::string> head_;        // parameter names of the last layer, if there is a start version
  std::unique_ptr<Teacher> teacher_;  // null: the recipe has no teacher
  bool has_test_split_ = false;
  int64_t shared_images_ = 0;  // number of test images that the training split has, too
  std::string data_digest_;
};

}  // namespace vitrine

#endif  // VITRINE_TRAINER_TASKS_IMAGE_TASK_H_
