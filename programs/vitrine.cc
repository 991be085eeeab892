// vitrine: asks a vitrine-server. Flags and wiring; the commands are in client/.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/classify_command.h"
#include "client/embed_command.h"
#include "client/models_command.h"
#include "client/names.h"
#include "programs/command_line.h"

namespace vitrine {
namespace {

constexpr char kExamples[] = R"(Examples:
  vitrine models
  vitrine classify cat.jpg truck.jpg --model eit-mini-cifar10
  vitrine classify samples/ --model eit-mini-cifar10 --attention out/
  vitrine classify digit.png --model kv-pos-mnist@1 --top-k 3 --format json
  vitrine embed samples/ --model eit-mini-cifar10 --output features.npy

The server's address is --server, else $VITRINE_SERVER, else 127.0.0.1:8500.)";

constexpr char kClassifyExamples[] = R"(Examples:
  Every picture of a folder, five guesses each:
    vitrine classify samples/ --model eit-mini-cifar10
  Where the model looked, drawn over each picture (out/cat.class.layer4.png):
    vitrine classify cat.jpg --model eit-mini-cifar10 --attention out/
  Two heads of the first and the last block:
    vitrine classify cat.jpg --attention out/ --layer 0,-1 --head 0,1
  Every head of every block on one sheet, and how far each of them looks:
    vitrine classify cat.jpg --attention out/ --attention-kind mean,distance --sheet
  What the patch in row 3, column 4 looks at:
    vitrine classify cat.jpg --attention out/ --attention-query 3,4
  One JSON object a line, for jq:
    vitrine classify samples/ --format json | jq -r '[.image, .predictions[0].label] | @tsv'

Exit code: 0 if every picture was classified, 1 if one was not (stderr names it), 2 for a wrong command line.)";

constexpr char kEmbedExamples[] = R"(Examples:
  An array with a row for each picture (numpy.load), their paths in features.txt:
    vitrine embed samples/ --model eit-mini-cifar10 --output features.npy
  Every patch's vector on its grid, a file for each picture:
    vitrine embed samples/ --model eit-mini-cifar10 --kind patches --output features/
  Numbers in JSON, an object a line:
    vitrine embed cat.jpg --format json | jq .values

Exit code: 0 if every picture has its features, 1 if one has not (stderr names it), 2 for a wrong command line.)";

constexpr char kModelsExamples[] = R"(Examples:
  vitrine models
  vitrine models --server gpu-box:8500 --format json | jq 'select(.state == "ready") | .model')";

// Options as "--name WORD (default)": CLI11's own form spells out every check and conversion.
class ShortHelp : public CLI::Formatter {
 public:
  ShortHelp() { column_width(34); }
  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const std::string standard = option->get_default_str();
    return " " + option->get_type_name() + (standard.empty() ? "" : " (" + standard + ")");
  }
  std::string make_option_usage(const CLI::Option* option) const override { return option->get_name() + "..."; }
};

// A check that turns a parser's status into CLI11's way of saying "wrong".
template <typename Parse>
CLI::Validator Checked(Parse parse) {
  return CLI::Validator(
      [parse](std::string& text) {
        const auto parsed = parse(text);
        return parsed.ok() ? std::string() : std::string(parsed.status().message());
      },
      "");
}

CLI::Validator OneOf(const std::vector<std::string>& words) {
  return CLI::IsMember(words).description("");
}

absl::StatusOr<absl::Duration> ParseDeadline(const std::string& text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) return duration;
  return absl::InvalidArgumentError("\"" + text + "\" is no duration; give one with its unit, as in 500ms, 30s or 2m");
}

// What every command says about the server, and classify and embed about pictures.
struct Common {
  ClientOptions client;
  std::vector<std::string> paths;
  std::string model, resolution, deadline = "30s", connect_timeout = "5s", format = "table", priority = "normal";
};

struct Settings {
  Common common;
  ClassifyCommand classify;
  EmbedCommand embed;
  std::string layers, heads, query, feature;
  std::vector<std::string> kinds;
};

void AddServer(CLI::App& app, Common& common) {
  app.add_option("--server", common.client.address, "host:port of the server; also $VITRINE_SERVER")
      ->envname("VITRINE_SERVER")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--connect-timeout", common.connect_timeout, "how long to wait for the connection")
      ->check(Checked(ParseDeadline))
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--format", common.format, "table for people, json for programs: an object a line")
      ->check(OneOf({"table", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
}

void AddPictures(CLI::App& app, Common& common) {
  app.add_option("IMAGE", common.paths, "JPEG or PNG files, and folders of them")->required()->type_name("");
  app.add_option("--model", common.model, "the model to ask; without it the only one that is ready")
      ->check(Checked(ParseModelChoice))
      ->type_name("NAME[@VERSION]");
}

void AddTransport(CLI::App& app, Common& common) {
  app.add_option("--resolution", common.resolution, "size to bring pictures to, where the model takes any")
      ->check(Checked(ParseResolution))
      ->type_name("HxW");
  app.add_option("--deadline", common.deadline, "time for one picture")
      ->check(Checked(ParseDeadline))
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--priority", common.priority, "order among waiting requests: low, normal, high")
      ->check(OneOf({"low", "normal", "high"}))
      ->type_name("WORD")
      ->capture_default_str();
  app.add_option("--in-flight", common.client.max_in_flight, "most pictures with the server at a time, 1 to 64")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("N")
      ->capture_default_str();
}

void AddAttention(CLI::App& app, Settings& settings) {
  AttentionWish& wish = settings.classify.attention;
  CLI::Option* folder =
      app.add_option("--attention", wish.folder, "draw where the model looked, as PNG and SVG files in DIR")
          ->type_name("DIR");
  app.add_option("--attention-kind", settings.kinds,
                 "on the picture: class, mean, rollout,\nclass-attention, query;\n"
                 "matrices: scores, weights, channels;\na plot: distance;\n"
                 "without it the model's first kind that lies on the picture")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(folder)
      ->check(OneOf(AttentionKindNames()))
      ->type_name("KIND,...");
  app.add_option("--attention-query", settings.query, "the patch whose attention is drawn (kind query), from 0,0")
      ->needs(folder)
      ->check(Checked(ParseQuery))
      ->type_name("ROW,COLUMN");
  app.add_option("--layer", settings.layers,
                 "blocks, counted from 0 or, if negative, from the end\n(without it the last), or all")
      ->needs(folder)
      ->check(Checked(ParseIndices))
      ->type_name("N,...");
  app.add_option("--head", settings.heads, "heads, counted likewise (without it their mean), or all")
      ->needs(folder)
      ->check(Checked(ParseIndices))
      ->type_name("N,...");
  app.add_flag(
         "--sheet", wish.sheet,
         "one file per kind: layers below each other, heads side\nby side; all of them without --layer and --head")
      ->needs(folder);
  app.add_flag("--keep-class-mass", wish.keep_class_mass,
               "distance: attention to the class token counts as 0 pixels\ninstead of being left out")
      ->needs(folder);
}

CLI::App* AddClassify(CLI::App& app, Settings& settings) {
  CLI::App* classify = app.add_subcommand("classify", "Say what is on pictures.");
  AddPictures(*classify, settings.common);
  classify->add_option("--top-k", settings.classify.top_k, "how many guesses to show; 5 without it")
      ->check(CLI::Range(1, 100000).description(""))
      ->type_name("K");
  AddAttention(*classify, settings);
  AddTransport(*classify, settings.common);
  AddServer(*classify, settings.common);
  classify->footer(kClassifyExamples);
  return classify;
}

CLI::App* AddEmbed(CLI::App& app, Settings& settings) {
  CLI::App* embed = app.add_subcommand("embed", "Write the features of pictures, for retrieval or another model.");
  AddPictures(*embed, settings.common);
  embed
      ->add_option(
          "--output", settings.embed.output,
          "FILE.npy: an array with a row per picture, their paths\nin FILE.txt; else a folder for a file per picture")
      ->type_name("PATH");
  embed
      ->add_option("--kind", settings.feature,
                   "class: the class token; mean: the mean of the patches;\npatches: every patch on its grid;\n"
                   "without it the model's first of class and mean")
      ->check(OneOf(FeatureKindNames()))
      ->type_name("KIND");
  AddTransport(*embed, settings.common);
  AddServer(*embed, settings.common);
  embed->footer(kEmbedExamples);
  return embed;
}

// What classify and embed have in common.
template <typename Command>
void TakeCommon(const Common& common, Command& command) {
  command.client = common.client;
  command.paths = common.paths;
  if (!common.model.empty()) command.model = *ParseModelChoice(common.model);
  if (!common.resolution.empty()) command.resolution = *ParseResolution(common.resolution);
  command.format = common.format == "json" ? Format::kJson : Format::kTable;
  command.priority = common.priority == "low" ? v1::LOW : common.priority == "high" ? v1::HIGH : v1::NORMAL;
}

// The checks have seen every text, so parsing cannot fail here.
void TakeParsed(Settings& settings) {
  settings.common.client.deadline = *ParseDeadline(settings.common.deadline);
  settings.common.client.connect_timeout = *ParseDeadline(settings.common.connect_timeout);
  TakeCommon(settings.common, settings.classify);
  TakeCommon(settings.common, settings.embed);
  AttentionWish& wish = settings.classify.attention;
  for (const std::string& kind : settings.kinds) wish.kinds.push_back(*AttentionKindOf(kind));
  if (!settings.layers.empty()) wish.layers = *ParseIndices(settings.layers);
  if (!settings.heads.empty()) wish.heads = *ParseIndices(settings.heads);
  if (!settings.query.empty()) wish.query = *ParseQuery(settings.query);
  if (!settings.feature.empty()) settings.embed.kind = *FeatureKindOf(settings.feature);
}

int FailWithHint(const absl::Status& status, const std::string& address) {
  const bool unreachable = absl::IsUnavailable(status) && status.message().find(address) != std::string_view::npos;
  if (!unreachable) return Fail("vitrine", status);
  return Fail("vitrine", absl::UnavailableError(std::string(status.message()) +
                                                "; start vitrine-server there or name another with --server"));
}

int Main(int argc, char** argv) {
  CLI::App app("Asks a Vitrine server what is on pictures.", "vitrine");
  app.require_subcommand(1);
  app.formatter(std::make_shared<ShortHelp>());
  app.footer(kExamples);
  Settings settings;
  const CLI::App* classify = AddClassify(app, settings);
  AddEmbed(app, settings);
  CLI::App* models = app.add_subcommand("models", "List the server's models and versions.");
  AddServer(*models, settings.common);
  models->footer(kModelsExamples);
  if (const std::optional<int> exit = ParseCommandLine(app, argc, argv)) return *exit;
  TakeParsed(settings);

  const std::string& address = settings.common.client.address;
  const Page page = PageBehind(STDOUT_FILENO);
  if (models->parsed()) {
    const absl::Status status = RunModels(settings.common.client, settings.classify.format, page, std::cout);
    return status.ok() ? kExitSuccess : FailWithHint(status, address);
  }
  const absl::StatusOr<int> failed = classify->parsed() ? RunClassify(settings.classify, page, std::cout, std::cerr)
                                                        : RunEmbed(settings.embed, std::cout, std::cerr);
  if (!failed.ok()) return FailWithHint(failed.status(), address);
  return *failed == 0 ? kExitSuccess : kExitFailure;
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
