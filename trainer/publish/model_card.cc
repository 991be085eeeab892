// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "common/drawing/licence_words.h"
#include "trainer/program_digest.h"
#include "trainer/publish/provenance.h"
#include "trainer/publish/publish.h"
#include "trainer/publish/training_rows.h"

namespace vitrine {
namespace {

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
    absl::StrAppendFormat(&rows, "| teacher | %s, with weight %g of the loss |\n",
                          AncestorInWords(provenance.teacher(), provenance.teacher_digest()),
                          recipe.distillation().has_weight() ? recipe.distillation().weight() : 0.5F);
  }
  if (provenance.ema_decay() > 0) {
    absl::StrAppendFormat(&rows, "| weights | moving average of training, decay %g |\n", provenance.ema_decay());
  }
  absl::StrAppend(&rows, "| licence | ", LicenceInWords(provenance), " |\n");
  if (result.is_best) absl::StrAppend(&rows, "| chosen | the state with the best score on held-out samples |\n");
  return rows;
}

// Returns the published figure that the recipe cites. If the recipe does not list the data's digest, returns a note
// that the figure is not compared.
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

// Returns the table rows about how the weights were computed.
std::string Computation(const v1::Recipe& recipe, const v1::Provenance& provenance, const RunPosition& position) {
  return absl::StrFormat(
      "| precision | %s, weights stored as %s |\n| seed | %d |\n| program | revision %s, digest %s |\n"
      "| hardware | %s |\n| wall time | %.0f s, %.0f images/s (shared with other work where the machine was busy) |\n",
      recipe.bf16() ? "bf16 products, fp32 sums and weights" : "fp32",
      recipe.storage() == v1::Recipe::BF16 ? "bf16" : "fp32", recipe.seed(),
      provenance.source_revision().empty() ? "unknown" : provenance.source_revision(), ProgramDigest().substr(0, 12),
      provenance.hardware(), provenance.train_seconds(),
      static_cast<double>(position.samples) / std::max(1.0, position.seconds));
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
                        "| epochs | %.2f%s |\n| images seen | %d%s |\n",
                        provenance.recipe(), ModelInWords(recipe, provenance), manifest.parameters(), provenance.data(),
                        provenance.data_digest(), provenance.epochs(),
                        result.is_best ? absl::StrFormat("; the whole training had %.2f", result.last_epoch) : "",
                        provenance.images_seen(),
                        result.is_best ? absl::StrCat("; the whole training saw ", result.position.samples) : "");
  absl::StrAppend(&card, Lineage(recipe, provenance, result), TrainingRows(recipe, result.position),
                  Computation(recipe, provenance, result.position));
  absl::StrAppendFormat(&card, "| goldens | %s |\n",
                        golden == GoldenImages::kTest
                            ? "images of the test split, which golden.safetensors contains as they are"
                            : "synthetic patterns; the version contains no image of the data");
  return card;
}

}  // namespace vitrine
