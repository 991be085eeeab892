// SPDX-License-Identifier: Apache-2.0
// vitrine-repo: describes models and their cost; creates, fills and verifies repositories of checkpoints.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "common/command_line/command_line.h"
#include "models/tool/describe/describe.h"
#include "models/tool/describe/zoo.h"
#include "models/tool/flags.h"
#include "models/tool/publish/against/against.h"
#include "models/tool/publish/commands.h"
#include "models/tool/publish/create.h"

namespace vitrine {
namespace {

constexpr char kProgram[] = "vitrine-repo";

constexpr char kDescription[] =
    "Says what models there are and what they cost, and keeps repositories of checkpoints.\n"
    "A repository is a folder that holds <model>/<version>/ with manifest, weights, goldens and labels.";

constexpr char kExamples[] =
    "Examples:\n"
    "  vitrine-repo zoo                                  every variant: parameters, multiply-adds, published figures\n"
    "  vitrine-repo describe xcit-n12 --resolution 224x320 --batch 8 --out drawings\n"
    "                                                    its operators, their time here, the roofline\n"
    "  vitrine-repo init staging                         an empty repository\n"
    "  vitrine-repo create staging try --variant vit-ti16\n"
    "                                                    publishes a variant with random weights, to try the server\n"
    "  vitrine-repo import staging xcit weights.safetensors --from timm --arch xcit_nano_12_p16_224 --labels "
    "names.txt\n"
    "                                                    publishes weights that others trained\n"
    "  vitrine-repo quantize staging kv-pos-mnist --precision int8 --data mnist:/data/mnist\n"
    "                                                    publishes a version that may be computed in bytes too\n"
    "  vitrine-repo calibrate staging kv-pos-mnist --from held-out/calibration.json\n"
    "                                                    publishes a version whose answers say when they are unsure\n"
    "  vitrine-repo list models/bundled                  what is there\n"
    "  vitrine-repo show models/bundled kv-pos-mnist     the newest version in full\n"
    "  vitrine-repo verify models/bundled                digests, weights and goldens of every version\n"
    "  vitrine-repo verify staging xcit --against timm --images photos --python venv/bin/python\n"
    "                                                    compares its answers with those of timm\n"
    "  vitrine-repo publish production kv-pos-mnist@3 --from staging\n"
    "                                                    verifies version 3 and publishes it in production\n"
    "  vitrine-repo prune production --keep 3 --serving-config serving.textproto\n"
    "                                                    removes versions that nobody needs any more\n"
    "Every command explains itself: vitrine-repo describe --help. Results go to stdout, all else to stderr.\n"
    "Exit codes: 0 success, 1 a version fails or something cannot be done, 2 usage.";

struct Flags {
  std::string repository;
  std::string which;
  std::string source;
  std::string format = "table";
  std::string storage = "fp32";
  AgainstOptions against;
  CreateOptions create;
  DescribeOptions describe;
  ImportOptions import_options;
  CalibrateOptions calibrate;
  QuantizeOptions quantize;
  RemoveOptions remove;

  OutputFormat output() const {
    return format == "json" ? OutputFormat::kJson : format == "csv" ? OutputFormat::kCsv : OutputFormat::kTable;
  }
};

// A subcommand and its action after parsing.
struct Command {
  CLI::App* app;
  std::function<absl::Status()> run;
};

void AddRepository(CLI::App& command, Flags& flags, const std::string& text = "the repository") {
  command.add_option("DIR", flags.repository, text)->required();
}

void AddFormat(CLI::App& command, Flags& flags, std::vector<std::string> formats = {"table", "json", "csv"}) {
  command.add_option("--format", flags.format, "how the result is printed; default table")
      ->check(CLI::IsMember(std::move(formats)));
}

Command AddZoo(CLI::App& app, Flags& flags) {
  CLI::App* zoo = app.add_subcommand("zoo", "every variant: exact counts beside what its paper prints");
  zoo->add_option("--repository", flags.repository,
                  "where the accuracies \"ours\" come from: the best of the versions that have a variant's sizes");
  AddFormat(*zoo, flags);
  zoo->footer(
      "GMACS counts 10^9 multiply-adds of matrix products and convolutions, of one image of the size in the column\n"
      "`input` of JSON and CSV, as the paper's own code computes them. PRINTED M are the paper's parameters in "
      "millions,\n"
      "PRINTED G its FLOPs in 10^9 and OURS the same count in its convention, PRINTED % its accuracy ON a data set "
      "and\n"
      "OURS % that of --repository; empty where there is none. RESOLUTION is the input's: a fixed size, or native "
      "with\n"
      "the pixels of a token and the limits of their number. JSON and CSV hold plain numbers and further columns.\n"
      "  vitrine-repo zoo --repository models/bundled\n"
      "  vitrine-repo zoo --format csv > zoo.csv");
  return {zoo, [&flags] { return ZooCommand(flags.repository, flags.output()); }};
}

Command AddDescribe(CLI::App& app, Flags& flags) {
  DescribeOptions& options = flags.describe;
  CLI::App* describe =
      app.add_subcommand("describe", "a model's operators: sizes, cost, time here, roofline, a drawing");
  describe->add_option("MODEL", options.model, "a variant of the zoo; with --repository MODEL[@VERSION] there")
      ->required();
  describe->add_option("--resolution", options.resolution, "of the input in pixels: 224, or 224x320, rows first")
      ->type_name("R[xC]")
      ->check([](const std::string& text) { return std::string(CheckResolution(text).message()); });
  describe->add_option("--batch", options.batch, "images at once; default 1")->check(CLI::Range(1, 1024));
  describe->add_option("--repository", options.repository, "describe a published version")->type_name("DIR");
  describe->add_flag("--every-layer", options.every_layer, "a line for every operator; default one for equal ones");
  describe->add_flag("--measure,!--no-measure", options.measure,
                     "time the engine's steps on one core (default), or count alone");
  describe
      ->add_option("--precision", options.precision, "time the steps in fp32 (default), or what can be in bf16 or int8")
      ->check(CLI::IsMember({"fp32", "bf16", "int8"}));
  describe->add_flag("--paper", options.paper, "with --format csv: the review's operator tables instead");
  describe
      ->add_option("--out", options.out,
                   "folder for roofline.svg and program.svg: blocks, branches, shapes, multiply-adds")
      ->type_name("DIR");
  AddFormat(*describe, flags);
  describe->footer(
      "  vitrine-repo describe vit-b16                     the review's tables follow the operators\n"
      "  vitrine-repo describe xcit-t12 --resolution 384 --batch 8 --out drawings\n"
      "  vitrine-repo describe xcit-n12 --no-measure --out drawings\n"
      "  vitrine-repo describe eit-mini-cifar10@2 --repository models/bundled --format json\n"
      "Nothing else should run meanwhile; times are the shortest of many passes.");
  return {describe, [&flags] {
            flags.describe.format = flags.output();
            return DescribeCommand(flags.describe);
          }};
}

Command AddInit(CLI::App& app, Flags& flags) {
  CLI::App* init = app.add_subcommand("init", "an empty repository with a README of its layout");
  AddRepository(*init, flags, "a folder that is empty or not there");
  return {init, [&flags] { return InitCommand(flags.repository); }};
}

Command AddCreate(CLI::App& app, Flags& flags) {
  CreateOptions& options = flags.create;
  CLI::App* create = app.add_subcommand("create", "publishes a variant of the zoo with random weights");
  create->add_option("DIR", options.repository, "the repository; created if it is not there")->required();
  create->add_option("NAME", options.model, "the name to publish under")->required();
  create->add_option("--variant", options.variant, "of `vitrine-repo zoo`")->required();
  create->add_option("--seed", options.seed, "of the weights; default 0");
  create->add_option("--max-tokens", options.max_tokens,
                     "most patch tokens of an image, for variants of native resolution; default the variant's");
  create->add_option("--storage", flags.storage, "type of the stored weights: fp32 (default) or bf16")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  AddLicence(*create, options.licence, "default: none is stated");
  create->add_flag("--if-absent", options.if_absent,
                   "do nothing where NAME has a version already, so that it may be run again");
  create->footer(
      "The classes are class_0, class_1, ...; the provenance says that the weights are random and untrained.\n"
      "  vitrine-repo create staging big --variant vit-h14 --storage bf16 --seed 7");
  return {create, [&flags] {
            flags.create.bf16 = flags.storage == "bf16";
            return CreateCommand(flags.create);
          }};
}

Command AddImport(CLI::App& app, Flags& flags) {
  return {AddImportCommand(app, flags.import_options), [&flags] { return ImportCommand(flags.import_options); }};
}

Command AddQuantize(CLI::App& app, Flags& flags) {
  return {AddQuantizeCommand(app, flags.quantize), [&flags] { return QuantizeCommand(flags.quantize); }};
}

Command AddCalibrate(CLI::App& app, Flags& flags) {
  return {AddCalibrateCommand(app, flags.calibrate), [&flags] { return CalibrateCommand(flags.calibrate); }};
}

Command AddList(CLI::App& app, Flags& flags) {
  CLI::App* list = app.add_subcommand("list", "a table of the versions: parameters, size, accuracy");
  AddRepository(*list, flags);
  AddFormat(*list, flags);
  return {list, [&flags] { return ListCommand(flags.repository, flags.output()); }};
}

Command AddShow(CLI::App& app, Flags& flags) {
  CLI::App* show = app.add_subcommand("show", "one version in full: provenance, measurements, files, configuration");
  AddRepository(*show, flags);
  show->add_option("MODEL[@VERSION]", flags.which, "without a version: the newest")->required();
  AddFormat(*show, flags, {"table", "json"});
  return {show, [&flags] { return ShowCommand(flags.repository, flags.which, flags.output()); }};
}

Command AddVerify(CLI::App& app, Flags& flags) {
  CLI::App* verify = app.add_subcommand(
      "verify", "every digest, the weights against the model, the goldens on this CPU; a line per version");
  AddRepository(*verify, flags);
  verify->add_option("MODEL[@VERSION]", flags.which, "without it: everything; without a version: all of the model's");
  AddFormat(*verify, flags, {"table", "json"});
  AgainstOptions& against = flags.against;
  CLI::Option* library =
      verify
          ->add_option("--against", against.library,
                       "instead, one version beside the library that it comes from: largest difference\n"
                       "of input and logits, and flips of top-1, image by image")
          ->check(CLI::IsMember({"timm"}));
  CLI::Option* images =
      verify->add_option("--images", against.images, "JPEG, PNG and WebP below this folder")->type_name("DIR");
  library->needs(images);
  images->needs(library);
  verify->add_option("--python", against.python, "an interpreter that has timm and safetensors; default python3")
      ->needs(library);
  verify->add_option("--arch", against.arch, "timm's name of the model; default that of its import")->needs(library);
  verify->add_option("--tolerance", against.tolerance, "of logits, in parts of the largest or of 1; default 0.001")
      ->check(CLI::PositiveNumber)
      ->needs(library);
  verify->footer(
      "  vitrine-repo verify models/bundled\n"
      "  vitrine-repo verify my-models vit --against timm --images photos --python venv/bin/python\n"
      "Exit code 1: a version fails, or an image's logits or top-1 differ.");
  return {verify, [&flags] {
            if (flags.against.library.empty()) return VerifyCommand(flags.repository, flags.which, flags.output());
            return VerifyAgainstCommand(flags.repository, flags.which, flags.against, flags.output());
          }};
}

Command AddPublish(CLI::App& app, Flags& flags) {
  CLI::App* publish = app.add_subcommand("publish", "verifies a version of another repository and publishes it here");
  AddRepository(*publish, flags, "the repository to publish in; created if it is not there");
  publish->add_option("MODEL[@VERSION]", flags.which, "without a version: the newest")->required();
  publish->add_option("--from", flags.source, "the repository that holds the version")->required()->type_name("DIR");
  return {publish, [&flags] { return PublishCommand(flags.repository, flags.source, flags.which); }};
}

Command AddRemove(CLI::App& app, Flags& flags) {
  return {AddRemoveCommand(app, flags.remove), [&flags] { return RemoveCommand(flags.remove); }};
}

Command AddPrune(CLI::App& app, Flags& flags) {
  return {AddPruneCommand(app, flags.remove), [&flags] { return PruneCommand(flags.remove); }};
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(kDescription, kProgram);
  app.footer(kExamples);
  app.require_subcommand(1);
  std::vector<Command> commands;
  for (const auto add : {AddZoo, AddDescribe, AddInit, AddCreate, AddImport, AddQuantize, AddCalibrate, AddList,
                         AddShow, AddVerify, AddPublish, AddRemove, AddPrune}) {
    commands.push_back(add(app, flags));
  }
  const std::vector<RenamedWord> renamed = {
      {"describe", "--plot", "--out DIR, with roofline.svg in it"},
      {"describe", "--graph", "--out DIR, with program.svg in it"},
      {"quantize", "--images", "--limit"},
      {"verify", "--pictures", "--images"},
  };
  if (const auto exit_code = ParseCommandLine(app, argc, argv, renamed)) return *exit_code;
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    const absl::Status status = command.run();
    return status.ok() ? kExitSuccess : Fail(kProgram, status);
  }
  return kExitUsage;
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
