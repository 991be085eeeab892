// SPDX-License-Identifier: Apache-2.0
// `vitrine-train attend`, `generate` and `translate`.
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/command_line/command_line.h"
#include "common/command_line/number_check.h"
#include "common/file/write.h"
#include "common/status_macros.h"
#include "trainer/cli/commands.h"
#include "trainer/inspect/sequence_attention.h"
#include "trainer/inspect/sequence_run.h"
#include "trainer/lab/data/sequences.h"
#include "trainer/loop.h"

namespace vitrine {
namespace {

// Adds the name of the invalid flag or argument to an error, and marks the error as a usage error.
template <typename T>
absl::StatusOr<T> OfFlag(const std::string& flag, absl::StatusOr<T> value) {
  if (value.ok()) return value;
  return WrongCommandLine(absl::Status(value.status().code(), absl::StrCat(flag, ": ", value.status().message())));
}

absl::Status NotOf(const SequenceRun& run, const char* command, const char* needed) {
  return WrongCommandLine(absl::InvalidArgumentError(
      absl::StrCat(command, " needs a run that learned ", needed, ", but this is a run of \"", run.recipe().name(),
                   "\"; `vitrine-train attend` takes every run of sequences")));
}

absl::Status Attend(const InspectFlags& flags, const SequenceRun& run) {
  NamedSequence sequence;
  if (!flags.text) {
    ASSIGN_OR_RETURN(sequence, WrongCommandLine(run.Sample(flags.sample)));
  } else {
    ASSIGN_OR_RETURN(sequence, OfFlag("--text", run.Read(*flags.text)));
    if (run.model().config().has_pair()) RETURN_IF_ERROR(run.Translate(sequence));
  }
  SequenceFigure figure{.scores = flags.scores};
  const MapChoice choice{.layer = flags.layer, .head = flags.head, .scores = flags.scores};
  ASSIGN_OR_RETURN(figure.maps, WrongCommandLine(CollectMaps(run.model(), sequence, choice)));
  const v1::KvConfig::Attention attention = run.model().config().attention();
  const bool offsets = attention == v1::KvConfig::KV_POS;
  figure.title = absl::StrCat(run.recipe().name(), ", ", offsets ? "KV+Pos" : v1::KvConfig::Attention_Name(attention),
                              flags.scores ? ", scores before the softmax" : ", attention weights");
  figure.note = absl::StrCat(run.weights(), ", ", flags.text ? "--text" : absl::StrCat("sample ", flags.sample),
                             "; rows are queries, columns keys",
                             flags.scores && offsets ? "; without the offset of each key of a sequence itself" : "");
  const std::string kind = std::filesystem::path(flags.out).extension().string().substr(1);
  ASSIGN_OR_RETURN(const std::string file, SequenceFigureFile(figure, kind));
  RETURN_IF_ERROR(WriteFile(flags.out, file));
  std::cout << flags.out << std::endl;
  return absl::OkStatus();
}

absl::Status Continue(const InspectFlags& flags, const SequenceRun& run) {
  const v1::LanguageExperiment& language = run.recipe().sequence().language();
  if (!run.recipe().sequence().has_language()) return NotOf(run, "generate", "a language");
  const std::vector<std::string>& vocabulary = run.vocabulary();
  const bool words = language.text() == v1::LanguageExperiment::NUMBER_WORDS;
  // After the default prompt, the model begins a new number (number words) or a new line (data with line ends).
  std::string prompt = words ? "." : std::ranges::binary_search(vocabulary, "\n") ? "\n" : vocabulary.front();
  if (flags.prompt) prompt = *flags.prompt;
  ASSIGN_OR_RETURN(const NamedSequence start, OfFlag("--prompt", run.Read(prompt)));
  if (flags.prompt) std::cout << prompt << (words ? " " : "") << std::flush;
  GenerateOptions options = flags.generate;
  options.context = language.context();
  options.vocabulary = static_cast<int64_t>(vocabulary.size());
  RETURN_IF_ERROR(Generate(run.model(), start.batch, options,
                           [&](int64_t id) { std::cout << vocabulary[id] << (words ? " " : "") << std::flush; }));
  std::cout << std::endl;
  return absl::OkStatus();
}

// Prints the answer to a sequence of digits and, if the answer is wrong, the correct answer.
absl::Status Answer(const SequenceRun& run, const NamedSequence& sequence) {
  const v1::DigitExperiment& experiment = run.recipe().sequence().digits();
  ASSIGN_OR_RETURN(const DigitTask task,
                   ParseDigitTask(absl::AsciiStrToLower(v1::DigitExperiment::Task_Name(experiment.task()))));
  ASSIGN_OR_RETURN(const at::Tensor logits, OfFlag("TEXT", RunSequenceModel(run.model(), sequence.batch)));
  std::vector<int> digits, answer;
  const int64_t length = logits.size(1);
  for (int64_t i = 0; i < length; ++i) {
    digits.push_back(sequence.batch.source[0][i].argmax().item<int>());
    answer.push_back(logits[0][i].argmax().item<int>());
  }
  const std::vector<int> right = TargetOf(task, digits);
  std::cout << absl::StrJoin(digits, "") << " -> " << absl::StrJoin(answer, "");
  std::cout << (answer == right ? "  right" : absl::StrCat("  wrong, expected ", absl::StrJoin(right, "")))
            << std::endl;
  if (length == experiment.length()) return absl::OkStatus();
  std::cerr << kTrainProgram << ": this sequence has " << length << " digits; the model learned from sequences of "
            << experiment.length() << "\n";
  return absl::OkStatus();
}

// Prints the answer to `text`. `where` is the argument or line that holds `text`, for error messages.
absl::Status TranslateOne(const SequenceRun& run, const std::string& text, const std::string& where) {
  ASSIGN_OR_RETURN(NamedSequence sequence, OfFlag(where, run.Read(text)));
  if (run.recipe().sequence().has_digits()) return Answer(run, sequence);
  for (size_t i = 0; i < sequence.source.size(); ++i) {
    if (sequence.batch.source[0][i].item<int64_t>() != WordVocabulary::kUnknown) continue;
    std::cerr << kTrainProgram << ": \"" << sequence.source[i]
              << "\" is not in the run's vocabulary; it is read as <unk>\n";
  }
  RETURN_IF_ERROR(run.Translate(sequence));
  std::cout << absl::StrJoin(sequence.target.begin() + 1, sequence.target.end(), " ") << std::endl;  // without <bos>
  return absl::OkStatus();
}

absl::Status Translate(const InspectFlags& flags, const SequenceRun& run) {
  const v1::SequenceExperiment& sequence = run.recipe().sequence();
  if (!sequence.has_translation() && !sequence.has_digits()) {
    return NotOf(run, "translate", "a translation or digit task");
  }
  for (const std::string& text : flags.texts) RETURN_IF_ERROR(TranslateOne(run, text, "TEXT"));
  int number = 0;
  for (std::string line; flags.texts.empty() && std::getline(std::cin, line);) {
    ++number;
    if (absl::StripAsciiWhitespace(line).empty()) {
      std::cout << std::endl;  // an empty input line gives an empty output line
    } else {
      RETURN_IF_ERROR(TranslateOne(run, line, absl::StrCat("line ", number, " of stdin")));
    }
  }
  return absl::OkStatus();
}

CLI::App& AddCommand(CLI::App& app, InspectFlags& flags, const char* name, const char* description) {
  CLI::App& command = *app.add_subcommand(name, description);
  command.add_option("run", flags.run, "Work folder of a finished or stopped run: its --work")->required();
  command.add_option("--data", flags.data, "The --data of the run; not needed if its recipe generates its data");
  return command;
}

std::string FaultOfOut(const std::string& path) {
  const std::string kind = std::filesystem::path(path).extension();
  return kind == ".svg" || kind == ".png" || kind == ".json" ? ""
                                                             : absl::StrCat(path, " must end in .svg, .png or .json");
}

}  // namespace

void AddInspect(CLI::App& app, InspectFlags& flags) {
  CLI::App& attend = AddCommand(app, flags, "attend", "Draw the attention of a trained model of sequences");
  CLI::Option* text = attend.add_option("--text", flags.text, "Input: digits, a text, or a sentence to translate");
  attend.add_option("--sample", flags.sample, "Input: index of a training sample; default: 0")->excludes(text);
  attend.add_option(
      "--layer", flags.layer,
      "Layer to draw, from 0; default: all. An encoder-decoder has the layers of the source, then those of "
      "the target, then those from the target to the source");
  attend.add_option("--head", flags.head, "Head to draw, from 0, or mean for the mean over heads; default: all heads");
  attend.add_flag("--scores", flags.scores,
                  "Draw the scores before softmax and mask; those of KV within one sequence are symmetric");
  attend.add_option("--out", flags.out, "File to write: .svg, .png or .json")->required()->check(FaultOfOut);
  attend.footer("  vitrine-train attend runs/task-reverse --text 3141592653589793 --scores --out reverse.svg\n");
  CLI::App& generate = AddCommand(app, flags, "generate", "Continue a text with a trained model of a language");
  generate.add_option("--prompt", flags.prompt, "Text to continue; default: a new line, or a new number in words");
  generate.add_option("--tokens", flags.generate.tokens, "Number of characters or words to add; default: 200")
      ->check(PositiveNumber());
  generate
      .add_option("--temperature", flags.generate.temperature,
                  "Divisor of the logits; default: 1. Higher is more varied, 0 takes the most likely token")
      ->check(NumberFrom(0, 1000));
  generate.add_option("--top-k", flags.generate.top_k, "Draw from the K most likely tokens; default: 0, all tokens")
      ->check(CLI::NonNegativeNumber);
  generate.add_option("--seed", flags.generate.seed, "Seed of the draws; default: 0");
  generate.footer("  vitrine-train generate runs/numbers --prompt \"ninety nine .\" --tokens 20 --temperature 0\n");
  CLI::App& translate = AddCommand(app, flags, "translate", "Translate sentences, or solve a digit task");
  translate.add_option("text", flags.texts, "Sentence, or sequence of digits; repeatable; default: lines of stdin");
  translate.footer(
      "  vitrine-train translate runs/translation-de-en \"ein Mann schläft.\" --data parallel:$VITRINE_DATA/multi30k\n"
      "  vitrine-train translate runs/task-sort 3141592653589793\n");
}

bool Inspects(const CLI::App& app) {
  return app.got_subcommand("attend") || app.got_subcommand("generate") || app.got_subcommand("translate");
}

absl::Status Inspect(const CLI::App& app, const InspectFlags& flags) {
  SetComputeThreads(FindMachine().Threads());
  ASSIGN_OR_RETURN(const SequenceRun run, SequenceRun::Open(flags.run, flags.data));
  if (!run.remark().empty()) std::cerr << kTrainProgram << ": " << run.remark() << "\n";
  if (app.got_subcommand("attend")) return Attend(flags, run);
  return app.got_subcommand("generate") ? Continue(flags, run) : Translate(flags, run);
}

}  // namespace vitrine
