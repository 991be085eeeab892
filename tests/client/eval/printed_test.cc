// SPDX-License-Identifier: Apache-2.0
// Compares stored texts with the pages, texts and files that are made from constructed evaluations.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "client/eval/compare/compare.h"
#include "client/eval/compare/compare_page.h"
#include "client/eval/compare/compare_print.h"
#include "client/eval/compare/study.h"
#include "client/eval/evaluation.h"
#include "client/eval/metrics.h"
#include "client/eval/page/page.h"
#include "client/eval/summary.h"
#include "tests/client/eval/made_evaluation.h"
#include "tests/scratch_folder.h"
#include "tests/stored_text.h"

namespace vitrine {
namespace {

// Returns an evaluation of sixty images of three classes in two sessions with a pause between them. Some answers are
// wrong or missing. `shift` simulates another model on the same images.
Evaluation MadeSixty(int shift = 0) {
  std::vector<MadeImage> images;
  for (int i = 0; i < 60; ++i) {
    const int label = i % 3;
    const int best = (i + shift) % 4 == 0 ? (label + 1) % 3 : label;
    const float confidence = 0.4f + 0.01f * static_cast<float>((7 * i + shift) % 58);
    images.push_back({label, {{best, confidence}, {(best + 1) % 3, 1 - confidence}}});
  }
  Evaluation made = MadeEvaluation(images);
  for (Prediction& prediction : made.predictions) {
    const double scale = 1 + 0.1 * static_cast<double>(prediction.index % 11) + 0.01 * shift;
    for (double Stages::*stage :
         {&Stages::queue, &Stages::decode, &Stages::compute, &Stages::encode, &Stages::server, &Stages::client}) {
      prediction.seconds.*stage *= scale;
    }
    const float best = prediction.guesses.front().probability, other = (1 - best) / 2;
    prediction.likelihood =
        Likelihood{.right = prediction.correct() ? best : other, .squares = best * best + 2 * other * other};
    if (prediction.index % 10 == 3) prediction.attempts = 3;
    if (prediction.index >= 30) prediction.served_by = "bf16 cuda";
  }
  const auto lose = [&](size_t index, Outcome outcome, absl::StatusCode code, const char* reason) {
    Prediction& prediction = made.predictions[index];
    prediction.outcome = outcome;
    prediction.code = code;
    prediction.reason = reason;
    prediction.guesses.clear();
  };
  lose(5, Outcome::kRefused, absl::StatusCode::kResourceExhausted, "the server is full");
  lose(6, Outcome::kRefused, absl::StatusCode::kResourceExhausted, "the server is full");
  lose(17, Outcome::kRefused, absl::StatusCode::kDeadlineExceeded, "too late");
  lose(23, Outcome::kUnreadable, absl::StatusCode::kInvalidArgument, "the image is cut off");
  lose(41, Outcome::kUnlabelled, absl::StatusCode::kOk, "");
  made.predictions[41].label = -1;
  made.expected = 62;
  made.settings.resolution = "32x48";
  made.settings.limit = 62;
  made.settings.data_images = 100;
  made.settings.shard = {2, 3};
  made.sessions = {{.start = 1000, .end = 1030, .server = "here:1", .images = 30},
                   {.start = 1040, .end = 1060, .server = "there:2", .images = 30}};
  made.model.set_parameters(1234567);
  v1::Provenance& provenance = *made.model.mutable_provenance();
  provenance.set_recipe("eit-mini, 3 epochs");
  provenance.set_data("pets");
  provenance.set_seed(7);
  provenance.set_epochs(2.5);
  provenance.set_images_seen(1500);
  provenance.set_hardware("2 cores");
  provenance.set_train_seconds(4000);
  provenance.set_source_revision("abc123");
  provenance.set_created_unix_seconds(1763650000);
  v1::Metric& metric = *provenance.add_metrics();
  metric.set_name("top1");
  metric.set_split("test");
  metric.set_value(0.75);
  metric.set_images(400);
  return made;
}

TEST(Printed, EvaluationTextsEqualTheStoredFiles) {
  const Evaluation made = MadeSixty();
  const EvaluationMetrics metrics = ComputeMetrics(made);
  EvaluationPage page{.evaluation = made, .metrics = metrics};
  page.mistakes = SurestMistakes(made, 5);
  page.looks.fault = "No server was there to ask.";
  page.folder = "out";
  const AttentionDistances distances{.model = "m",
                                     .version = 3,
                                     .layers = 2,
                                     .heads = 2,
                                     .pixels = {1, 2, 3, 4},
                                     .deviation = {0.5, 0.25, 0, 1},
                                     .patches = {0.25, 0.5, 0.75, 1},
                                     .images = 4,
                                     .failed = 1,
                                     .fault = "too late",
                                     .uniform = 5,
                                     .window = 2.5};
  page.distances = &distances;
  ExpectStored("eval_page.txt", Reading(RenderPage(page)));
  ExpectStored("eval_summary.txt", SummaryText(made, metrics, "out"));
  std::string missing;
  for (const std::string& sentence : WhatIsMissing(made, metrics)) missing += sentence + "\n";
  ExpectStored("eval_missing.txt", missing);
}

TEST(Printed, EvaluationDataEqualTheStoredFiles) {
  const ScratchFolder folder;
  ASSERT_TRUE(WriteEvaluation(folder.path().string(), MadeSixty()).ok());
  ExpectStored("eval_summary.json", folder.Read("summary.json"));
  ExpectStored("eval_predictions.csv", folder.Read("predictions.csv"));
  ExpectStored("eval_predictions.jsonl", folder.Read("predictions.jsonl"));
}

TEST(Printed, ComparisonEqualsTheStoredFiles) {
  Evaluation first = MadeSixty(), second = MadeSixty(1);
  second.model.set_version(4);
  second.model.set_weights_sha256(std::string(64, 'c'));
  second.settings.resolution.clear();
  first.predictions.erase(first.predictions.begin());
  const auto comparison = Compare(first, second);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  ExpectStored("comparison_page.txt", Reading(DrawComparison(**comparison, nullptr)));
  ExpectStored("comparison.txt", PrintComparison(**comparison, OutputFormat::kTable));
  ExpectStored("comparison.csv", PrintComparison(**comparison, OutputFormat::kCsv));
  ExpectStored("comparison.json", PrintComparison(**comparison, OutputFormat::kJson));
}

TEST(Printed, SeveralComparisonsEqualTheStoredFiles) {
  const Evaluation first = MadeSixty();
  std::vector<Evaluation> others = {MadeSixty(1), MadeSixty(2)};
  for (Evaluation& other : others) other.model.set_version(4 + (&other - others.data()));
  const auto all = CompareAll(first, others);
  ASSERT_TRUE(all.ok()) << all.status();
  ExpectStored("comparisons_page.txt", Reading(DrawComparisons(*all)));
  ExpectStored("comparisons.txt", PrintComparisons(*all, OutputFormat::kTable));
}

TEST(Printed, StudyEqualsTheStoredFiles) {
  Study study{.data = "imagefolder:pets", .split = "test"};
  for (int i = 0; i < 4; ++i) {
    StudyCell& cell = study.cells.emplace_back();
    cell.model = i < 2 ? "eit" : "kv";
    cell.version = 1 + i / 2;
    cell.resolution = i % 2 == 0 ? "32x32" : "";
    cell.folder = absl::StrCat("cell-", i);
    Evaluation made = MadeSixty(i);
    made.expected = 60;
    if (i == 3) {
      cell.status = absl::InvalidArgumentError("more tokens than the model takes");
    } else {
      cell.metrics = ComputeMetrics(made);
      for (const Prediction& p : made.predictions) {
        if (p.outcome == Outcome::kAnswered) cell.right[p.index] = p.correct();
      }
    }
    if (i > 0) cell.macs = 1e6 * i;
    if (i > 0) cell.tokens = 17.5 * i;
  }
  // Adds two complete cells. The second cell is more accurate and costs more.
  for (const int i : {0, 1}) {
    StudyCell cell = study.cells[1];
    cell.version = 7 + i;
    cell.macs = 3e6 + 1e6 * i;
    cell.metrics.ledger = {.images = 60, .answered = 60};
    cell.metrics.top1 = 0.75 + 0.1 * i;
    study.cells.push_back(cell);
  }
  const ScratchFolder folder;
  ASSERT_TRUE(WriteStudy(folder.path().string(), study).ok());
  ExpectStored("study_page.txt", Reading(folder.Read("study.html")));
  ExpectStored("study.csv", folder.Read("study.csv"));
  ExpectStored("study.json", folder.Read("study.json"));
}

}  // namespace
}  // namespace vitrine
