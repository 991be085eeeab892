// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/drawing/licence_words.h"
#include "trainer/publish/provenance.h"
#include "trainer/publish/publish.h"

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
  std::string text = "| split | images | top-1 |\n|---|---|---|\n";
  for (const v1::Metric& metric : manifest.provenance().metrics()) {
    absl::StrAppendFormat(&text, "| %s | %d | %.2f %% |\n", metric.split(), metric.images(), 100 * metric.value());
  }
  return text;
}

std::string ModelInWords(const v1::Recipe& recipe, const v1::Provenance& provenance) {
  return recipe.model().empty() ? absl::StrCat("that of ", provenance.started_from())
                                : absl::StrCat("zoo row ", recipe.model());
}

// Returns the table rows about ancestors, kind and licence of the weights.
std::string Lineage(const v1::Recipe& recipe, const v1::Provenance& provenance, const TrainResult& result) {
  std::string rows;
  if (provenance.started_from().empty()) {
    absl::StrAppend(&rows, "| started from | random weights |\n");
  } else {
    absl::StrAppendFormat(&rows, "| %s from | %s%s |\n| preprocessing | %s |\n",
                          provenance.continues() ? "continued" : "fine-tuned",
                          AncestorInWords(provenance.started_from(), provenance.continued_from()),
                          provenance.continues() ? "; epochs, images and time include its own" : "",
                          PreprocessingInWords(recipe, provenance));
  }
  if (recipe.start().freeze_body()) absl::StrAppend(&rows, "| learned | the classifier's last layer alone |\n");
  if (!provenance.teacher().empty()) {
    absl::StrAppendFormat(&rows, "| teacher | %s |\n",
                          AncestorInWords(provenance.teacher(), provenance.teacher_digest()));
  }
  if (provenance.ema_decay() > 0) {
    absl::StrAppendFormat(&rows, "| weights | moving average of training, decay %g |\n", provenance.ema_decay());
  }
  absl::StrAppend(&rows, "| licence | ", LicenceInWords(provenance), " |\n");
  if (result.is_best) absl::StrAppend(&rows, "| chosen | the best state on held-out samples, not the last |\n");
  return rows;
}

// Describes a step's actual size. With small data sets it is below the recipe's step size.
std::string Step(const v1::Recipe& recipe, const RunPosition& position) {
  const int64_t batches = int64_t{std::max(1, recipe.accumulate())} * position.processes;
  const int64_t batch = position.samples_per_step / batches;
  std::string text = absl::StrFormat("%d images", position.samples_per_step);
  if (batches > 1) absl::StrAppendFormat(&text, ", %d batches of %d", batches, batch);
  if (batch < recipe.batch()) {
    absl::StrAppendFormat(&text, "; the recipe asks for %d, the data are too few", recipe.batch() * batches);
  }
  return text;
}

std::string Rate(const v1::Recipe& recipe, const RunPosition& position) {
  const v1::Optimizer& optimizer = recipe.optimizer();
  std::string text = absl::StrFormat("learning rate %g", optimizer.lr());
  if (optimizer.per_512()) {
    absl::StrAppendFormat(&text, " for 512 images a step, %.3g here",
                          optimizer.lr() * static_cast<double>(position.samples_per_step) / 512);
  }
  return text;
}

// Returns the published figure of the recipe, or a note that the data are not known to be the recipe's.
std::string Comparison(const v1::Recipe& recipe, const v1::Provenance& provenance) {
  const v1::TrainingData& data = recipe.data();
  if (data.name().empty()) return "";
  if (provenance.data() != data.name()) {
    return absl::StrFormat(
        "The recipe is written for %s; the data given are not known to be that, so no published figure is "
        "compared.\n\n",
        data.name());
  }
  return data.published().empty() ? "" : absl::StrCat("Published: ", data.published(), "\n\n");
}

}  // namespace

std::string ModelCard(const v1::Recipe& recipe, const v1::Manifest& manifest, const TrainResult& result,
                      GoldenImages golden) {
  const v1::Provenance& provenance = manifest.provenance();
  std::string card = absl::StrFormat("# %s\n\n", manifest.model());
  if (!recipe.description().empty()) {
    absl::StrAppendFormat(&card, "The recipe %s: %s\n\n", recipe.name(), recipe.description());
  }
  absl::StrAppendFormat(&card, "## Accuracy\n\nOn %s, with the weights as stored.%s\n\n%s\n", provenance.data(),
                        recipe.evaluation_sizes().empty()
                            ? ""
                            : " An image is scaled to cover the size (height x width) and cropped centrally.",
                        AccuracyTable(manifest));
  absl::StrAppend(&card, Comparison(recipe, provenance));
  if (!result.finished) {
    absl::StrAppendFormat(&card,
                          "The training was stopped after %.2f of %.2f epochs, before its learning rate had come "
                          "down; a finished run does better.\n\n",
                          provenance.epochs(), recipe.epochs());
  }
  absl::StrAppendFormat(&card,
                        "## Training\n\n| | |\n|---|---|\n| recipe | %s (recipe.textproto beside this card) |\n"
                        "| model | %s, %d parameters |\n| data | %s, training split with the digest %s |\n"
                        "| epochs | %.2f |\n| images seen | %d |\n",
                        provenance.recipe(), ModelInWords(recipe, provenance), manifest.parameters(), provenance.data(),
                        provenance.data_digest(), provenance.epochs(), provenance.images_seen());
  absl::StrAppend(&card, Lineage(recipe, provenance, result));
  absl::StrAppendFormat(&card,
                        "| input sizes | %s |\n| augmentation | %s |\n| step | %s |\n| optimizer | %s, %s, weight "
                        "decay %g |\n",
                        Sizes(recipe), Augmentations(recipe), Step(recipe, result.position),
                        v1::Optimizer::Kind_Name(recipe.optimizer().kind()), Rate(recipe, result.position),
                        recipe.optimizer().weight_decay());
  absl::StrAppendFormat(&card,
                        "| precision | %s, weights stored as %s |\n| seed | %d |\n| hardware | %s |\n| wall time "
                        "| %.0f s, %.0f images/s (shared with other work where the machine was busy) |\n",
                        recipe.bf16() ? "bf16 products, fp32 sums and weights" : "fp32",
                        recipe.storage() == v1::Recipe::BF16 ? "bf16" : "fp32", recipe.seed(), provenance.hardware(),
                        provenance.train_seconds(),
                        static_cast<double>(provenance.images_seen()) / std::max(1.0, provenance.train_seconds()));
  absl::StrAppendFormat(&card, "| goldens | %s |\n",
                        golden == GoldenImages::kTest
                            ? "images of the test split, which golden.safetensors contains as they are"
                            : "synthetic patterns; the version contains no image of the data");
  return card;
}

}  // namespace vitrine
