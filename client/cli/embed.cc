// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine embed`.
#include <iostream>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/commands/embed_command.h"
#include "common/command_line/command_line.h"
#include "common/drawing/attention_words.h"

namespace vitrine {
namespace {

constexpr char kEmbedExamples[] = R"(Examples:
  An array with a row per image (for numpy.load), image paths in features.txt:
    vitrine embed samples/cifar --model eit-mini-cifar10 --out features.npy
  The vectors of all patches as a grid, one file per image:
    vitrine embed samples/cifar --model eit-mini-cifar10 --feature patches --out features/
  JSON, one object per line:
    vitrine embed cat.jpg --format json | jq '.features[0].values'

Exit code: 0 if all features were written, 1 if not (stderr names the image), 2 for a wrong command line.)";

}  // namespace

ClientCommand AddEmbed(CLI::App& app) {
  auto command = std::make_shared<EmbedCommand>();
  CLI::App* embed = app.add_subcommand("embed", "Write feature vectors of images, for retrieval or another model.");
  AddImageOptions(*embed, command->paths, command->search);
  AddModelOption(*embed, command->model);
  embed
      ->add_option("--out", command->output,
                   "FILE.npy: an array with a row per image, image paths in\nFILE.txt; else a folder with a file per "
                   "image. Model,\n"
                   "version and weights are in FILE.model.json or model.json.\nFiles of an earlier run: an array is "
                   "replaced, and a\nfolder that has them is refused")
      ->check([](const std::string& output) { return std::string(CheckEmbedOutput(output).message()); })
      ->type_name("PATH");
  embed
      ->add_option_function<std::string>(
          "--feature", [command](const std::string& name) { command->kind = *FeatureKindOf(name); },
          "class: class token; mean: mean of the patches; patches:\nevery patch on its grid; registers: the "
          "register tokens;\nprojection: CLIP's image vector. Default: the model's first\nof projection, class and "
          "mean")
      ->check(OneOf(FeatureKindNames()))
      ->type_name("KIND");
  embed->add_flag("--normalize", command->normalize,
                  "divide each vector by its Euclidean length, so that dot\nproducts are cosines");
  AddRequestOptions(*embed, command->client, command->resolution, command->priority);
  AddServerOptions(*embed, command->client);
  AddFormatOption(*embed, command->format);
  embed->parse_complete_callback([command] {
    if (command->output.empty() && command->format == Format::kTable) {
      throw CLI::ValidationError("--out", "no output was given; name a .npy file or a folder, or give --format json");
    }
  });
  embed->footer(kEmbedExamples);
  return {embed, [command] {
            const absl::StatusOr<int> failed = RunEmbed(*command, std::cout, std::cerr);
            if (!failed.ok()) return FailWithHint(failed.status(), command->client);
            return *failed == 0 ? kExitSuccess : kExitFailure;
          }};
}

}  // namespace vitrine
