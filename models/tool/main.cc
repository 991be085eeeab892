// SPDX-License-Identifier: Apache-2.0
// vitrine-repo: describes models and their cost; creates, fills and verifies repositories of checkpoints.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/command_line/command_line.h"
#include "common/command_line/number_check.h"
#include "common/data/dataset.h"
#include "common/status_macros.h"
#include "models/repository/repository.h"
#include "models/repository/selection.h"
#include "models/tool/describe/describe.h"
#include "models/tool/describe/gpu_bound.h"
#include "models/tool/describe/scaling.h"
#include "models/tool/describe/subject.h"
#include "models/tool/describe/zoo.h"
#include "models/tool/flags.h"
#include "models/tool/publish/against/against.h"
#include "models/tool/publish/commands.h"
#include "models/tool/publish/create.h"
#include "models/zoo.h"

namespace vitrine {
namespace {

constexpr char kProgram[] = "vitrine-repo";

constexpr char kDescription[] =
    "Lists models with their cost, and manages repositories of checkpoints.\n"
    "A repository is a folder with manifest, weights, goldens and labels in <model>/<version>/.";

constexpr char kExamples[] =
    "Examples:\n"
    "  vitrine-repo zoo                                  every variant: parameters, multiply-adds, paper's figures\n"
    "  vitrine-repo describe xcit-n12 --resolution 224x320 --batch 8 --out drawings\n"
    "                                                    operators, their measured time, roofline\n"
    "  vitrine-repo init staging                         creates an empty repository\n"
    "  vitrine-repo create staging try --variant vit-ti16\n"
    "                                                    publishes a variant with random weights, for tests\n"
    "  vitrine-repo import staging xcit weights.safetensors --from timm --arch xcit_nano_12_p16_224 --labels "
    "names.txt\n"
    "                                                    publishes weights trained elsewhere\n"
    "  vitrine-repo head staging xcit pets --data imagefolder:photos\n"
    "                                                    publishes a classifier for your own labelled images\n"
    "  vitrine-repo export staging xcit --to timm --out xcit-timm\n"
    "                                                    writes a version as a model of timm or transformers\n"
    "  vitrine-repo quantize staging kv-pos-mnist --precision int8 --data mnist:/data/mnist\n"
    "                                                    publishes a version that also runs in int8\n"
    "  vitrine-repo calibrate staging kv-pos-mnist --from held-out/calibration.json\n"
    "                                                    publishes a version that reports unsure answers\n"
    "  vitrine-repo list models/bundled                  all versions\n"
    "  vitrine-repo show models/bundled kv-pos-mnist     all details of the newest version\n"
    "  vitrine-repo verify models/bundled                checks digests, weights and goldens of every version\n"
    "  vitrine-repo verify staging xcit --against timm --images photos --python venv/bin/python\n"
    "                                                    compares the logits with timm's\n"
    "  vitrine-repo publish production kv-pos-mnist@3 --from staging\n"
    "                                                    verifies version 3 and copies it to production\n"
    "  vitrine-repo prune production --keep 3 --serving-config serving.textproto\n"
    "                                                    removes old versions that no server config names\n"
    "  vitrine-repo push staging kv-pos-mnist s3://models/production\n"
    "                                                    copies the newest version to a bucket\n"
    "  vitrine-repo pull s3://models/production cache    copies a bucket's repository to this machine\n"
    "Every command has --help, for instance vitrine-repo describe --help. Results go to stdout, all else to stderr.\n"
    "Exit codes: 0 success, 1 a version failed or an error occurred, 2 wrong usage.";

struct Flags {
  std::string repository;
  std::string which;
  std::string source;
  std::string format = "table";
  std::string storage = "fp32";
  AgainstOptions against;
  CacheOptions cache;
  CreateOptions create;
  DescribeOptions describe;
  ExportOptions export_options;
  HeadOptions head;
  ImportOptions import_options;
  CalibrateOptions calibrate;
  QuantizeOptions quantize;
  PullOptions pull;
  PushOptions push;
  RemoveOptions remove;
  ScalingOptions scaling;
  SurveyOptions survey;

  OutputFormat output() const {
    return format == "json" ? OutputFormat::kJson : format == "csv" ? OutputFormat::kCsv : OutputFormat::kTable;
  }
};

template <typename Check>
std::function<std::string(const std::string&)> FaultOf(Check check) {
  return [check](const std::string& text) -> std::string {
    const auto checked = check(text);
    if constexpr (std::is_same_v<decltype(checked), const absl::Status>)
      return std::string(checked.message());
    else
      return checked.ok() ? "" : std::string(checked.status().message());
  };
}

// Adds the checks of flags and arguments that several commands share, so that a wrong value is a usage error.
void AddChecks(CLI::App& command) {
  const std::pair<const char*, std::function<std::string(const std::string&)>> checks[] = {
      {"MODEL[@VERSION]", FaultOf(ParseSelection)},
      {"NAME", FaultOf(ValidateModelName)},
      {"--variant", FaultOf(FindVariant)},
      {"--data", FaultOf(CheckDatasetSpec)}};
  for (const auto& [name, check] : checks) {
    if (CLI::Option* option = command.get_option_no_throw(name); option != nullptr) option->check(check);
  }
}

// A subcommand and its action after parsing.
struct Command {
  CLI::App* app;
  std::function<absl::Status()> run;
};

// Adds a command whose flags are defined in a separate file (see flags.h).
template <auto options, auto add, auto run>
Command AddOwn(CLI::App& app, Flags& flags) {
  return {add(app, flags.*options), [&flags] { return run(flags.*options); }};
}

void AddRepository(CLI::App& command, Flags& flags, const std::string& text = "repository") {
  command.add_option("DIR", flags.repository, text)->required();
}

void AddFormat(CLI::App& command, Flags& flags, std::vector<std::string> formats = {"table", "json", "csv"}) {
  command.add_option("--format", flags.format, "output format; default: table")
      ->check(CLI::IsMember(std::move(formats)));
}

Command AddZoo(CLI::App& app, Flags& flags) {
  CLI::App* zoo = app.add_subcommand("zoo", "lists every variant: exact counts beside the paper's figures");
  zoo->add_option("--repository", flags.repository,
                  "repository for OURS %: the best accuracy among its versions with the variant's sizes");
  AddFormat(*zoo, flags);
  zoo->footer(
      "GMACS: 10^9 multiply-adds of matrix products and convolutions for one image, as the paper's code computes it.\n"
      "PRINTED M: the paper's parameters in millions. PRINTED G: the paper's FLOPs in 10^9. OURS: the FLOPs counted\n"
      "here by the paper's convention. PRINTED %: the paper's accuracy. ON: data set of PRINTED %. OURS %: accuracy\n"
      "in --repository. RESOLUTION: fixed input size, or native with the side of a token in pixels and the minimum\n"
      "and maximum number of tokens. Unknown cells are empty. JSON and CSV have plain numbers and more columns, for\n"
      "instance `input`: the image size of GMACS.\n"
      "  vitrine-repo zoo --repository models/bundled\n"
      "  vitrine-repo zoo --format csv > zoo.csv");
  return {zoo, [&flags] { return ZooCommand(flags.repository, flags.output()); }};
}

// Returns a usage error if there is no repository and the model is not a variant of the zoo.
absl::Status CheckVariant(const std::string& model, const std::string& repository) {
  return repository.empty() ? WrongCommandLine(FindVariant(model)).status() : absl::OkStatus();
}

Command AddDescribe(CLI::App& app, Flags& flags) {
  DescribeOptions& options = flags.describe;
  CLI::App* describe =
      app.add_subcommand("describe", "describes a model's operators: sizes, cost, measured time, roofline, drawing");
  describe
      ->add_option("MODEL", options.model, "variant of `vitrine-repo zoo`; with --repository: MODEL[@VERSION] in it")
      ->required();
  describe->add_option("--resolution", options.resolution, "input size in pixels: 224, or 224x320 (height x width)")
      ->type_name("R[xC]")
      ->check([](const std::string& text) { return std::string(ParseResolution(text).status().message()); });
  describe->add_option("--batch", options.batch, "images per batch; default: 1")->check(CLI::Range(1, 1024));
  describe->add_option("--repository", options.repository, "repository of a published version to describe")
      ->type_name("DIR");
  describe->add_flag("--every-layer", options.every_layer,
                     "print a line per operator; default: one line for equal operators");
  describe->add_flag("--measure,!--no-measure", options.measure,
                     "time the engine's steps on one core (default), or only count");
  describe
      ->add_option("--precision", options.precision,
                   "precision of the timed steps: fp32 (default), or bf16 or int8 where an operator supports it")
      ->check(CLI::IsMember({"fp32", "bf16", "int8"}));
  std::vector<std::string> gpus;
  for (const Gpu& gpu : Gpus()) gpus.emplace_back(gpu.name);
  describe
      ->add_option("--device", options.device,
                   "instead, print the minimum time of each step on a GPU, computed from its data sheet")
      ->check(CLI::IsMember(gpus));
  describe->add_flag("--paper", options.paper, "with --format csv: print the review paper's operator tables instead");
  describe
      ->add_option("--out", options.out,
                   "folder for roofline.svg and program.svg (blocks, branches, shapes, multiply-adds)")
      ->type_name("DIR");
  AddFormat(*describe, flags);
  describe->footer(
      "  vitrine-repo describe vit-b16                     operators, then the review paper's tables\n"
      "  vitrine-repo describe xcit-t12 --resolution 384 --batch 8 --out drawings\n"
      "  vitrine-repo describe xcit-n12 --no-measure --out drawings\n"
      "  vitrine-repo describe eit-mini-cifar10@2 --repository models/bundled --format json\n"
      "  vitrine-repo describe xcit-n12 --device h100 --precision bf16 --batch 256\n"
      "Run no other programs at the same time. Times are the shortest of many passes.");
  return {describe, [&flags] {
            flags.describe.format = flags.output();
            if (!flags.describe.device.empty()) flags.describe.measure = false;
            RETURN_IF_ERROR(CheckVariant(flags.describe.model, flags.describe.repository));
            return DescribeCommand(flags.describe);
          }};
}

Command AddScaling(CLI::App& app, Flags& flags) {
  ScalingOptions& options = flags.scaling;
  CLI::App* scaling = app.add_subcommand("scaling", "measures time and peak memory against the number of tokens");
  scaling->add_option("MODEL", options.model, "variant of `vitrine-repo zoo`; with --repository: MODEL[@VERSION] in it")
      ->required();
  scaling
      ->add_option("--resolutions", options.resolutions, "input sizes in pixels: 224,448, or 224x320 (height x width)")
      ->type_name("R[xC],...")
      ->delimiter(',')
      ->required()
      ->check([](const std::string& text) { return std::string(ParseResolution(text).status().message()); });
  scaling->add_option("--batch", options.batch, "images per pass; default: 1")->check(CLI::Range(1, 1024));
  scaling->add_option("--repeats", options.repeats, "measurements of every size; default: 3")
      ->check(CLI::Range(1, 100));
  scaling->add_flag("--reference", options.reference,
                    "measure LibTorch's reference, whose softmax attention then stores its\nmatrix; default: the CPU "
                    "engine");
  scaling->add_option("--repository", options.repository, "repository of a published version to measure")
      ->type_name("DIR");
  AddFormat(*scaling, flags);
  scaling->footer(
      "  vitrine-repo scaling xcit-t12 --resolutions 224,448,896\n"
      "  vitrine-repo scaling vit-ti16-native --resolutions 224,448,896 --reference --format csv\n"
      "SECONDS is the shortest pass on one core, fp32. PEAK BYTES is a pass's memory without weights and input.\n"
      "SEED is the seed of the random images. A size may exceed the token limit of the model's config.\n"
      "Run no other programs at the same time.");
  return {scaling, [&flags] {
            flags.scaling.format = flags.output();
            RETURN_IF_ERROR(CheckVariant(flags.scaling.model, flags.scaling.repository));
            return ScalingCommand(flags.scaling);
          }};
}

Command AddInit(CLI::App& app, Flags& flags) {
  CLI::App* init = app.add_subcommand("init", "creates an empty repository with a README of its layout");
  AddRepository(*init, flags, "empty or missing folder");
  init->footer("  vitrine-repo init staging");
  return {init, [&flags] { return InitCommand(flags.repository); }};
}

Command AddCreate(CLI::App& app, Flags& flags) {
  CreateOptions& options = flags.create;
  CLI::App* create = app.add_subcommand("create", "publishes a variant of the zoo with random weights");
  create->add_option("DIR", options.repository, "repository; created if missing")->required();
  create->add_option("NAME", options.model, "model name to publish under")->required();
  create->add_option("--variant", options.variant, "variant of `vitrine-repo zoo`")->required();
  create->add_option("--seed", options.seed, "seed of the weights; default: 0");
  create->add_option("--max-tokens", options.max_tokens,
                     "maximum patch tokens per image, for variants of native resolution; default: the variant's");
  create->add_option("--storage", flags.storage, "type of the stored weights: fp32 (default) or bf16")
      ->check(CLI::IsMember({"fp32", "bf16"}));
  AddLicence(*create, options.licence, "default: none");
  create->add_flag("--if-absent", options.if_absent, "do nothing if NAME already has a version");
  create->footer(
      "The classes are class_0, class_1, ...; the provenance says that the weights are random and untrained.\n"
      "  vitrine-repo create staging big --variant vit-h14 --storage bf16 --seed 7");
  return {create, [&flags] {
            flags.create.bf16 = flags.storage == "bf16";
            return CreateCommand(flags.create);
          }};
}

Command AddList(CLI::App& app, Flags& flags) {
  CLI::App* list = app.add_subcommand("list", "lists the versions: parameters, size, accuracy");
  AddRepository(*list, flags);
  AddFormat(*list, flags);
  list->footer("  vitrine-repo list models/bundled");
  return {list, [&flags] { return ListCommand(flags.repository, flags.output()); }};
}

Command AddShow(CLI::App& app, Flags& flags) {
  CLI::App* show = app.add_subcommand("show", "shows one version: provenance, measurements, files, configuration");
  AddRepository(*show, flags);
  show->add_option("MODEL[@VERSION]", flags.which, "model; without a version: the newest")->required();
  AddFormat(*show, flags, {"table", "json"});
  show->footer("  vitrine-repo show models/bundled kv-pos-mnist");
  return {show, [&flags] { return ShowCommand(flags.repository, flags.which, flags.output()); }};
}

Command AddVerify(CLI::App& app, Flags& flags) {
  CLI::App* verify =
      app.add_subcommand("verify", "checks digests, weights and, on this CPU, goldens; prints a line per version");
  AddRepository(*verify, flags);
  verify->add_option("MODEL[@VERSION]", flags.which,
                     "default: every model; without a version: every version of the model");
  AddFormat(*verify, flags, {"table", "json"});
  AgainstOptions& against = flags.against;
  CLI::Option* library =
      verify
          ->add_option("--against", against.library,
                       "instead, compare one version with the library that it comes from: for each image,\n"
                       "the largest differences of input and logits, and whether top-1 changes")
          ->check(CLI::IsMember({"timm"}));
  CLI::Option* images =
      verify->add_option("--images", against.images, "folder of JPEG, PNG and WebP images, searched recursively")
          ->type_name("DIR");
  library->needs(images);
  images->needs(library);
  verify->add_option("--python", against.python, "Python interpreter with timm and safetensors; default: python3")
      ->needs(library);
  verify->add_option("--arch", against.arch, "timm's name of the model; default: --arch of its import")->needs(library);
  verify
      ->add_option("--tolerance", against.tolerance,
                   "maximum difference of logits / max(1, largest |logit|); default: 0.001")
      ->check(PositiveNumber())
      ->needs(library);
  verify->footer(
      "  vitrine-repo verify models/bundled\n"
      "  vitrine-repo verify my-models vit --against timm --images photos --python venv/bin/python\n"
      "Exit code 1: a version fails, or logits or top-1 of an image differ.");
  return {verify, [&flags] {
            if (flags.against.library.empty()) return VerifyCommand(flags.repository, flags.which, flags.output());
            return VerifyAgainstCommand(flags.repository, flags.which, flags.against, flags.output());
          }};
}

Command AddPublish(CLI::App& app, Flags& flags) {
  CLI::App* publish = app.add_subcommand("publish", "verifies a version of another repository and publishes it in DIR");
  AddRepository(*publish, flags, "repository to publish in; created if missing");
  publish->add_option("MODEL[@VERSION]", flags.which, "model; without a version: the newest")->required();
  publish->add_option("--from", flags.source, "repository to copy the version from")->required()->type_name("DIR");
  publish->footer("  vitrine-repo publish production kv-pos-mnist@3 --from staging");
  return {publish, [&flags] { return PublishCommand(flags.repository, flags.source, flags.which); }};
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(kDescription, kProgram);
  app.footer(kExamples);
  app.require_subcommand(1);
  std::vector<Command> commands;
  for (const auto add : {AddZoo,
                         AddDescribe,
                         AddScaling,
                         AddInit,
                         AddCreate,
                         AddOwn<&Flags::import_options, AddImportCommand, ImportCommand>,
                         AddOwn<&Flags::head, AddHeadCommand, HeadCommand>,
                         AddOwn<&Flags::export_options, AddExportCommand, ExportCommand>,
                         AddOwn<&Flags::quantize, AddQuantizeCommand, QuantizeCommand>,
                         AddOwn<&Flags::cache, AddCacheCommand, CacheCommand>,
                         AddOwn<&Flags::survey, AddSurveyCommand, SurveyCommand>,
                         AddOwn<&Flags::calibrate, AddCalibrateCommand, CalibrateCommand>,
                         AddList,
                         AddShow,
                         AddVerify,
                         AddPublish,
                         AddOwn<&Flags::remove, AddRemoveCommand, RemoveCommand>,
                         AddOwn<&Flags::remove, AddPruneCommand, PruneCommand>,
                         AddOwn<&Flags::pull, AddPullCommand, PullCommand>,
                         AddOwn<&Flags::push, AddPushCommand, PushCommand>}) {
    commands.push_back(add(app, flags));
    AddChecks(*commands.back().app);
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
  return vitrine::EndOutput(vitrine::kProgram, vitrine::Main(argc, argv));
}
