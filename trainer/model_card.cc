// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "trainer/publish.h"

namespace vitrine {
namespace {

std::string Sizes(const v1::Recipe& recipe) {
  if (recipe.sizes().empty()) return "the model's own resolution policy";
  float total = 0;
  for (const v1::TrainingSize& size : recipe.sizes()) total += size.weight();
  std::string text;
  for (const v1::TrainingSize& size : recipe.sizes()) {
    absl::StrAppendFormat(&text, "%s%dx%d (%.0f %%)", text.empty() ? "" : ", ", size.height(), size.width(),
                          100 * size.weight() / total);
  }
  return text + ", packed into each batch";
}

std::string Augmentations(const v1::Recipe& recipe) {
  const v1::Augmentation& augmentation = recipe.augmentation();
  std::string text;
  if (augmentation.flip()) text += "horizontal flip, ";
  if (augmentation.crop_padding() > 0) {
    absl::StrAppendFormat(&text, "crop with padding %d, ", augmentation.crop_padding());
  }
  if (augmentation.has_min_scale()) absl::StrAppendFormat(&text, "crop area from %.2f, ", augmentation.min_scale());
  if (augmentation.has_max_stretch()) absl::StrAppendFormat(&text, "aspect up to %.2f, ", augmentation.max_stretch());
  absl::StrAppendFormat(&text, "label smoothing %.2f, dropout %.2f", recipe.label_smoothing(), recipe.dropout());
  return text;
}

std::string AccuracyTable(const v1::Manifest& manifest) {
  std::string text = "| split | pictures | top-1 |\n|---|---|---|\n";
  for (const v1::Metric& metric : manifest.provenance().metrics()) {
    absl::StrAppendFormat(&text, "| %s | %d | %.2f %% |\n", metric.split(), metric.images(), 100 * metric.value());
  }
  return text;
}

// Rows of the table about what came before and which weights these are; none where there is nothing to say.
std::string Lineage(const v1::Provenance& provenance, const TrainResult& result) {
  std::string rows;
  if (!provenance.started_from().empty()) {
    absl::StrAppendFormat(&rows, "| started from | %s, weights %s%s |\n", provenance.started_from(),
                          provenance.continued_from().substr(0, 12),
                          provenance.continues() ? "; epochs, images and time include its own" : "");
  }
  if (!provenance.teacher().empty()) {
    absl::StrAppendFormat(&rows, "| teacher | %s, weights %s |\n", provenance.teacher(),
                          provenance.teacher_digest().substr(0, 12));
  }
  if (provenance.ema_decay() > 0) {
    absl::StrAppendFormat(&rows, "| weights | moving average of training, decay %g |\n", provenance.ema_decay());
  }
  if (result.is_best) absl::StrAppend(&rows, "| chosen | the best state on held-out samples, not the last |\n");
  return rows;
}

}  // namespace

std::string ModelCard(const v1::Recipe& recipe, const v1::Manifest& manifest, const TrainResult& result) {
  const v1::Provenance& provenance = manifest.provenance();
  std::string card = absl::StrFormat("# %s\n\n", manifest.model());
  if (!recipe.description().empty()) absl::StrAppend(&card, recipe.description(), "\n\n");
  absl::StrAppendFormat(&card, "## Accuracy\n\nOn %s, with the weights as stored.%s\n\n%s\n", provenance.data(),
                        recipe.evaluation_sizes().empty()
                            ? ""
                            : " A picture is scaled to cover the size (height x width) and cropped centrally.",
                        AccuracyTable(manifest));
  if (!recipe.data().published().empty()) {
    absl::StrAppend(&card, "Published: ", recipe.data().published(), "\n\n");
  }
  if (!result.finished) {
    absl::StrAppendFormat(&card,
                          "The training was stopped after %.2f of %.2f epochs, before its learning rate had come "
                          "down; a finished run does better.\n\n",
                          provenance.epochs(), recipe.epochs());
  }
  absl::StrAppendFormat(&card,
                        "## Training\n\n| | |\n|---|---|\n| recipe | %s (recipe.textproto beside this card) |\n"
                        "| zoo row | %s, %d parameters |\n| data | %s |\n| epochs | %.2f |\n| images seen | %d |\n",
                        provenance.recipe(), recipe.model(), manifest.parameters(), provenance.data(),
                        provenance.epochs(), provenance.images_seen());
  absl::StrAppend(&card, Lineage(provenance, result));
  absl::StrAppendFormat(&card,
                        "| input sizes | %s |\n| augmentation | %s |\n| batch | %d |\n| optimizer | %s, learning "
                        "rate %g, weight decay %g |\n",
                        Sizes(recipe), Augmentations(recipe), recipe.batch(),
                        v1::Optimizer::Kind_Name(recipe.optimizer().kind()), recipe.optimizer().lr(),
                        recipe.optimizer().weight_decay());
  absl::StrAppendFormat(&card,
                        "| precision | %s, weights stored as %s |\n| seed | %d |\n| hardware | %s |\n| wall time "
                        "| %.0f s, %.0f images/s (shared with other work where the machine was busy) |\n",
                        recipe.bf16() ? "bf16 products, fp32 sums and weights" : "fp32",
                        recipe.storage() == v1::Recipe::BF16 ? "bf16" : "fp32", recipe.seed(), provenance.hardware(),
                        provenance.train_seconds(),
                        static_cast<double>(provenance.images_seen()) / std::max(1.0, provenance.train_seconds()));
  return card;
}

}  // namespace vitrine
