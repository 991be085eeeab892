// SPDX-License-Identifier: Apache-2.0
// `vitrine classify`: its flags.
#include <unistd.h>

#include <iostream>

#include "client/names.h"
#include "programs/client_command.h"
#include "programs/client_options.h"
#include "programs/command_line.h"

namespace vitrine {
namespace {

constexpr char kClassifyExamples[] = R"(Examples:
  Every picture of a folder, five guesses each:
    vitrine classify samples/ --model eit-mini-cifar10
  Where the model looked, drawn over each picture (out/cat.class.layer4.png):
    vitrine classify cat.jpg --model eit-mini-cifar10 --attention out/
  Two heads of the first and the last block:
    vitrine classify cat.jpg --attention out/ --layer 0,-1 --head 0,1
  Every head of every block on one sheet, and how far each of them looks:
    vitrine classify cat.jpg --attention out/ --attention-kind mean,distance --sheet
  The picture and every kind of attention beside each other (out/cat.attention.png):
    vitrine classify cat.jpg --attention out/ --side-by-side
  What the patch in row 3, column 4 looks at:
    vitrine classify cat.jpg --attention out/ --attention-query 3,4
  Everything below a folder; what a pattern matches; what find finds; what a program writes:
    vitrine classify --recursive photos/
    vitrine classify 'photos/2026-*/*.jpg'
    find photos -newer last -name '*.jpg' -print0 | vitrine classify --files-from - -0
    curl -s https://example.org/cat.jpg | vitrine classify -
  One JSON object a line, for jq:
    vitrine classify samples/ --format json | jq -r '[.image, .predictions[0].label] | @tsv'

Exit code: 0 if every picture was classified, 1 if one was not (stderr names it), 2 for a wrong command line.)";

// An option read by `parse`, whose failures are wrong command lines.
template <typename Parse, typename Value>
CLI::Option* AddParsed(CLI::App& app, const std::string& name, Parse parse, Value& value, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name, [&value, parse](const std::string& text) { value = *parse(text); }, help)
      ->check(Checked(parse));
}

void AddAttention(CLI::App& app, AttentionWish& wish) {
  CLI::Option* folder =
      app.add_option("--attention", wish.folder, "draw where the model looked, as PNG and SVG files in DIR")
          ->type_name("DIR");
  app.add_option_function<std::vector<std::string>>(
         "--attention-kind",
         [&wish](const std::vector<std::string>& names) {
           for (const std::string& name : names) wish.kinds.push_back(*AttentionKindOf(name));
         },
         "on the picture: class, mean, rollout,\nclass-attention, query;\n"
         "matrices: scores, weights, channels;\na plot: distance;\n"
         "without it the model's first kind that lies on the picture")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(folder)
      ->check(OneOf(AttentionKindNames()))
      ->type_name("KIND,...");
  AddParsed(app, "--attention-query", ParseQuery, wish.query,
            "the patch whose attention is drawn (kind query), from 0,0")
      ->needs(folder)
      ->type_name("ROW,COLUMN");
  AddParsed(app, "--layer", ParseIndices, wish.layers,
            "blocks, counted from 0 or, if negative, from the end\n(without it the last), or all")
      ->needs(folder)
      ->type_name("N,...");
  AddParsed(app, "--head", ParseIndices, wish.heads, "heads, counted likewise (without it their mean), or all")
      ->needs(folder)
      ->type_name("N,...");
  CLI::Option* sheet =
      app.add_flag(
             "--sheet", wish.sheet,
             "one file per kind: layers below each other, heads side\nby side; all of them without --layer and --head")
          ->needs(folder);
  app.add_flag("--side-by-side", wish.side_by_side,
               "one file per picture: the picture and every kind beside\neach other; all that lie on the picture "
               "without\n--attention-kind")
      ->needs(folder)
      ->excludes(sheet);
  app.add_flag("--keep-class-mass", wish.keep_class_mass,
               "distance: attention to the class token counts as 0 pixels\ninstead of being left out")
      ->needs(folder);
}

}  // namespace

ClientCommand AddClassify(CLI::App& app) {
  auto command = std::make_shared<ClassifyCommand>();
  CLI::App* classify = app.add_subcommand("classify", "Say what is on pictures.");
  AddPictureOptions(*classify, command->paths, command->search);
  AddModelOption(*classify, command->model);
  classify->add_option("--top-k", command->top_k, "how many guesses to show; 5 without it")
      ->check(CLI::Range(1, 100000).description(""))
      ->type_name("K");
  AddAttention(*classify, command->attention);
  AddRequestOptions(*classify, command->client, command->resolution, command->priority);
  AddServerOptions(*classify, command->client);
  AddFormatOption(*classify, command->format);
  classify->footer(kClassifyExamples);
  return {classify, [command] {
            const absl::StatusOr<int> failed = RunClassify(*command, PageBehind(STDOUT_FILENO), std::cout, std::cerr);
            if (!failed.ok()) return FailWithHint(failed.status(), command->client);
            return *failed == 0 ? kExitSuccess : kExitFailure;
          }};
}

}  // namespace vitrine
