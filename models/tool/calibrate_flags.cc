// SPDX-License-Identifier: Apache-2.0
#include "models/tool/flags.h"

namespace vitrine {

CLI::App* AddCalibrateCommand(CLI::App& app, CalibrateOptions& options) {
  CLI::App* calibrate = app.add_subcommand("calibrate", "publishes a version whose answers say when they are unsure");
  calibrate->add_option("DIR", options.repository, "the repository")->required();
  calibrate->add_option("MODEL[@VERSION]", options.which, "without a version: the newest")->required();
  calibrate->add_option("--from", options.from, "calibration.json of `vitrine eval --calibrate`, of the same weights")
      ->required()
      ->type_name("FILE");
  calibrate->add_option("--format", options.format, "how the result is printed: table (default) or json")
      ->check(CLI::IsMember({"table", "json"}));
  calibrate->footer(
      "The new version has the same weights and goldens; its probabilities follow the temperature, its logits stay.\n"
      "  vitrine eval --model digits --data mnist:/data/mnist --shard 1/5 --out held-out/ --calibrate\n"
      "  vitrine-repo calibrate models digits --from held-out/calibration.json");
  return calibrate;
}

}  // namespace vitrine
