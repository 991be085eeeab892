// vitrine: asks a vitrine-server. Flags and wiring; the commands are in client/.
#include <unistd.h>

#include <iostream>
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

// A check that turns a parser's status into CLI11's way of saying "wrong".
template <typename Parse>
CLI::Validator Checked(Parse parse, const char* name) {
  return CLI::Validator(
      [parse](std::string& text) {
        const auto parsed = parse(text);
        return parsed.ok() ? std::string() : std::string(parsed.status().message());
      },
      name);
}

absl::StatusOr<absl::Duration> ParseDeadline(const std::string& text) {
  absl::Duration duration;
  if (absl::ParseDuration(text, &duration) && duration > absl::ZeroDuration()) return duration;
  return absl::InvalidArgumentError("\"" + text + "\" is no duration; give one with its unit, as in 500ms, 30s or 2m");
}

struct Settings {
  ClassifyCommand classify;
  std::string model, resolution, deadline = "30s", connect_timeout = "5s";
  std::vector<std::string> kinds;
};

void AddServer(CLI::App& app, Settings& settings) {
  app.add_option("--server", settings.classify.client.address, "host:port of the server")
      ->envname("VITRINE_SERVER")
      ->capture_default_str();
  app.add_option("--connect-timeout", settings.connect_timeout, "how long to wait for the connection")
      ->check(Checked(ParseDeadline, "DURATION"))
      ->capture_default_str();
  app.add_option("--format", settings.classify.format, "table for people, json for programs: an object a line")
      ->transform(CLI::CheckedTransformer(
          std::vector<std::pair<std::string, Format>>{{"table", Format::kTable}, {"json", Format::kJson}}))
      ->default_str("table")
      ->type_name("table|json");
}

void AddAttention(CLI::App& app, Settings& settings) {
  ClassifyCommand& command = settings.classify;
  CLI::Option* folder = app.add_option("--attention", command.attention_folder,
                                       "draw where the model looked, as PNG files in this folder")
                            ->type_name("DIR");
  app.add_option("--attention-kind", settings.kinds,
                 "class, mean, rollout (on the picture), scores, weights (token by token); default: the first of the "
                 "model's kinds that lies on the picture")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(AttentionKindNames()))
      ->needs(folder)
      ->type_name("KIND,...");
  app.add_option("--layer", command.layers, "blocks, counted from 0; negative counts from the end (default -1)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(folder)
      ->type_name("N,...");
  app.add_option("--head", command.heads, "heads, counted from 0 (default: their mean)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(folder)
      ->type_name("N,...");
}

CLI::App* AddClassify(CLI::App& app, Settings& settings) {
  ClassifyCommand& command = settings.classify;
  CLI::App* classify = app.add_subcommand("classify", "say what is on pictures");
  classify->add_option("IMAGE", command.paths, "JPEG or PNG files, and folders of them")->required();
  classify->add_option("--model", settings.model, "model to ask (default: the only one, if there is one)")
      ->check(Checked(ParseModelChoice, "NAME[@VERSION]"));
  classify->add_option("--top-k", command.top_k, "how many guesses to show (default 5)")
      ->check(CLI::PositiveNumber)
      ->type_name("K");
  AddAttention(*classify, settings);
  classify->add_option("--resolution", settings.resolution, "size to bring pictures to, for native-resolution models")
      ->check(Checked(ParseResolution, "HxW"));
  classify->add_option("--deadline", settings.deadline, "time for one picture")
      ->check(Checked(ParseDeadline, "DURATION"))
      ->capture_default_str();
  classify->add_option("--priority", command.priority, "order among waiting requests")
      ->transform(CLI::CheckedTransformer(std::vector<std::pair<std::string, v1::Priority>>{
          {"low", v1::LOW}, {"normal", v1::NORMAL}, {"high", v1::HIGH}}))
      ->default_str("normal")
      ->type_name("low|normal|high");
  classify->add_option("--in-flight", command.client.max_in_flight, "most pictures with the server at a time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  AddServer(*classify, settings);
  classify->footer(kClassifyExamples);
  return classify;
}

// The validators have seen every text, so parsing cannot fail here.
void TakeParsed(Settings& settings) {
  ClassifyCommand& command = settings.classify;
  if (!settings.model.empty()) command.model = *ParseModelChoice(settings.model);
  if (!settings.resolution.empty()) command.resolution = *ParseResolution(settings.resolution);
  for (const std::string& kind : settings.kinds) command.kinds.push_back(*AttentionKindOf(kind));
  command.client.deadline = *ParseDeadline(settings.deadline);
  command.client.connect_timeout = *ParseDeadline(settings.connect_timeout);
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
  app.footer(kExamples);
  Settings settings;
  CLI::App* classify = AddClassify(app, settings);
  CLI::App* models = app.add_subcommand("models", "list the server's models");
  AddServer(*models, settings);
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
