// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_result.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace vitrine {

absl::Status WriteRunResult(const std::filesystem::path& work_dir, const v1::Recipe& recipe, const TrainResult& result,
                            const Score& test) {
  const RunPosition& position = result.position;
  nlohmann::ordered_json json = {{"recipe", recipe.name()},
                                 {"finished", result.finished},
                                 {"epochs", result.epochs},
                                 {"steps", position.step},
                                 {"samples", position.samples},
                                 {"seconds", position.seconds},
                                 {"parameters", result.model->CountParameters()},
                                 {"model", result.is_best ? "best" : "last"}};
  for (const Measure& measure : test.measures) json["scores"][absl::StrCat("test/", measure.name)] = measure.value;
  if (result.epoch_samples > 0) {
    json["train"]["loss"] = position.loss_sum / static_cast<double>(result.epoch_samples);
  }
  if (position.predictions > 0) {
    json["train"]["accuracy"] = static_cast<double>(position.correct) / static_cast<double>(position.predictions);
  }
  const std::filesystem::path file = work_dir / "result.json", temporary = work_dir / "result.json.new";
  {
    std::ofstream out(temporary, std::ios::trunc);
    out << json.dump(2) << "\n";
    if (!out.flush()) return absl::FailedPreconditionError(absl::StrCat(temporary.string(), " cannot be written"));
  }
  std::error_code error;
  std::filesystem::rename(temporary, file, error);
  if (error) return absl::FailedPreconditionError(absl::StrCat(file.string(), ": ", error.message()));
  return absl::OkStatus();
}

}  // namespace vitrine
