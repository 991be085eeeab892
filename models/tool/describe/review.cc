// SPDX-License-Identifier: Apache-2.0
#include "models/tool/describe/review.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "models/workload/review.h"

namespace vitrine {
namespace {

ReviewSizes SizesOf(const v1::ModelConfig& config, const WorkloadInput& input, bool class_token) {
  return {.batch = input.images,
          .tokens = TokensOf(config, input) - (class_token ? 0 : 1),
          .width = config.vit().width(),
          .heads = config.vit().heads(),
          .classes = config.classes()};
}

int64_t LayerFlops(const ReviewSizes& sizes) {
  double flops = 0;
  for (const ReviewOperator& row : ReviewTables(sizes)) flops += row.table < 5 ? row.corrected.flops : 0;
  return std::llround(flops);
}

Cell Formula(std::string_view formula, double value) {
  return Cell::Number(value, std::string(formula));
}

// Formats a number of operations or bytes as an integer.
Cell CountFormula(std::string_view formula, double value) {
  return {int64_t{std::llround(value)}, std::string(formula)};
}

}  // namespace

bool InReview(const v1::ModelConfig& config) {
  const v1::VitConfig& vit = config.vit();
  return config.has_vit() && vit.mlp_width() == 4 * vit.width() && !vit.distilled() && vit.registers() == 0;
}

DataTable ReviewTable(const v1::ModelConfig& config, const WorkloadInput& input) {
  DataTable table({{"table", "TABLE", true},
                   {"operator", "OPERATOR"},
                   {"printed_flops", "FLOPS, PRINTED"},
                   {"flops_formula", "CORRECTED"},
                   {"flops", "FLOPS", true},
                   {"printed_bytes", "BYTES, PRINTED"},
                   {"bytes_formula", "CORRECTED"},
                   {"bytes", "BYTES", true},
                   {"printed_intensity", "FLOP/BYTE, PRINTED"},
                   {"intensity_formula", "CORRECTED"},
                   {"intensity", "FLOP/BYTE", true},
                   {"errors", "WRONG IN PRINT"}});
  for (const ReviewOperator& row : ReviewTables(SizesOf(config, input, false))) {
    table.Add({Cell::Count(row.table), Cell::Text(row.name), CountFormula(row.printed.flops_formula, row.printed.flops),
               Cell::Text(row.corrected.flops_formula), Cell::Count(std::llround(row.corrected.flops)),
               CountFormula(row.printed.bytes_formula, row.printed.bytes), Cell::Text(row.corrected.bytes_formula),
               Cell::Count(std::llround(row.corrected.bytes)),
               Formula(row.printed.intensity_formula, row.printed.intensity),
               Cell::Text(row.corrected.intensity_formula),
               Cell::Number(row.corrected.intensity, absl::StrFormat("%.3f", row.corrected.intensity)),
               Cell::Text(row.errors)});
  }
  return table;
}

std::string ReviewTotals(const v1::ModelConfig& config, const WorkloadInput& input) {
  std::string text;
  const ReviewSizes patches = SizesOf(config, input, false);
  const int64_t classifier = 2 * patches.batch * patches.width * patches.classes;
  const int64_t side = config.vit().patch();
  const int64_t embedding =
      2 * patches.batch * patches.tokens * config.preprocessing().channels() * side * side * patches.width;
  for (const bool class_token : {false, true}) {
    const ReviewSizes sizes = SizesOf(config, input, class_token);
    const int64_t layer = LayerFlops(sizes);
    const int64_t layers = config.vit().depth() * layer + classifier;
    absl::StrAppend(&text, "N = ", sizes.tokens, class_token ? " (with the class token)" : " (patches, as the paper)",
                    ": one layer ", WithSeparators(layer), " FLOPs, ", config.vit().depth(), " layers and classifier ",
                    WithSeparators(layers), ", with the patch embedding ", WithSeparators(layers + embedding), "\n");
  }
  return text;
}

}  // namespace vitrine
