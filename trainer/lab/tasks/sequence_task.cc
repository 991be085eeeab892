// SPDX-License-Identifier: Apache-2.0
#include "trainer/lab/tasks/sequence_task.h"

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "trainer/lab/sequence_model.h"
#include "trainer/lab/tasks/anomaly.h"
#include "trainer/lab/tasks/digits.h"
#include "trainer/lab/tasks/language.h"
#include "trainer/lab/tasks/translation.h"
#include "trainer/lab/zoo.h"

namespace vitrine {
absl::StatusOr<v1::SequenceConfig> SequenceConfigOf(const v1::Recipe& recipe) {
  const v1::SequenceExperiment& sequence = recipe.sequence();
  ASSIGN_OR_RETURN(const SequenceRow row, FindSequence(sequence.model()));
  v1::SequenceConfig config = row.config;
  // Clears a list that the overrides set, because MergeFrom would append to it.
  if (sequence.model_overrides().dropping_size() > 0) config.clear_dropping();
  config.MergeFrom(sequence.model_overrides());
  if (const absl::Status valid = ValidateSequence(config); !valid.ok()) {
    return absl::InvalidArgumentError(absl::StrCat("recipe \"", recipe.name(), "\": ", sequence.model(),
                                                   " with sequence.model_overrides: ", valid.message()));
  }
  return config;
}

absl::StatusOr<std::unique_ptr<Task>> MakeSequenceTask(const v1::Recipe& recipe, const std::string& data) {
  ASSIGN_OR_RETURN(const v1::SequenceConfig config, SequenceConfigOf(recipe));
  switch (recipe.sequence().task_case()) {
    case v1::SequenceExperiment::kDigits:
      return MakeDigitTask(recipe, config, data);
    case v1::SequenceExperiment::kAnomaly:
      return MakeAnomalyTask(recipe, config, data);
    case v1::SequenceExperiment::kLanguage:
      return MakeLanguageTask(recipe, config, data);
    case v1::SequenceExperiment::kTranslation:
      return MakeTranslationTask(recipe, config, data);
    case v1::SequenceExperiment::TASK_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("recipe \"", recipe.name(),
                   "\": sequence has no task; it must have one of: digits, anomaly, language, ", "translation"));
}

}  // namespace vitrine
