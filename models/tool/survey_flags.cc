// SPDX-License-Identifier: Apache-2.0
#include "models/tool/flags.h"

namespace vitrine {

CLI::App* AddSurveyCommand(CLI::App& app, SurveyOptions& options) {
  CLI::App* survey = app.add_subcommand("survey", "says which models of other libraries can be served");
  survey
      ->add_option("MODEL", options.models,
                   "hf:ORG/NAME[@REVISION], a folder of a model or of models, or a file\nwith one of these per line, "
                   "relative to the current folder")
      ->required();
  survey->add_flag("--json", options.json, "print a JSON array");
  survey->footer(
      "Reads the JSON files and the header of the weights, not the weights. Exits with 0 even if no model\ncan be "
      "served, and with 1 if MODEL names none.\n"
      "  vitrine-repo survey models-of-ours.txt hf:timm/deit_tiny_patch16_224.fb_in1k");
  return survey;
}

}  // namespace vitrine
