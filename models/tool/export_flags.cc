// SPDX-License-Identifier: Apache-2.0
#include "models/tool/flags.h"

namespace vitrine {

CLI::App* AddExportCommand(CLI::App& app, ExportOptions& options) {
  CLI::App* command = app.add_subcommand("export", "writes a version as a model of timm or transformers");
  command->add_option("DIR", options.repository, "repository")->required();
  command->add_option("MODEL[@VERSION]", options.which, "model; without a version: the newest")->required();
  command
      ->add_option("--to", options.target,
                   "library that loads the model: timm (ViT, DeiT, XCiT) or\nhuggingface (ViT, DeiT, as "
                   "ViTForImageClassification)")
      ->required()
      ->check(CLI::IsMember({"timm", "huggingface"}));
  command
      ->add_option("--out", options.out,
                   "folder for model.safetensors, config.json and, for huggingface,\npreprocessor_config.json; must "
                   "have none of "
                   "these files")
      ->required()
      ->type_name("DIR");
  command->footer(
      "The weights keep their values and types: vitrine-repo import of the folder gives the same bits.\n"
      "  vitrine-repo export models deit@3 --to timm --out deit-timm\n"
      "  python3 -c 'import timm; timm.create_model(\"local-dir:deit-timm\", pretrained=True)'");
  return command;
}

}  // namespace vitrine
