// SPDX-License-Identifier: Apache-2.0
// `vitrine embed`: its flags.
#include <iostream>

#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/commands/embed_command.h"
#include "common/command_line/command_line.h"
#include "common/drawing/attention_words.h"

namespace vitrine {
namespace {

constexpr char kEmbedExamples[] = R"(Examples:
  An array with a row for each picture (numpy.load), their paths in features.txt:
    vitrine embed samples/cifar --model eit-mini-cifar10 --output features.npy
  Every patch's vector on its grid, a file for each picture:
    vitrine embed samples/cifar --model eit-mini-cifar10 --kind patches --output features/
  Numbers in JSON, an object a line:
    vitrine embed cat.jpg --format json | jq '.features[0].values'

Exit code: 0 if every picture has its features, 1 if one has not (stderr names it), 2 for a wrong command line.)";

}  // namespace

ClientCommand AddEmbed(CLI::App& app) {
  auto command = std::make_shared<EmbedCommand>();
  CLI::App* embed = app.add_subcommand("embed", "Write the features of pictures, for retrieval or another model.");
  AddPictureOptions(*embed, command->paths, command->search);
  AddModelOption(*embed, command->model);
  embed
      ->add_option("--output", command->output,
                   "FILE.npy: an array with a row per picture, their paths\nin FILE.txt; else a folder for a file per "
                   "picture; model,\nversion and weights in FILE.model.json or model.json")
      ->type_name("PATH");
  embed
      ->add_option_function<std::string>(
          "--kind", [command](const std::string& name) { command->kind = *FeatureKindOf(name); },
          "class: the class token; mean: the mean of the patches;\npatches: every patch on its grid;\n"
          "without it the model's first of class and mean")
      ->check(OneOf(FeatureKindNames()))
      ->type_name("KIND");
  embed->add_flag("--normalize", command->normalize,
                  "divide each vector by its length, so that products\nof vectors are their cosines");
  AddRequestOptions(*embed, command->client, command->resolution, command->priority);
  AddServerOptions(*embed, command->client);
  AddFormatOption(*embed, command->format);
  embed->footer(kEmbedExamples);
  return {embed, [command] {
            const absl::StatusOr<int> failed = RunEmbed(*command, std::cout, std::cerr);
            if (!failed.ok()) return FailWithHint(failed.status(), command->client);
            return *failed == 0 ? kExitSuccess : kExitFailure;
          }};
}

}  // namespace vitrine
