// SPDX-License-Identifier: Apache-2.0
// `vitrine classify`: its flags.
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <utility>

#include "absl/strings/ascii.h"
#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/commands/classify_models.h"
#include "common/command_line/command_line.h"
#include "common/drawing/attention_words.h"

namespace vitrine {
namespace {

constexpr char kClassifyExamples[] = R"(Examples:
  Every picture of a folder, five guesses each:
    vitrine classify samples/cifar --model eit-mini-cifar10
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
  Two models beside each other, in words and as a picture:
    vitrine classify samples/cifar --models eit-mini-cifar10,xcit-n12-f-sne-cifar10 --sheet models.png
  Everything below a folder; what a pattern matches; what find finds; what a program writes:
    vitrine classify --recursive photos/
    vitrine classify 'photos/2026-*/*.jpg'
    find photos -newer last -name '*.jpg' -print0 | vitrine classify --files-from - -0
    curl -s https://example.org/cat.jpg | vitrine classify -
  One JSON object a line, for jq:
    vitrine classify samples/cifar --format json | jq -r '[.image, .predictions[0].label] | @tsv'

Exit code: 0 if every picture was classified, 1 if one was not (stderr names it), 2 for a wrong command line.)";

// Adds an option that is read by `parse`, whose errors are usage errors.
template <typename Parse, typename Value>
CLI::Option* AddParsed(CLI::App& app, const std::string& name, Parse parse, Value& value, const std::string& help) {
  return app
      .add_option_function<std::string>(
          name, [&value, parse](const std::string& text) { value = *parse(text); }, help)
      ->check(Checked(parse));
}

void AddAttention(CLI::App& app, ClassifyCommand& command) {
  AttentionOptions& wish = command.attention;
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
      app.add_option_function<std::string>(
             "--sheet",
             [&command](const std::string& file) {
               command.attention.sheet = true;
               command.models_sheet = file;
             },
             "with --attention one file per kind: layers below each\nother, heads side by side; all of them without "
             "--layer and\n--head. With --models FILE.png or FILE.html: what each saw")
          ->expected(0, 1)
          ->type_name("[FILE]");
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

namespace {

void AddModels(CLI::App& app, ClassifyCommand& command) {
  app.add_option_function<std::vector<std::string>>(
         "--models",
         [&command](const std::vector<std::string>& names) {
           command.models.clear();
           for (const std::string& name : names) command.models.push_back(*ParseModelChoice(name));
         },
         "several models beside each other, a row for each; with\n--sheet FILE what they saw")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(app.get_option("--model"))
      ->check(Checked(ParseModelChoice))
      ->type_name("NAME[@VERSION],...");
}

// Resolves --sheet, whose meaning depends on --models: without it, a word after --sheet is an image.
void ResolveSheet(ClassifyCommand& command) {
  std::string& file = command.models_sheet;
  if (command.models.empty()) {
    if (!file.empty()) command.paths.push_back(std::exchange(file, ""));
    if (command.attention.sheet && command.attention.folder.empty()) {
      throw CLI::ValidationError("--sheet", "it needs --attention DIR, or --models");
    }
    return;
  }
  if (!command.attention.folder.empty()) throw CLI::ExcludesError("--models", "--attention");
  if (!command.attention.sheet) return;
  const std::string ending = absl::AsciiStrToLower(std::filesystem::path(file).extension().string());
  if (ending != ".png" && ending != ".html") {
    throw CLI::ValidationError("--sheet", "with --models it writes a file: --sheet FILE.png or --sheet FILE.html");
  }
}

}  // namespace

ClientCommand AddClassify(CLI::App& app) {
  auto command = std::make_shared<ClassifyCommand>();
  CLI::App* classify = app.add_subcommand("classify", "Say what is on pictures.");
  AddPictureOptions(*classify, command->paths, command->search);
  AddModelOption(*classify, command->model);
  AddModels(*classify, *command);
  classify->add_option("--top-k", command->top_k, "how many guesses to show; 5 without it")
      ->check(CLI::Range(1, 100000).description(""))
      ->type_name("K");
  AddAttention(*classify, *command);
  AddRequestOptions(*classify, command->client, command->resolution, command->priority);
  AddServerOptions(*classify, command->client);
  AddFormatOption(*classify, command->format);
  classify->parse_complete_callback([command] { ResolveSheet(*command); });
  classify->footer(kClassifyExamples);
  return {classify, [command] {
            const auto run = command->models.empty() ? RunClassify : RunClassifyModels;
            const absl::StatusOr<int> failed = run(*command, PageBehind(STDOUT_FILENO), std::cout, std::cerr);
            if (!failed.ok()) return FailWithHint(failed.status(), command->client);
            return *failed == 0 ? kExitSuccess : kExitFailure;
          }};
}

}  // namespace vitrine
