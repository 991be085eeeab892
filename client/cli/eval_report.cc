// SPDX-License-Identifier: Apache-2.0
// Report of `vitrine eval`.
#include <iostream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/eval.h"
#include "client/cli/options.h"
#include "client/commands/output/text.h"
#include "client/eval/data.h"
#include "client/eval/page/page.h"
#include "common/charts/html/data_table.h"

namespace vitrine {

void AddReportFlags(CLI::App& eval, ReportOptions& flags) {
  eval.add_option("--mistakes", flags.mistakes, "number of most confident mistakes in report.html")
      ->check(CLI::Range(0, 200).description(""))
      ->type_name("N")
      ->capture_default_str();
  eval.add_option("--attention-distance", flags.attention_distance,
                  "also measure attention distances over N images, evenly\nspread")
      ->check(CLI::Range(1, 1000000).description(""))
      ->type_name("N");
}

bool Report(const Evaluation& evaluation, const ReportOptions& flags, const ReportTask& task) {
  std::unique_ptr<Client> client;
  if (task.ask && task.command != nullptr) {
    absl::StatusOr<std::unique_ptr<Client>> connected = Client::Connect(task.command->client);
    if (connected.ok()) client = *std::move(connected);
  }
  const absl::StatusOr<std::unique_ptr<Dataset>> data = OpenEvaluationData(evaluation.data, evaluation.settings.split);
  ImageSource source{.data = data.ok() ? data->get() : nullptr, .client = client.get(), .stop = task.stop};
  const absl::Time begun = absl::Now();
  source.progress = [&](const std::string& what, int64_t done, int64_t all) {
    // Shows no progress in the first second.
    if (task.progress == nullptr || absl::Now() - begun < absl::Seconds(1)) return;
    const std::string text = absl::StrCat("report: ", what, ", ", WithSeparators(done), " of ", WithSeparators(all));
    task.progress->Update(static_cast<double>(done) / static_cast<double>(all), text, absl::Now());
  };
  const absl::StatusOr<std::string> unmeasured = WriteReport(task.folder, evaluation, source, flags, task.command);
  if (task.progress != nullptr) task.progress->Finish();
  if (!unmeasured.ok()) {
    std::cerr << "vitrine: cannot write the report: " << Printable(std::string(unmeasured.status().message())) << "\n";
  } else if (!unmeasured->empty()) {
    std::cerr << "vitrine: no attention distances: " << Printable(*unmeasured) << "\n";
  }
  return unmeasured.ok();
}

}  // namespace vitrine
