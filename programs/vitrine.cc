// vitrine: asks a vitrine-server. Flags and wiring; the commands are in client/.
#include <unistd.h>

#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/classify_command.h"
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

The server's address is --server, else $VITRINE_SERVER, else 127.0.0.1:8500.)";

constexpr char kClassifyExamples[] = R"(Examples:
  Every picture of a folder, five guesses each:
    vitrine classify samples/ --model eit-mini-cifar10
  Where the model looked, drawn over each picture (out/cat.mean.layer7.png):
    vitrine classify cat.jpg --model eit-mini-cifar10 --attention out/
  Two heads of the first and the last block:
    vitrine classify cat.jpg --attention out/ --layer 0,-1 --head 0,1
  One JSON object a line, for jq:
    vitrine classify samples/ --format json | jq -r '[.image, .predictions[0].label] | @tsv'

Exit code: 0 if every picture was classified, 1 if one was not (stderr names it), 2 for a wrong command line.)";

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

struct Settings {
  ClassifyCommand classify;
  std::string model, resolution, deadline = "30s", connect_timeout = "5s", format = "table", priority = "normal";
  std::vector<std::string> kinds;
};

void AddServer(CLI::App& app, Settings& settings) {
  app.add_option("--server", settings.classify.client.address, "host:port of the server; also $VITRINE_SERVER")
      ->envname("VITRINE_SERVER")
      ->type_name("ADDRESS")
      ->capture_default_str();
  app.add_option("--connect-timeout", settings.connect_timeout, "how long to wait for the connection")
      ->check(Checked(ParseDeadline))
      ->type_name("TIME")
      ->capture_default_str();
  app.add_option("--format", settings.format, "table for people, json for programs: an object a line")
      ->check(OneOf({"table", "json"}))
      ->type_name("FORMAT")
      ->capture_default_str();
}

void AddAttention(CLI::App& app, Settings& settings) {
  ClassifyCommand& command = settings.classify;
  CLI::Option* folder =
      app.add_option("--attention", command.attention_folder, "draw where the model looked, as PNG files in DIR")
          ->type_name("DIR");
  const auto list = [folder](CLI::Option* option) {
    return option->delimiter(',')->allow_extra_args(false)->needs(folder);
  };
  list(app.add_option("--attention-kind", settings.kinds,
                      "on the picture: class, mean, rollout;\n"
                      "token by token: scores, weights;\n"
                      "without it the model's first kind that lies on the picture"))
      ->check(OneOf(AttentionKindNames()))
      ->type_name("KIND,...");
  list(app.add_option("--layer", command.layers, "blocks, counted from 0 or, if negative, from the end (-1)"))
      ->type_name("N,...");
  list(app.add_option("--head", command.heads, "heads, counted from 0 (without it their mean)"))->type_name("N,...");
}

CLI::App* AddClassify(CLI::App& app, Settings& settings) {
  ClassifyCommand& command = settings.classify;
  CLI::App* classify = app.add_subcommand("classify", "Say what is on pictures.");
  classify->add_option("IMAGE", command.paths, "JPEG or PNG files, and folders of them")->required()->type_name("");
  classify->add_option("--model", settings.model, "the model to ask; without it the only one that is ready")
      ->check(Checked(ParseModelChoice))
      ->type_name("NAME[@VERSION]");
  classify->add_option("--top-k", command.top_k, "how many guesses to show; 5 without it")
      ->check(CLI::Range(1, 100000).description(""))
      ->type_name("K");
  AddAttention(*classify, settings);
  classify->add_option("--resolution", settings.resolution, "size to bring pictures to, where the model takes any")
      ->check(Checked(ParseResolution))
      ->type_name("HxW");
  classify->add_option("--deadline", settings.deadline, "time for one picture")
      ->check(Checked(ParseDeadline))
      ->type_name("TIME")
      ->capture_default_str();
  classify->add_option("--priority", settings.priority, "order among waiting requests: low, normal, high")
      ->check(OneOf({"low", "normal", "high"}))
      ->type_name("WORD")
      ->capture_default_str();
  classify->add_option("--in-flight", command.client.max_in_flight, "most pictures with the server at a time, 1 to 64")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("N")
      ->capture_default_str();
  AddServer(*classify, settings);
  classify->footer(kClassifyExamples);
  return classify;
}

// The checks have seen every text, so parsing cannot fail here.
void TakeParsed(Settings& settings) {
  ClassifyCommand& command = settings.classify;
  if (!settings.model.empty()) command.model = *ParseModelChoice(settings.model);
  if (!settings.resolution.empty()) command.resolution = *ParseResolution(settings.resolution);
  for (const std::string& kind : settings.kinds) command.kinds.push_back(*AttentionKindOf(kind));
  command.client.deadline = *ParseDeadline(settings.deadline);
  command.client.connect_timeout = *ParseDeadline(settings.connect_timeout);
  command.format = settings.format == "json" ? Format::kJson : Format::kTable;
  command.priority = settings.priority == "low" ? v1::LOW : settings.priority == "high" ? v1::HIGH : v1::NORMAL;
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
  CLI::App* classify = AddClassify(app, settings);
  CLI::App* models = app.add_subcommand("models", "List the server's models and versions.");
  AddServer(*models, settings);
  models->footer(kModelsExamples);
  if (const std::optional<int> exit = ParseCommandLine(app, argc, argv)) return *exit;
  TakeParsed(settings);

  const ClassifyCommand& command = settings.classify;
  const Page page = PageBehind(STDOUT_FILENO);
  if (classify->parsed()) {
    const absl::StatusOr<int> failed = RunClassify(command, page, std::cout, std::cerr);
    if (!failed.ok()) return FailWithHint(failed.status(), command.client.address);
    return *failed == 0 ? kExitSuccess : kExitFailure;
  }
  const absl::Status status = RunModels(command.client, command.format, page, std::cout);
  return status.ok() ? kExitSuccess : FailWithHint(status, command.client.address);
}

}  // namespace
}  // namespace vitrine

int main(int argc, char** argv) {
  return vitrine::Main(argc, argv);
}
