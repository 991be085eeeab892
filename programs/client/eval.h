// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PROGRAMS_CLIENT_EVAL_H_
#define VITRINE_PROGRAMS_CLIENT_EVAL_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/classify_command.h"
#include "client/eval/calibrate.h"
#include "client/eval/run.h"
#include "programs/client/command.h"

namespace vitrine {

// Parts of `vitrine eval` in files of their own. eval.cc puts them together.

// What the report of a run shows beyond its numbers.
struct ReportFlags {
  int mistakes = 24;               // pictures of the surest mistakes
  int64_t attention_distance = 0;  // pictures whose attention distances are averaged; 0: none
};
// --mistakes N, --attention-distance N. `flags` must outlive the parsing.
void AddReportFlags(CLI::App& eval, ReportFlags& flags);
// What a report is written with, beside the evaluation.
struct ReportTask {
  std::string folder;
  const EvalCommand* command = nullptr;  // that made the evaluation; null: it was put together from others
  bool ask = false;                      // the server, for attention
  ProgressDisplay* progress = nullptr;
  const std::atomic<bool>* stop = nullptr;
};
// Writes report.html into the folder, and attention_distance.json where that was wanted. What the server or the data
// cannot give any more is said on the page. False: it could not be written, or was stopped, which stderr says.
bool Report(const Evaluation& evaluation, const ReportFlags& flags, const ReportTask& task);

// Whether and how a calibration is fitted to the evaluation.
struct CalibrateFlags {
  bool wanted = false;
  double sure_accuracy = 0.95;
};
// --calibrate, --sure-accuracy. `flags` must outlive the parsing.
void AddCalibrateFlags(CLI::App& eval, CalibrateFlags& flags);
// Fits it and writes calibration.json into the folder. Errors of Calibrate and ReplaceFile.
absl::StatusOr<FittedCalibration> FitAndWrite(const Evaluation& evaluation, const CalibrateFlags& flags,
                                              const std::string& folder);

// Several models or sizes instead of one.
struct StudyFlags {
  std::vector<std::string> models = {};       // NAME[@VERSION]
  std::vector<std::string> resolutions = {};  // SIDE or HxW
  bool wanted() const { return !models.empty() || !resolutions.empty(); }
};
// --models A,B and --resolutions 160,HxW. `flags` must outlive the parsing.
void AddStudyFlags(CLI::App& eval, StudyFlags& flags);
// Throws CLI::ValidationError where a model or a size is there twice.
void CheckStudyFlags(const StudyFlags& flags);
// Runs every cell of the study with its report, writes the study into command.out and its table to stdout. Returns an
// exit code of base/command_line/command_line.h.
int EvaluateStudy(const EvalCommand& command, const StudyFlags& study, const ReportFlags& report, Format format,
                  ProgressDisplay& progress, const std::atomic<bool>* stop);

// `vitrine eval compare A B`
ClientCommand AddEvalCompare(CLI::App& eval);

}  // namespace vitrine

#endif  // VITRINE_PROGRAMS_CLIENT_EVAL_H_
