// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "common/charts/html/data_table.h"
#include "common/drawing/licence_words.h"
#include "trainer/publish/provenance.h"
#include "trainer/recipe/recipe.h"
#include "trainer/watch/report/report_sections.h"

namespace vitrine {

void AddProvenance(const TrainingReportInput& input, HtmlPage& page) {
  const v1::Provenance& from = input.provenance;
  HtmlTable facts{.columns = {{""}, {""}}};
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.rows.push_back({name, value});
  };
  add("recipe", from.recipe().empty() ? input.recipe.name() : from.recipe());
  add("data", from.data().empty() ? input.recipe.data().name() : from.data());
  add("data digest", from.data_digest());
  add("seed", absl::StrCat(input.recipe.seed()));
  if (from.epochs() > 0) add("epochs", absl::StrFormat("%g", from.epochs()));
  if (from.images_seen() > 0) add("samples seen", WithSeparators(from.images_seen()));
  add("hardware", from.hardware());
  if (from.train_seconds() > 0) {
    add("time", absl::FormatDuration(absl::Trunc(absl::Seconds(from.train_seconds()), absl::Seconds(1))));
  }
  add("source revision", from.source_revision());
  add("licence", LicenceOf(from));
  if (!from.started_from().empty()) {
    add(from.continues() ? "continued from" : "fine-tuned from",
        AncestorInWords(from.started_from(), from.continued_from()));
    add("preprocessing", PreprocessingInWords(input.recipe, from));
  }
  page.Section("Provenance");
  page.Table(facts);
  if (!from.metrics().empty()) {
    HtmlTable metrics{.columns = {{"measure"}, {"split"}, {"value", true}, {"samples", true}}};
    for (const v1::Metric& metric : from.metrics()) {
      metrics.rows.push_back(
          {metric.name(), metric.split(), absl::StrFormat("%.5g", metric.value()), WithSeparators(metric.images())});
    }
    page.Table(metrics);
  }
  page.Folded("The recipe", PrintRecipe(input.recipe));
}

}  // namespace vitrine
