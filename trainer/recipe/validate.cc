// SPDX-License-Identifier: Apache-2.0
// Validation of recipes, before data are read or memory is allocated.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "trainer/recipe/recipe.h"

namespace vitrine {
namespace {

// A field that is out of range.
struct Fault {
  std::string field;
  std::string value;
  std::string range;
};

// Collects the first error.
class Rules {
 public:
  template <typename Value>
  void Check(bool holds, const std::string& field, const Value& value, const std::string& range) {
    if (!holds && fault_.field.empty()) fault_ = {field, absl::StrCat(value), range};
  }
  void Probability(const std::string& field, double value) {
    Check(value >= 0 && value < 1, field, value, "0 to below 1");
  }
  // Rates are rounded to multiples of 1/256, so a rate below 1/512 would become 0.
  void DropoutRate(const std::string& field, double value) {
    Check(value == 0 || (value >= 1.0 / 512 && value < 1), field, value, "0, or 1/512 to below 1");
  }
  void Share(const std::string& field, double value) { Check(value >= 0 && value <= 1, field, value, "0 to 1"); }
  template <typename Value>
  void NotNegative(const std::string& field, const Value& value) {
    Check(value >= 0, field, value, "0 or above");
  }
  const Fault& fault() const { return fault_; }

 private:
  Fault fault_;
};

void CheckOptimizer(const v1::Optimizer& optimizer, Rules& rules) {
  rules.Check(optimizer.kind() != v1::Optimizer::KIND_UNSPECIFIED && v1::Optimizer::Kind_IsValid(optimizer.kind()),
              "optimizer.kind", optimizer.kind(), "ADAMW, ADAM or SGD");
  rules.Check(optimizer.lr() > 0 && optimizer.lr() < 100, "optimizer.lr", optimizer.lr(), "above 0 and below 100");
  rules.NotNegative("optimizer.weight_decay", optimizer.weight_decay());
  rules.Probability("optimizer.momentum", optimizer.momentum());
  if (optimizer.has_beta1()) rules.Probability("optimizer.beta1", optimizer.beta1());
  if (optimizer.has_beta2()) rules.Probability("optimizer.beta2", optimizer.beta2());
  if (optimizer.has_epsilon()) {
    rules.Check(optimizer.epsilon() > 0, "optimizer.epsilon", optimizer.epsilon(), "above 0");
  }
  const bool sgd = optimizer.kind() == v1::Optimizer::SGD;
  rules.Check(sgd || optimizer.momentum() == 0, "optimizer.momentum", optimizer.momentum(), "0, except for SGD");
  const bool adam_only = optimizer.has_beta1() || optimizer.has_beta2() || optimizer.has_epsilon();
  rules.Check(!sgd || !adam_only, "optimizer.kind", "SGD", "ADAMW or ADAM with beta1, beta2 or epsilon");
  rules.Check(!optimizer.nesterov() || (sgd && optimizer.momentum() > 0), "optimizer.nesterov", "true",
              "true only with SGD and a momentum");
  rules.Share("optimizer.layer_decay", optimizer.layer_decay());
  for (const v1::RateByPattern& rate : optimizer.rate_by_pattern()) {
    rules.NotNegative("optimizer.rate_by_pattern.multiplier", rate.multiplier());
  }
}

void CheckSchedule(const v1::Recipe& recipe, Rules& rules) {
  const v1::Schedule& schedule = recipe.schedule();
  rules.Check(v1::Schedule::Kind_IsValid(schedule.kind()), "schedule.kind", schedule.kind(),
              "COSINE, CONSTANT, MULTI_STEP, ONE_CYCLE, INVERSE_SQUARE_ROOT, TIMM_COSINE or WARMUP_TIMES_COSINE");
  rules.NotNegative("schedule.warmup_steps", schedule.warmup_steps());
  rules.NotNegative("schedule.warmup_epochs", schedule.warmup_epochs());
  for (const auto& [field, value] :
       {std::pair("schedule.min_lr", schedule.min_lr()), std::pair("schedule.warmup_from", schedule.warmup_from())}) {
    rules.Check(value >= 0 && value <= recipe.optimizer().lr(), field, value, "0 to optimizer.lr");
  }
  const bool warms = schedule.warmup_steps() > 0 || schedule.warmup_epochs() > 0;
  rules.Check(schedule.kind() != v1::Schedule::INVERSE_SQUARE_ROOT || warms, "schedule.warmup_steps", 0,
              "above 0 for INVERSE_SQUARE_ROOT, which begins at the end of the warm-up");
  rules.Check(schedule.kind() != v1::Schedule::ONE_CYCLE || !warms, "schedule.warmup_steps", "set",
              "0 for ONE_CYCLE, which has its own warm-up");
  const bool begins_low =
      schedule.kind() == v1::Schedule::ONE_CYCLE || schedule.kind() == v1::Schedule::WARMUP_TIMES_COSINE;
  rules.Check(!begins_low || schedule.warmup_from() == 0, "schedule.warmup_from", schedule.warmup_from(),
              "0 for ONE_CYCLE and WARMUP_TIMES_COSINE, whose first rate is fixed");
  rules.Check(schedule.kind() != v1::Schedule::ONE_CYCLE || !recipe.optimizer().has_beta1(), "optimizer.beta1", "set",
              "unset for ONE_CYCLE, which changes it");
  rules.Check(schedule.kind() != v1::Schedule::TIMM_COSINE || schedule.warmup_steps() == 0, "schedule.warmup_steps",
              schedule.warmup_steps(), "0 for TIMM_COSINE, which changes the rate with epochs; see warmup_epochs");
  const bool steps = schedule.kind() == v1::Schedule::MULTI_STEP;
  rules.Check(steps == !schedule.milestones().empty(), "schedule.milestones", schedule.milestones_size(),
              "one or more for MULTI_STEP, none otherwise");
  for (const double milestone : schedule.milestones()) rules.NotNegative("schedule.milestones", milestone);
  if (schedule.has_gamma()) {
    rules.Check(schedule.gamma() > 0 && schedule.gamma() <= 1, "schedule.gamma", schedule.gamma(), "above 0, up to 1");
    rules.Check(steps, "schedule.gamma", schedule.gamma(), "unset, except for MULTI_STEP");
  }
  const bool cosine = schedule.kind() == v1::Schedule::COSINE || schedule.kind() == v1::Schedule::TIMM_COSINE ||
                      schedule.kind() == v1::Schedule::KIND_UNSPECIFIED;
  rules.Check(cosine || schedule.min_lr() == 0, "schedule.min_lr", schedule.min_lr(),
              "0, except for COSINE and TIMM_COSINE");
  rules.Check(std::is_sorted(schedule.milestones().begin(), schedule.milestones().end()), "schedule.milestones",
              "unsorted", "rising epochs");
}

void CheckAugmentation(const v1::Augmentation& augmentation, Rules& rules) {
  const float min_scale = augmentation.has_min_scale() ? augmentation.min_scale() : 1;
  const float max_stretch = augmentation.has_max_stretch() ? augmentation.max_stretch() : 1;
  rules.Check(augmentation.crop_padding() >= 0 && augmentation.crop_padding() <= 1024, "augmentation.crop_padding",
              augmentation.crop_padding(), "0 to 1024");
  rules.Check(min_scale > 0 && min_scale <= 1, "augmentation.min_scale", min_scale, "above 0, up to 1");
  rules.Check(max_stretch >= 1 && max_stretch <= 4, "augmentation.max_stretch", max_stretch, "1 to 4");
  const v1::RandAugment& random = augmentation.rand_augment();
  rules.Check(random.operations() >= 0 && random.operations() <= 16, "augmentation.rand_augment.operations",
              random.operations(), "0 to 16");
  rules.Check(random.magnitude() >= 0 && random.magnitude() <= 10, "augmentation.rand_augment.magnitude",
              random.magnitude(), "0 to 10");
  rules.NotNegative("augmentation.rand_augment.magnitude_deviation", random.magnitude_deviation());
  if (random.has_probability()) rules.Share("augmentation.rand_augment.probability", random.probability());
  const v1::RandomErasing& erasing = augmentation.random_erasing();
  rules.Share("augmentation.random_erasing.probability", erasing.probability());
  const float least = erasing.has_min_area() ? erasing.min_area() : 0.02f;
  const float most = erasing.has_max_area() ? erasing.max_area() : 1.f / 3;
  rules.Check(least > 0 && least <= most && most < 1, "augmentation.random_erasing.min_area", least,
              "above 0, up to max_area, which must be below 1");
  rules.Share("augmentation.colour_jitter", augmentation.colour_jitter());
  rules.Check(augmentation.repeats() >= 0 && augmentation.repeats() <= 64, "augmentation.repeats",
              augmentation.repeats(), "0 to 64");
}

void CheckRegularisation(const v1::Recipe& recipe, Rules& rules) {
  rules.Probability("label_smoothing", recipe.label_smoothing());
  rules.DropoutRate("dropout", recipe.dropout());
  const v1::DropoutRates& rates = recipe.dropouts();
  rules.DropoutRate("dropouts.position", rates.position());
  rules.DropoutRate("dropouts.projection", rates.projection());
  rules.DropoutRate("dropouts.mlp", rates.mlp());
  rules.DropoutRate("dropouts.attention", rates.attention());
  rules.Probability("drop_path", recipe.drop_path());
  rules.Share("evaluation_crop", recipe.evaluation_crop());
  rules.Probability("ema_decay", recipe.ema_decay());
  const v1::Mixing& mixing = recipe.mixing();
  rules.NotNegative("mixing.mixup_alpha", mixing.mixup_alpha());
  rules.NotNegative("mixing.cutmix_alpha", mixing.cutmix_alpha());
  rules.Share("mixing.probability", mixing.probability());
  rules.Share("mixing.switch_to_cutmix", mixing.switch_to_cutmix());
  rules.Share("distillation.weight", recipe.distillation().weight());
  rules.Check(!recipe.has_distillation() || !recipe.distillation().teacher().empty(), "distillation.teacher", "empty",
              "a version's folder: REPOSITORY/MODEL or REPOSITORY/MODEL/VERSION");
  rules.Check(!recipe.has_start() || !recipe.start().version().empty(), "start.version", "empty",
              "a version's folder: --start REPOSITORY/MODEL or REPOSITORY/MODEL/VERSION");
}

void CheckRun(const v1::Recipe& recipe, Rules& rules) {
  rules.Check(!recipe.name().empty(), "name", "empty", "text");
  const bool names_model = !recipe.model().empty();
  rules.Check(recipe.has_sequence() ? !names_model : names_model || recipe.has_start(), "model",
              names_model ? "set" : "empty", "a row of the zoo, unless `sequence` or `start` is set");
  rules.Check(recipe.batch() >= 1 && recipe.batch() <= 65536, "batch", recipe.batch(), "1 to 65536");
  rules.Check(recipe.accumulate() >= 0 && recipe.accumulate() <= 65536, "accumulate", recipe.accumulate(),
              "0 to 65536");
  rules.Check(recipe.epochs() > 0 && recipe.epochs() <= 100000, "epochs", recipe.epochs(), "above 0, up to 100000");
  rules.NotNegative("clip_norm", recipe.clip_norm());
  rules.NotNegative("evaluate_every", recipe.evaluate_every());
  rules.NotNegative("evaluate_every_steps", recipe.evaluate_every_steps());
  rules.NotNegative("corrupt_limit", recipe.corrupt_limit());
  rules.Probability("validation_share", recipe.validation_share());
  rules.Check(recipe.validation_share() == 0 || recipe.evaluate_every() > 0 || recipe.evaluate_every_steps() > 0,
              "validation_share", recipe.validation_share(), "0 unless evaluate_every or evaluate_every_steps is set");
  for (const v1::TrainingSize& size : recipe.sizes()) {
    rules.Check(size.height() >= 1 && size.width() >= 1 && size.height() <= 8192 && size.width() <= 8192, "sizes",
                absl::StrCat(size.height(), "x", size.width()), "1 to 8192 per side");
    rules.Check(size.weight() > 0, "sizes.weight", size.weight(), "above 0");
  }
}

// Rejects fields that sequence models do not use.
void CheckSequence(const v1::Recipe& recipe, Rules& rules) {
  if (!recipe.has_sequence()) return;
  const std::string range = "unset if `sequence` is set";
  rules.Check(recipe.sizes().empty() && recipe.evaluation_sizes().empty(), "sizes", "set", range);
  rules.Check(!recipe.has_augmentation(), "augmentation", "set", range);
  rules.Check(!recipe.drop_path_by_depth(), "drop_path_by_depth", "true", range);
  rules.Check(!recipe.has_mixing(), "mixing", "set", range);
  rules.Check(!recipe.has_distillation(), "distillation", "set", range);
  rules.Check(recipe.optimizer().layer_decay() == 0, "optimizer.layer_decay", recipe.optimizer().layer_decay(), range);
  rules.Check(!recipe.has_start(), "start", "set", range);
  rules.Check(!recipe.has_model_overrides(), "model_overrides", "set", "unset; use sequence.model_overrides");
  rules.Check(!recipe.sequence().model().empty(), "sequence.model", "empty", "a row of the sequence zoo");
  rules.Check(recipe.sequence().task_case() != v1::SequenceExperiment::TASK_NOT_SET, "sequence", "without a task",
              "one of digits, anomaly, language, translation");
}

}  // namespace

absl::Status ValidateRecipe(const v1::Recipe& recipe) {
  Rules rules;
  CheckRun(recipe, rules);
  CheckSequence(recipe, rules);
  CheckOptimizer(recipe.optimizer(), rules);
  CheckSchedule(recipe, rules);
  CheckAugmentation(recipe.augmentation(), rules);
  CheckRegularisation(recipe, rules);
  if (const Fault& fault = rules.fault(); !fault.field.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("recipe \"", recipe.name(), "\": ", fault.field, " is ", fault.value, "; allowed: ", fault.range));
  }
  for (const std::string& size : recipe.evaluation_sizes()) RETURN_IF_ERROR(ParseSize(size).status());
  return absl::OkStatus();
}

}  // namespace vitrine
