// SPDX-License-Identifier: Apache-2.0
#include "trainer/tasks/teacher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/status_macros.h"
#include "models/reference/checkpoint/checkpoint.h"
#include "trainer/tasks/start.h"

namespace vitrine {
namespace {

// Describes labels by their number and the first five labels.
std::string InWords(const std::vector<std::string>& labels) {
  const size_t shown = std::min<size_t>(labels.size(), 5);
  return absl::StrCat(labels.size(), " (", absl::StrJoin(labels.begin(), labels.begin() + shown, ", "),
                      shown < labels.size() ? ", ..." : "", ")");
}

bool SameColours(const v1::Preprocessing& a, const v1::Preprocessing& b) {
  return a.channels() == b.channels() &&
         std::equal(a.mean().begin(), a.mean().end(), b.mean().begin(), b.mean().end()) &&
         std::equal(a.std().begin(), a.std().end(), b.std().begin(), b.std().end());
}

absl::Status CheckSizes(const Model& teacher, const v1::ModelConfig& student, const v1::Recipe& recipe) {
  const v1::Preprocessing& preprocessing = student.preprocessing();
  if (preprocessing.has_fixed()) {
    return teacher.GridFor(preprocessing.fixed().height(), preprocessing.fixed().width()).status();
  }
  for (const v1::TrainingSize& size : recipe.sizes()) {
    RETURN_IF_ERROR(teacher.GridFor(size.height(), size.width()).status());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Teacher>> Teacher::Make(const v1::Distillation& distillation,
                                                       const v1::ModelConfig& student,
                                                       const std::vector<std::string>& labels,
                                                       const v1::Recipe& recipe) {
  ASSIGN_OR_RETURN(const StoredVersion version, ReadVersionAt(distillation.teacher()));
  const std::string name = absl::StrCat("the teacher ", distillation.teacher());
  if (version.labels != labels) {
    return absl::InvalidArgumentError(absl::StrCat(name, " knows ", InWords(version.labels), " classes, the data have ",
                                                   InWords(labels),
                                                   "; teacher and data must have the same classes in the same order"));
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Model> model, BuildModel(version));
  if (!SameColours(model->config().preprocessing(), student.preprocessing())) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " needs images with another mean or deviation; set model_overrides.preprocessing to the teacher's"));
  }
  const absl::Status sizes = CheckSizes(*model, student, recipe);
  if (!sizes.ok()) return absl::InvalidArgumentError(absl::StrCat(name, ": ", sizes.message()));
  const double weight = distillation.has_weight() ? distillation.weight() : 0.5;
  return std::unique_ptr<Teacher>(new Teacher(std::move(model), weight));
}

absl::StatusOr<at::Tensor> Teacher::Label(const ImageBatch& images) const {
  ASSIGN_OR_RETURN(const at::Tensor logits, RunModel(*model_, images));
  return logits.argmax(1);
}

}  // namespace vitrine
