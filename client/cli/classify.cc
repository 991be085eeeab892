// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine classify`.
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/commands/classify_models.h"
#include "common/command_line/command_line.h"
#include "common/drawing/attention_words.h"

namespace vitrine {
namespace {

constexpr char kClassifyExamples[] = R"(Examples:
  Every image of a folder, five predictions each:
    vitrine classify samples/cifar --model eit-mini-cifar10
  An attention map over each image (out/cat.class.layer4.png):
    vitrine classify cat.jpg --model eit-mini-cifar10 --out out/
  Two heads of the first and the last block:
    vitrine classify cat.jpg --out out/ --layers 0,-1 --heads 0,1
  Every head of every block on one sheet, and the attention distance of each:
    vitrine classify cat.jpg --out out/ --attention mean,distance --sheet
  The image and its maps side by side (out/cat.attention.png):
    vitrine classify cat.jpg --out out/ --side-by-side
  The attention of the patch in row 3, column 4:
    vitrine classify cat.jpg --out out/ --query 3,4
  Two models side by side, as a table and as an image:
    vitrine classify samples/cifar --models eit-mini-cifar10,xcit-n12-f-sne-cifar10 --out models.png
  Images in a folder and its subfolders, of a pattern, in a list, on the standard input:
    vitrine classify --recursive photos/
    vitrine classify 'photos/2026-*/*.jpg'
    find photos -newer last -name '*.jpg' -print0 | vitrine classify --files-from - -0
    curl -s https://example.org/cat.jpg | vitrine classify -
  One JSON object per line, for jq:
    vitrine classify samples/cifar --format json | jq -r '[.image, .predictions[0].label] | @tsv'

Exit code: 0 if every image was classified, 1 if any was not (stderr names it), 2 for a wrong command line.)";

// Returns a check that accepts only kinds of attention. Its error has a hint for users who give a folder instead.
CLI::Validator IsAttentionKind() {
  const CLI::Validator check = OneOf(AttentionKindNames());
  const auto explained = [check](std::string& text) {
    const std::string fault = check(text);
    return fault.empty() ? fault : absl::StrCat(fault, "; the folder of the drawings is --out");
  };
  return CLI::Validator(explained, "", check.get_name());
}

void AddAttention(CLI::App& app, ClassifyCommand& command, std::string& out) {
  AttentionOptions& requested = command.attention;
  CLI::Option* folder = app.add_option("--out", out,
                                       "draw the attention maps as PNG and SVG files in DIR; with\n--models into one "
                                       "FILE.png or FILE.html")
                            ->type_name("DIR");
  app.add_option_function<std::vector<std::string>>(
         "--attention",
         [&requested](const std::vector<std::string>& names) {
           for (const std::string& name : names) requested.kinds.push_back(*AttentionKindOf(name));
         },
         "kinds of attention maps. Drawn on the image: class, mean,\nrollout, class-attention, query; "
         "matrices: scores,\nweights, channels; a plot: distance.\n"
         "Default: the model's first kind that is drawn on the image")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(folder)
      ->check(IsAttentionKind())
      ->type_name("KIND,...");
  AddParsed(
      app, "--query", ParseQuery, requested.query,
      "draw the attention of this patch (kind query); first: 0,0.\nInstead of ROW,COLUMN also the patch's number, "
      "from 0",
      "ROW,COLUMN")
      ->needs(folder);
  AddParsed(app, "--layers", ParseIndices, requested.layers,
            "blocks, counted from 0, or from the end if negative; or all.\nDefault: the last", "N,...")
      ->needs(folder);
  AddParsed(app, "--heads", ParseIndices, requested.heads, "heads, counted like --layers, or all; default: their mean",
            "N,...")
      ->needs(folder);
  CLI::Option* sheet = app.add_flag("--sheet", requested.sheet,
                                    "one file per kind: layers below each other, heads side\nby side; default of "
                                    "--layers and --heads: all");
  app.add_flag("--side-by-side", requested.side_by_side,
               "one file per image: the image and its maps side by side.\nDefault of --attention: all kinds "
               "drawn on the image,\nexcept query")
      ->needs(folder)
      ->excludes(sheet);
  app.add_flag("--keep-class-mass", requested.keep_class_mass,
               "distance: count attention to the class token as 0 pixels\ninstead of leaving it out")
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
         "several models side by side, one row per model; --out FILE\nalso shows their attention maps")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(app.get_option("--model"))
      ->check(Checked(ParseModelChoice))
      ->type_name("NAME[@VERSION],...");
}

// Sets the output of `command` to `out`. With one model, `out` is a folder for the drawings; with --models, it is a
// file that compares the models. Rejects options that do not apply to this output.
void ResolveOut(const CLI::App& app, const std::string& out, ClassifyCommand& command) {
  if (command.models.empty()) {
    if (command.attention.sheet && out.empty()) throw CLI::RequiresError("--sheet", "--out");
    command.attention.folder = out;
    return;
  }
  if (command.attention.sheet) {
    throw CLI::ValidationError("--sheet", "with --models the file is --out FILE.png or --out FILE.html");
  }
  for (const char* flag : {"--attention", "--query", "--layers", "--heads", "--side-by-side", "--keep-class-mass"}) {
    if (app.count(flag) > 0) throw CLI::ExcludesError("--models", flag);
  }
  if (out.empty()) return;
  const std::string ending = absl::AsciiStrToLower(std::filesystem::path(out).extension().string());
  if (ending != ".png" && ending != ".html") {
    throw CLI::ValidationError("--out", "with --models it is a file: --out FILE.png or --out FILE.html");
  }
  command.models_sheet = out;
}

}  // namespace

ClientCommand AddClassify(CLI::App& app) {
  auto command = std::make_shared<ClassifyCommand>();
  CLI::App* classify = app.add_subcommand("classify", "Classify images.");
  AddImageOptions(*classify, command->paths, command->search);
  AddModelOption(*classify, command->model);
  AddModels(*classify, *command);
  classify->add_option("--top-k", command->top_k, "number of predictions; default: 5")
      ->check(CLI::Range(1, 100000).description(""))
      ->type_name("K");
  auto out = std::make_shared<std::string>();
  AddAttention(*classify, *command, *out);
  AddRequestOptions(*classify, command->client, command->resolution, command->priority);
  AddServerOptions(*classify, command->client);
  AddFormatOption(*classify, command->format);
  classify->parse_complete_callback([classify, out, command] { ResolveOut(*classify, *out, *command); });
  classify->footer(kClassifyExamples);
  return {classify, [command] {
            const auto run = command->models.empty() ? RunClassify : RunClassifyModels;
            const absl::StatusOr<int> failed = run(*command, PageBehind(STDOUT_FILENO), std::cout, std::cerr);
            if (!failed.ok()) return FailWithHint(failed.status(), command->client);
            return *failed == 0 ? kExitSuccess : kExitFailure;
          }};
}

}  // namespace vitrine
