// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine score`.
#include "client/score/score.h"

#include <unistd.h>

#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/command.h"
#include "client/cli/options.h"
#include "client/commands/output/terminal.h"
#include "client/commands/output/text.h"
#include "common/charts/html/data_table.h"
#include "common/command_line/command_line.h"
#include "common/command_line/interrupt.h"
#include "common/drawing/attention_words.h"

namespace vitrine {
namespace {

constexpr char kScoreExamples[] = R"(SOURCE:
  DIR         all images in a folder and its subfolders; without an image, its .tar files
  FILE.tar    tar files, also as a quoted pattern: 'photos-{000..127}.tar', 'photos-*.tar'
  FILE        a list with a path per line, relative to the list's folder; or .csv, .tsv, .jsonl

Examples:
  A row per image in scores/; the same command again continues a run that was stopped or killed:
    vitrine score photos/ --model eit-mini-cifar10 --out scores/
  Without a server, on all cores of this machine:
    vitrine score photos/ --repository models/ --model eit-mini-cifar10 --out scores/
  With the vector of each image:
    vitrine score photos/ --model eit-mini-cifar10 --embeddings class --out scores/
  One of three shards, perhaps each on another machine, and the merge of all:
    vitrine score 'photos-*.tar' --model eit-mini-cifar10@2 --shard 1/3 --out part1/
    vitrine score merge part1/ part2/ part3/ --out scores/
  The rows that are unsure, and the failed ones:
    jq -c 'select(.unsure)' scores/chunk-*.jsonl
    jq -r 'select(.error) | [.image, .error] | @tsv' scores/chunk-*.jsonl

--out has index.json and files for every --chunk images: .jsonl with a row per image, and the numbers as .npy.

Exit code: 0 if every image has predictions, 1 if not (stderr has the number), 2 for a wrong command line, 130 after
Ctrl-C, 143 after SIGTERM.)";

// Prints the counts on stdout, and the number of failed images on stderr. Returns the exit code.
int Conclude(const ScoreIndex& index, const std::string& folder) {
  const ScoreSettings& settings = index.settings;
  const ScoreCounts counts = CountScores(index);
  std::cout << "model   " << Printable(settings.model) << " version " << settings.version << ", weights "
            << Printable(settings.weights_sha256.substr(0, 12)) << "\n"
            << "rows    " << WithSeparators(counts.rows) << " of " << WithSeparators(counts.expected) << ", "
            << WithSeparators(counts.unsure) << " unsure\n"
            << "files   " << Printable(folder) << ", " << WithSeparators(static_cast<int64_t>(index.chunks.size()))
            << (index.chunks.size() == 1 ? " chunk" : " chunks") << std::endl;
  const int64_t failed = counts.unreadable + counts.refused;
  if (failed == 0) return counts.complete() ? kExitSuccess : kExitFailure;
  std::cerr << "vitrine: " << WithSeparators(failed) << (failed == 1 ? " image has" : " images have")
            << " no predictions: " << WithSeparators(counts.unreadable) << " unreadable, "
            << WithSeparators(counts.refused) << " refused; \"error\" in the rows has the reasons" << std::endl;
  return kExitFailure;
}

int Score(const ScoreCommand& command) {
  EndInOrder();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  const int width = terminal ? PageBehind(STDERR_FILENO).width : 0;
  ProgressDisplay progress(std::cerr, {.is_terminal = terminal, .width = width, .plain_lines = absl::Seconds(10)});
  const absl::StatusOr<ScoreResult> result = RunScore(command, progress, InterruptedFlag());
  progress.Finish();
  if (!result.ok()) {
    const int failed = FailWithHint(result.status(), command.client);
    return Interrupted() ? InterruptedExitCode() : failed;
  }
  const int exit = Conclude(result->index, command.out);
  if (result->stopped.ok()) return exit;
  const int failed =
      Fail("vitrine", absl::Status(result->stopped.code(), absl::StrCat(Printable(result->stopped.message()),
                                                                        "; the same command again continues")));
  return Interrupted() ? InterruptedExitCode() : failed;
}

int Merge(const MergeScoresOptions& options) {
  const absl::StatusOr<ScoreIndex> merged = MergeScores(options);
  if (!merged.ok()) return Fail("vitrine", merged.status());
  return Conclude(*merged, options.out);
}

void AddRun(CLI::App& score, ScoreCommand& command) {
  score
      .add_option_function<std::vector<std::string>>(
          "SOURCE",
          [&command](const std::vector<std::string>& sources) {
            if (sources.size() > 1)
              throw CLI::ValidationError("SOURCE", "give one, and a pattern in quotes: 'photos-*.tar'");
            command.source = sources.front();
          },
          "folder, list or tar files of images (see below)")
      ->type_name("");
  score.add_option("--out", command.out, "folder for the rows; an unfinished run in it is continued")->type_name("DIR");
  score.add_flag("--restart", command.restart, "discard the rows in --out");
  AddShardOption(score, command.shard);
  score
      .add_option(
          "--chunk", command.chunk,
          absl::StrCat("images per chunk, 1 to ", kLargestChunk,
                       "; a run that\ncontinues a killed run repeats the unfinished chunk, and after\n64 or more "
                       "finished chunks at most 1/64 of these"))
      ->check(CLI::Range(int64_t{1}, kLargestChunk).description(""))
      ->type_name("N")
      ->capture_default_str();
  AddDurationOption(score, "--patience", command.patience,
                    "maximum wait for a server that was lost, or for the answer to\none image");
}

void AddLocal(CLI::App& score, LocalChoice& local) {
  CLI::Option* const repository =
      score
          .add_option("--repository", local.repository,
                      "compute in this process with a model of this repository,\nwithout a server")
          ->type_name("DIR");
  score.add_option("--precision", local.precision, "with --repository: fp32, bf16 or int8")
      ->check(OneOf({"fp32", "bf16", "int8"}))
      ->needs(repository)
      ->type_name("WORD")
      ->capture_default_str();
  score.add_option("--threads", local.threads, "with --repository: threads; default: one per core")
      ->check(CLI::Range(1, 1024).description(""))
      ->needs(repository)
      ->type_name("N");
}

void AddRows(CLI::App& score, ScoreCommand& command) {
  score.add_option("--top-k", command.top_k, "predictions per image")
      ->check(CLI::Range(1, 100000).description(""))
      ->type_name("K")
      ->capture_default_str();
  score
      .add_option_function<std::string>(
          "--embeddings", [&command](const std::string& name) { command.embeddings = *FeatureKindOf(name); },
          "also write a feature vector per image. class: class token;\nmean: mean of the patches; projection: CLIP's "
          "image vector;\nregisters: the register tokens, several vectors per image")
      ->check(OneOf({"class", "mean", "projection", "registers"}))
      ->type_name("KIND");
}

// Rejects options that have no effect with --repository, and invalid values of --repository and --model.
void CheckWhere(const CLI::App& score, const ScoreCommand& command) {
  if (score.count("--repository") == 0) return;
  static const std::set<std::string> effective = {"SOURCE",       "--out",        "--restart",   "--chunk",
                                                  "--shard",      "--model",      "--top-k",     "--embeddings",
                                                  "--resolution", "--repository", "--precision", "--threads"};
  CheckEffective(score, effective, "has no effect with --repository, which uses no server");
  const absl::Status wrong = CheckLocalChoice(command.local, command.model);
  if (!wrong.ok()) throw CLI::ValidationError(std::string(wrong.message()), CLI::ExitCodes::ValidationError);
}

ClientCommand AddMerge(CLI::App& score) {
  auto options = std::make_shared<MergeScoresOptions>();
  CLI::App* merge = score.add_subcommand("merge", "Merge the shards of a scoring.");
  merge->add_option("DIR", options->folders, "--out folders of all shards")->required()->type_name("");
  merge->add_option("--out", options->out, "folder for the result")->required()->type_name("DIR");
  merge->footer(
      "Shards of another model, version, source or setting are refused, and so are images that are in two shards or in "
      "none.\nThe chunks become hard links where that is possible, else copies.\n\n"
      "Example:\n  vitrine score merge part1/ part2/ part3/ --out scores/");
  return {merge, [options] { return Merge(*options); }};
}

}  // namespace

ClientCommand AddScore(CLI::App& app) {
  auto command = std::make_shared<ScoreCommand>();
  CLI::App* score = app.add_subcommand("score", "Write the predictions of many images, which need no labels.");
  AddRun(*score, *command);
  AddModelOption(*score, command->model);
  AddRows(*score, *command);
  AddRequestOptions(*score, command->client, command->resolution, command->priority);
  score->get_option("--priority")->default_str("low");
  AddServerOptions(*score, command->client);
  AddLocal(*score, command->local);
  const ClientCommand merge = AddMerge(*score);
  score->footer(kScoreExamples);
  score->callback([score, command] {
    if (!score->get_subcommands().empty()) {
      return CheckEffective(*score, {}, "has no effect with merge; leave it out, or give it after merge");
    }
    if (command->source.empty()) throw CLI::RequiredError("SOURCE");
    if (command->out.empty()) throw CLI::RequiredError("--out");
    CheckWhere(*score, *command);
  });
  return {score, [command, merge] { return merge.app->parsed() ? merge.run() : Score(*command); }};
}

}  // namespace vitrine
