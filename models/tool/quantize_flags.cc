// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "common/command_line/number_check.h"
#include "common/data/dataset.h"
#include "models/tool/flags.h"

namespace vitrine {

CLI::App* AddQuantizeCommand(CLI::App& app, QuantizeOptions& options) {
  CLI::App* quantize = app.add_subcommand("quantize", "publishes a version that also runs in bf16 or int8");
  quantize->add_option("DIR", options.repository, "repository")->required();
  quantize->add_option("MODEL[@VERSION]", options.which, "model; without a version: the newest")->required();
  quantize->add_option("--precision", options.precision, "int8 or bf16")
      ->required()
      ->check(CLI::IsMember({"int8", "bf16"}));
  quantize->add_option("--data", options.data, "labelled images as FORMAT:PATH. Formats:\n" + DatasetFormats())
      ->required();
  quantize->add_option("--split", options.split, "split of the data: test (default) or train")
      ->check(CLI::IsMember({"test", "train"}));
  quantize->add_option("--budget", options.budget, "maximum loss of top-1 in percentage points; default: 0.3")
      ->check(NumberFrom(0, 100));
  quantize->add_option("--limit", options.images, "maximum images to measure on, spread over the data; default: 2000")
      ->check(CLI::Range(kFewestQuantizeImages, int64_t{1} << 40));
  quantize->add_option("--format", options.format, "output format: table (default) or json")
      ->check(CLI::IsMember({"table", "json"}));
  quantize->footer(
      "The new version has the same weights and keeps other precisions. Operators are excluded from the precision,\n"
      "those with the largest errors first, until the accuracy is within --budget.\n"
      "  vitrine-repo quantize models kv-pos-mnist --precision int8 --data mnist:/data/mnist");
  return quantize;
}

}  // namespace vitrine
