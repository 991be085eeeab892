// SPDX-License-Identifier: Apache-2.0
// Flags of `vitrine eval compare A B`, and the command.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/eval.h"
#include "client/cli/options.h"
#include "client/commands/output/text.h"
#include "client/eval/compare/compare.h"
#include "client/eval/compare/compare_page.h"
#include "client/eval/compare/compare_print.h"
#include "client/eval/data.h"
#include "common/command_line/command_line.h"
#include "common/file/write.h"

namespace vitrine {
namespace {

constexpr char kEvalCompareExamples[] = R"(Examples:
  Two versions of a model on one data set:
    vitrine eval --models eit@1,eit@2 --data cifar:DIR --out both/
    vitrine eval compare both/eit@1-own both/eit@2-own --out compared.html
  Two runs:
    vitrine eval compare one/ two/ --out compared.html
  The images that became wrong:
    vitrine eval compare one/ two/ --format json | jq -r '.right_to_wrong[].name'
  Three candidates against the current model, in CI:
    vitrine eval compare now/ a/ b/ c/ --fail-if-worse

Each SECOND is compared with FIRST. With several, the p-values are corrected by Holm's method.

Exit code: 0 on success; 1 if nothing could be compared or, with --fail-if-worse, if McNemar's test shows at 0.05 that a
SECOND is less accurate than FIRST; 2 for a wrong command line.)";

struct CompareFlags {
  std::string first;
  std::vector<std::string> others;
  std::string out;  // file of the page; may be empty
  bool fail_if_worse = false;
  std::string format = "table";
};

OutputFormat FormatOf(const std::string& word) {
  return word == "json" ? OutputFormat::kJson : word == "csv" ? OutputFormat::kCsv : OutputFormat::kTable;
}

// Reads the evaluation in the --out folder `given`. If there is no such folder and `given` may be the name of a model
// (it has no slash), the error says how to evaluate the model first.
absl::StatusOr<Evaluation> ReadGiven(const std::string& given) {
  absl::StatusOr<Evaluation> evaluation = ReadEvaluation(given);
  if (!absl::IsNotFound(evaluation.status()) || std::filesystem::exists(given) || absl::StrContains(given, '/') ||
      !ParseModelChoice(given).ok()) {
    return evaluation;
  }
  return absl::NotFoundError(absl::StrCat("there is no folder ", given,
                                          "; to compare a model, evaluate it first: vitrine eval --model ", given,
                                          " --data FORMAT:PATH --out DIR, then compare DIR"));
}

absl::Status WritePage(const CompareFlags& flags, const Comparisons& comparisons) {
  if (flags.out.empty()) return absl::OkStatus();
  if (comparisons.size() > 1) return WriteFile(flags.out, DrawComparisons(comparisons));
  const Evaluation& first = comparisons.front()->first;
  const auto data = OpenEvaluationData(first.data, first.settings.split);
  return WriteFile(flags.out, DrawComparison(*comparisons.front(), data.ok() ? data->get() : nullptr));
}

int RunCompare(const CompareFlags& flags) {
  const absl::StatusOr<Evaluation> first = ReadGiven(flags.first);
  if (!first.ok()) return Fail("vitrine", first.status());
  std::vector<Evaluation> others;
  for (const std::string& folder : flags.others) {
    absl::StatusOr<Evaluation> other = ReadGiven(folder);
    if (!other.ok()) return Fail("vitrine", other.status());
    others.push_back(*std::move(other));
  }
  const absl::StatusOr<Comparisons> all = CompareAll(*first, others);
  if (!all.ok()) return Fail("vitrine", all.status());
  std::cout << PrintComparisons(*all, FormatOf(flags.format), flags.fail_if_worse) << std::flush;
  const absl::Status written = WritePage(flags, *all);
  int exit = written.ok() ? kExitSuccess : Fail("vitrine", written);
  for (const std::unique_ptr<Comparison>& comparison : *all) {
    if (!flags.fail_if_worse || !IsWorse(*comparison)) continue;
    exit = Fail("vitrine", absl::FailedPreconditionError(Printable(WorseInWords(*comparison))));
  }
  return exit;
}

}  // namespace

ClientCommand AddEvalCompare(CLI::App& eval) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* compare = eval.add_subcommand("compare", "Compare evaluations, image by image.");
  compare->add_option("FIRST", flags->first, "an --out folder of vitrine eval")->required()->type_name("");
  compare->add_option("SECOND", flags->others, "--out folders of other evaluations of the same data")
      ->required()
      ->type_name("");
  compare->add_option("--out", flags->out, "also write an HTML page; for two folders it shows the images\nthat differ")
      ->type_name("FILE");
  compare->add_flag("--fail-if-worse", flags->fail_if_worse,
                    "exit code 1 if a SECOND is significantly less accurate than\nFIRST, the baseline");
  compare->add_option("--format", flags->format, "table; json: all results; csv: the measures")
      ->check(OneOf({"table", "json", "csv"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  compare->footer(kEvalCompareExamples);
  return {compare, [flags] { return RunCompare(*flags); }};
}

}  // namespace vitrine
