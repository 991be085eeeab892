// What `vitrine eval` writes beyond its numbers.
#include <iostream>
#include <memory>

#include "client/eval/data.h"
#include "client/eval/page.h"
#include "client/text.h"
#include "programs/client_eval.h"
#include "programs/client_options.h"

namespace vitrine {

void AddReportFlags(CLI::App& eval, ReportFlags& flags) {
  eval.add_option("--mistakes", flags.mistakes, "how many of the surest mistakes report.html shows")
      ->check(CLI::Range(0, 200).description(""))
      ->type_name("N")
      ->capture_default_str();
  eval.add_option("--attention-distance", flags.attention_distance,
                  "also measure how far heads look, over N pictures that\nare spread over the set")
      ->check(CLI::Range(1, 1000000).description(""))
      ->type_name("N");
}

void Report(const EvalCommand& command, const Evaluation& evaluation, const ReportFlags& flags, bool ask) {
  std::unique_ptr<Client> client;
  if (ask) {
    absl::StatusOr<std::unique_ptr<Client>> connected = Client::Connect(command.client);
    if (connected.ok()) client = *std::move(connected);
  }
  const absl::StatusOr<std::unique_ptr<Dataset>> data = OpenEvaluationData(evaluation.data, evaluation.settings.split);
  const PictureSource source{.data = data.ok() ? data->get() : nullptr, .client = client.get()};
  const ReportWish wish{.mistakes = flags.mistakes, .attention_distance = flags.attention_distance};
  const absl::Status status = WriteReport(command.out, evaluation, source, wish);
  if (!status.ok()) std::cerr << "vitrine: no report: " << Printable(std::string(status.message())) << "\n";
}

}  // namespace vitrine
