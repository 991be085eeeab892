// SPDX-License-Identifier: Apache-2.0
// `vitrine eval compare A B`.
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "client/eval/compare.h"
#include "client/eval/compare_page.h"
#include "client/eval/data.h"
#include "client/files.h"
#include "programs/client_eval.h"
#include "programs/client_options.h"
#include "programs/command_line.h"

namespace vitrine {
namespace {

constexpr char kEvalCompareExamples[] = R"(Examples:
  Two versions of a model on one data set:
    vitrine eval --models eit@1,eit@2 --data cifar:DIR --out both/
    vitrine eval compare both/eit@1-own both/eit@2-own --out compared.html
  Two runs:
    vitrine eval compare one/ two/ --out compared.html
  The pictures that became wrong:
    vitrine eval compare one/ two/ --format json | jq -r '.right_to_wrong[].name')";

struct CompareFlags {
  std::string first, second;
  std::string out;  // file of the page; may be empty
  std::string format = "table";
};

OutputFormat FormatOf(const std::string& word) {
  return word == "json" ? OutputFormat::kJson : word == "csv" ? OutputFormat::kCsv : OutputFormat::kTable;
}

// An --out folder; says what to do with a model that somebody gives instead.
absl::StatusOr<Evaluation> ReadGiven(const std::string& given) {
  absl::StatusOr<Evaluation> evaluation = ReadEvaluation(given);
  if (!absl::IsNotFound(evaluation.status()) || std::filesystem::exists(given) || !ParseModelChoice(given).ok()) {
    return evaluation;
  }
  return absl::NotFoundError(absl::StrCat("there is no folder ", given,
                                          "; a model is evaluated first: vitrine eval --model ", given,
                                          " --data FORMAT:PATH --out DIR, then compare DIR"));
}

int RunCompare(const CompareFlags& flags) {
  const absl::StatusOr<Evaluation> first = ReadGiven(flags.first);
  if (!first.ok()) return Fail("vitrine", first.status());
  const absl::StatusOr<Evaluation> second = ReadGiven(flags.second);
  if (!second.ok()) return Fail("vitrine", second.status());
  const auto comparison = Compare(*first, *second);
  if (!comparison.ok()) return Fail("vitrine", comparison.status());
  std::cout << PrintComparison(**comparison, FormatOf(flags.format)) << std::flush;
  if (flags.out.empty()) return kExitSuccess;
  const auto data = OpenEvaluationData(first->data, first->settings.split);
  const std::string page = DrawComparison(**comparison, data.ok() ? data->get() : nullptr);
  const absl::Status written = WriteFile(flags.out, page);
  return written.ok() ? kExitSuccess : Fail("vitrine", written);
}

}  // namespace

ClientCommand AddEvalCompare(CLI::App& eval) {
  auto flags = std::make_shared<CompareFlags>();
  CLI::App* compare = eval.add_subcommand("compare", "Put two evaluations side by side, picture by picture.");
  compare->add_option("FIRST", flags->first, "an --out folder of vitrine eval")->required()->type_name("");
  compare->add_option("SECOND", flags->second, "another, of the same data")->required()->type_name("");
  compare->add_option("--out", flags->out, "also write an HTML page with the pictures that flipped")->type_name("FILE");
  compare->add_option("--format", flags->format, "table for people; json: everything; csv: the measures")
      ->check(OneOf({"table", "json", "csv"}))
      ->type_name("FORMAT")
      ->capture_default_str();
  compare->footer(kEvalCompareExamples);
  return {compare, [flags] { return RunCompare(*flags); }};
}

}  // namespace vitrine
