// SPDX-License-Identifier: Apache-2.0
#include "trainer/publish/training_rows.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

namespace vitrine {
namespace {

using Parts = std::vector<std::string>;

std::string Row(const char* name, const std::string& value) {
  return absl::StrFormat("| %s | %s |\n", name, value);
}

// Returns a table row whose value lists `parts`; "" if there are no parts.
std::string RowOf(const char* name, const Parts& parts) {
  return parts.empty() ? "" : Row(name, absl::StrJoin(parts, ", "));
}

std::string Sizes(const v1::Recipe& recipe) {
  if (recipe.sizes().empty()) return "the model's own resolution policy";
  float total = 0;
  for (const v1::TrainingSize& size : recipe.sizes()) total += size.weight();
  Parts parts;
  for (const v1::TrainingSize& size : recipe.sizes()) {
    parts.push_back(absl::StrFormat("%dx%d (%.0f %%)", size.height(), size.width(), 100 * size.weight() / total));
  }
  return absl::StrCat(absl::StrJoin(parts, ", "), ", packed into each batch");
}

std::string Overrides(const v1::Recipe& recipe) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string text;
  printer.PrintToString(recipe.model_overrides(), &text);
  absl::StripAsciiWhitespace(&text);
  return text.empty() ? "" : Row("model settings", text);
}

Parts Augmentations(const v1::Augmentation& augmentation) {
  Parts parts;
  if (augmentation.flip()) parts.push_back("horizontal flip");
  if (augmentation.crop_padding() > 0) parts.push_back(absl::StrCat("crop with padding ", augmentation.crop_padding()));
  if (augmentation.has_min_scale()) parts.push_back(absl::StrFormat("crop area from %g", augmentation.min_scale()));
  if (augmentation.has_max_stretch()) parts.push_back(absl::StrFormat("aspect up to %g", augmentation.max_stretch()));
  if (const v1::RandAugment& random = augmentation.rand_augment(); random.operations() > 0) {
    parts.push_back(absl::StrFormat(
        "RandAugment of %d operations at magnitude %g (deviation %g), each with probability %g", random.operations(),
        random.magnitude(), random.magnitude_deviation(), random.has_probability() ? random.probability() : 0.5F));
  }
  if (augmentation.colour_jitter() > 0)
    parts.push_back(absl::StrFormat("colour jitter %g", augmentation.colour_jitter()));
  if (const v1::RandomErasing& erasing = augmentation.random_erasing(); erasing.probability() > 0) {
    parts.push_back(absl::StrFormat("random erasing with probability %g of %.3g to %.3g of the area",
                                    erasing.probability(), erasing.has_min_area() ? erasing.min_area() : 0.02F,
                                    erasing.has_max_area() ? erasing.max_area() : 1.F / 3));
  }
  if (augmentation.repeats() > 1)
    parts.push_back(absl::StrCat("each image ", augmentation.repeats(), " times an epoch"));
  return parts;
}

Parts Mixings(const v1::Mixing& mixing) {
  Parts parts;
  if (mixing.mixup_alpha() > 0) parts.push_back(absl::StrFormat("mixup with alpha %g", mixing.mixup_alpha()));
  if (mixing.cutmix_alpha() > 0) parts.push_back(absl::StrFormat("CutMix with alpha %g", mixing.cutmix_alpha()));
  if (parts.empty()) return parts;
  parts.push_back(
      absl::StrFormat("applied to a batch with probability %g", mixing.has_probability() ? mixing.probability() : 1));
  if (parts.size() > 2) {
    parts.push_back(absl::StrFormat("CutMix with probability %g of these",
                                    mixing.has_switch_to_cutmix() ? mixing.switch_to_cutmix() : 0.5F));
  }
  return parts;
}

Parts Regularisation(const v1::Recipe& recipe) {
  const v1::DropoutRates& rates = recipe.dropouts();
  const auto or_all = [&](bool has, float rate) { return has ? rate : recipe.dropout(); };
  Parts parts = {absl::StrFormat("label smoothing %g", recipe.label_smoothing())};
  if (recipe.has_dropouts()) {
    parts.push_back(absl::StrFormat(
        "dropout %g after positions, %g after projections, %g in feed-forward blocks, %g of attention weights",
        or_all(rates.has_position(), rates.position()), or_all(rates.has_projection(), rates.projection()),
        or_all(rates.has_mlp(), rates.mlp()), rates.attention()));
  } else {
    parts.push_back(absl::StrFormat("dropout %g", recipe.dropout()));
  }
  parts.push_back(recipe.drop_path_by_depth()
                      ? absl::StrFormat("drop path rising with the depth from 0 to %g", recipe.drop_path())
                      : absl::StrFormat("drop path %g", recipe.drop_path()));
  return parts;
}

// Describes the actual number of images per step. For a small data set, this number is below the number in the recipe.
std::string Step(const v1::Recipe& recipe, const RunPosition& position) {
  const int64_t batches = int64_t{std::max(1, recipe.accumulate())} * position.processes;
  const int64_t batch = position.samples_per_step / batches;
  std::string text = absl::StrFormat("%d images", position.samples_per_step);
  if (batches > 1) absl::StrAppendFormat(&text, ", %d batches of %d", batches, batch);
  if (batch < recipe.batch()) {
    absl::StrAppendFormat(&text, "; the recipe has %d, but the data set is too small", recipe.batch() * batches);
  }
  return text;
}

std::string Rate(const v1::Optimizer& optimizer, const RunPosition& position) {
  std::string text = absl::StrFormat("learning rate %g", optimizer.lr());
  if (optimizer.per_512()) {
    absl::StrAppendFormat(&text, " for 512 images a step, %.3g here",
                          optimizer.lr() * static_cast<double>(position.samples_per_step) / 512);
  }
  return text;
}

Parts OptimizerParts(const v1::Recipe& recipe, const RunPosition& position) {
  const v1::Optimizer& optimizer = recipe.optimizer();
  Parts parts = {v1::Optimizer::Kind_Name(optimizer.kind()), Rate(optimizer, position)};
  if (optimizer.kind() == v1::Optimizer::SGD) {
    parts.push_back(absl::StrFormat("%smomentum %g", optimizer.nesterov() ? "Nesterov " : "", optimizer.momentum()));
  } else {
    const bool one_cycle = recipe.schedule().kind() == v1::Schedule::ONE_CYCLE;
    const std::string beta1 =
        one_cycle ? "from 0.95 to 0.85 and back" : absl::StrCat(optimizer.has_beta1() ? optimizer.beta1() : 0.9);
    parts.push_back(absl::StrFormat("betas %s and %g, epsilon %g", beta1,
                                    optimizer.has_beta2() ? optimizer.beta2() : 0.999,
                                    optimizer.has_epsilon() ? optimizer.epsilon() : 1e-8));
  }
  parts.push_back(absl::StrFormat("weight decay %g%s", optimizer.weight_decay(),
                                  optimizer.decays_all() ? " of every parameter" : ""));
  if (optimizer.layer_decay() > 0) parts.push_back(absl::StrFormat("rate times %g a layer", optimizer.layer_decay()));
  for (const v1::RateByPattern& rate : optimizer.rate_by_pattern()) {
    parts.push_back(rate.multiplier() == 0 ? absl::StrFormat("%s frozen", rate.pattern())
                                           : absl::StrFormat("rate of %s times %g", rate.pattern(), rate.multiplier()));
  }
  parts.push_back(recipe.clip_norm() > 0 ? absl::StrFormat("gradients clipped to norm %g", recipe.clip_norm())
                                         : "gradients not clipped");
  return parts;
}

Parts ScheduleParts(const v1::Schedule& schedule) {
  const auto kind = schedule.kind() == v1::Schedule::KIND_UNSPECIFIED ? v1::Schedule::COSINE : schedule.kind();
  Parts parts = {v1::Schedule::Kind_Name(kind)};
  if (kind == v1::Schedule::COSINE || kind == v1::Schedule::TIMM_COSINE)
    parts.push_back(absl::StrFormat("down to %g", schedule.min_lr()));
  if (kind == v1::Schedule::MULTI_STEP) {
    parts.push_back(absl::StrFormat("times %g after epochs %s", schedule.has_gamma() ? schedule.gamma() : 0.1,
                                    absl::StrJoin(schedule.milestones(), " and ")));
  }
  if (schedule.warmup_steps() > 0 || schedule.warmup_epochs() > 0) {
    parts.push_back(absl::StrFormat("warm-up from %g over %g epochs and %d steps", schedule.warmup_from(),
                                    schedule.warmup_epochs(), schedule.warmup_steps()));
  }
  parts.push_back(kind == v1::Schedule::TIMM_COSINE ? "changed at each epoch" : "changed at each step");
  return parts;
}

Parts HeldOut(const v1::Recipe& recipe) {
  if (recipe.validation_share() == 0) return {};
  return {absl::StrFormat("%g %% of the training split, drawn with the seed, to choose the state",
                          100 * recipe.validation_share())};
}

}  // namespace

std::string TrainingRows(const v1::Recipe& recipe, const RunPosition& position) {
  Parts augmentations = Augmentations(recipe.augmentation());
  if (augmentations.empty()) augmentations.push_back("none");
  return absl::StrCat(
      Overrides(recipe), Row("input sizes", Sizes(recipe)), RowOf("augmentation", augmentations),
      RowOf("mixing of images", Mixings(recipe.mixing())), RowOf("regularization", Regularisation(recipe)),
      Row("step", Step(recipe, position)), RowOf("optimizer", OptimizerParts(recipe, position)),
      RowOf("schedule of the rate", ScheduleParts(recipe.schedule())), RowOf("held out", HeldOut(recipe)));
}

}  // namespace vitrine
