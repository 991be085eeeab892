// SPDX-License-Identifier: Apache-2.0
#include "common/command_line/number_check.h"
#include "common/data/dataset.h"
#include "models/tool/flags.h"

namespace vitrine {

CLI::App* AddHeadCommand(CLI::App& app, HeadOptions& options) {
  CLI::App* head = app.add_subcommand("head", "publishes a version with a classifier for your own labelled images");
  head->add_option("DIR", options.repository, "repository")->required();
  head->add_option("MODEL[@VERSION]", options.which,
                   "model whose features are used, with classes or without; without a version: the newest")
      ->required();
  head->add_option("NAME", options.name, "model name to publish under; default: MODEL, as its next version");
  head->add_option("--data", options.data,
                   "labelled images as FORMAT:PATH; uses the training split. Formats:\n" + DatasetFormats())
      ->required();
  head->add_option("--kind", options.kind,
                   "probe (default): ridge regression on the features; prototypes: nearest class\nmean")
      ->check(CLI::IsMember({"probe", "prototypes"}));
  head->add_option("--alpha", options.alpha,
                   "penalty of the probe's squared weights, like scikit-learn's; default: the power\n"
                   "of ten with the smallest leave-one-out error")
      ->check(PositiveNumber());
  head->callback([&options] {
    if (options.alpha.has_value() && options.kind != "probe") throw CLI::ExcludesError("--alpha", "--kind prototypes");
  });
  head->footer(
      "Only the last layer is new, and it is computed in one pass over the images, without training. The classes\n"
      "are the folder names in sorted order. The printed accuracy is that of images the layer was not fitted to.\n"
      "Without NAME, the version is published as one of MODEL. If its classes differ from those of the version "
      "before,\n"
      "running servers keep that version until they restart or the new version is labelled stable.\n"
      "  vitrine-repo head my-models dinov2 pets --data imagefolder:photos\n"
      "  vitrine-repo head my-models vit@2 pets --data imagefolder:photos --kind prototypes");
  return head;
}

}  // namespace vitrine
