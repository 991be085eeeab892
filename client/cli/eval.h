// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_CLI_EVAL_H_
#define VITRINE_CLIENT_CLI_EVAL_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/command.h"
#include "client/commands/classify_command.h"
#include "client/eval/calibrate.h"
#include "client/eval/page/page.h"
#include "client/eval/run/run.h"

namespace vitrine {

// Parts of `vitrine eval`. Each part has its own file, and eval.cc combines them.

// Adds --mistakes N and --attention-distance N. `flags` must outlive the parsing.
void AddReportFlags(CLI::App& eval, ReportOptions& flags);
// Inputs of a report other than the evaluation.
struct ReportTask {
  std::string folder;
  const EvalCommand* command = nullptr;  // command that made the evaluation; null if it was merged from shards
  bool ask = false;                      // true: request attention from the server
  ProgressDisplay* progress = nullptr;
  const std::atomic<bool>* stop = nullptr;
};
// Writes report.html into the folder, and attention_distance.json if requested. If the server or the data set cannot
// supply the content of a part, the page lists this part as missing. Returns false, with the reason on stderr, if the
// page could not be written or `*task.stop` became true during the call.
bool Report(const Evaluation& evaluation, const ReportOptions& flags, const ReportTask& task);

// Flags for fitting a calibration to the evaluation.
struct CalibrateFlags {
  bool wanted = false;
  double sure_accuracy = 0.95;
};
// Adds --calibrate and --sure-accuracy. `flags` must outlive the parsing.
void AddCalibrateFlags(CLI::App& eval, CalibrateFlags& flags);
// Fits the calibration and writes calibration.json into the folder. Returns the errors of Calibrate and ReplaceFile.
absl::StatusOr<FittedCalibration> FitAndWrite(const Evaluation& evaluation, const CalibrateFlags& flags,
                                              const std::string& folder);

// Flags that select several models or sizes.
struct StudyFlags {
  std::vector<std::string> models = {};       // NAME[@VERSION]
  std::vector<std::string> resolutions = {};  // SIDE or HxW
  bool wanted() const { return !models.empty() || !resolutions.empty(); }
};
// Adds --models A,B and --resolutions 160,HxW. `flags` must outlive the parsing.
void AddStudyFlags(CLI::App& eval, StudyFlags& flags);
// Throws CLI::ValidationError if a model or a size is repeated.
void CheckStudyFlags(const StudyFlags& flags);
// Evaluates each cell of the study (a model at a resolution) and writes its report. Then writes the study into
// command.out, and its table to stdout. Returns an exit code of common/command_line/command_line.h.
int EvaluateStudy(const EvalCommand& command, const StudyFlags& study, const ReportOptions& report, Format format,
                  ProgressDisplay& progress, const std::atomic<bool>* stop);

// Adds `vitrine eval compare A B`.
ClientCommand AddEvalCompare(CLI::App& eval);

}  // namespace vitrine

#endif  // VITRINE_CLIENT_CLI_EVAL_H_
