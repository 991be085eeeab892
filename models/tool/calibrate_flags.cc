// SPDX-License-Identifier: Apache-2.0
#include "models/tool/flags.h"

namespace vitrine {

CLI::App* AddCalibrateCommand(CLI::App& app, CalibrateOptions& options) {
  CLI::App* calibrate = app.add_subcommand("calibrate", "publishes a version that reports unsure answers");
  calibrate->add_option("DIR", options.repository, "repository")->required();
  calibrate->add_option("MODEL[@VERSION]", options.which, "model; without a version: the newest")->required();
  calibrate
      ->add_option("--from", options.from,
                   "calibration.json that `vitrine eval --calibrate` wrote for the same weights")
      ->required()
      ->type_name("FILE");
  calibrate->add_option("--format", options.format, "output format: table (default) or json")
      ->check(CLI::IsMember({"table", "json"}));
  calibrate->footer(
      "The new version has the same weights, goldens and logits; its probabilities use the temperature.\n"
      "  vitrine eval --model digits --data mnist:/data/mnist --shard 1/5 --out held-out/ --calibrate\n"
      "  vitrine-repo calibrate models digits --from held-out/calibration.json");
  return calibrate;
}

}  // namespace vitrine
