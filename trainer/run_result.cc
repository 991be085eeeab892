// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_result.h"

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "common/file/replace.h"

namespace vitrine {

absl::Status WriteRunResult(const std::filesystem::path& work_dir, const v1::Recipe& recipe, const TrainResult& result,
                            const std::vector<Score>& scores) {
  const RunPosition& position = result.position;
  nlohmann::ordered_json json = {{"recipe", recipe.name()},
                                 {"finished", result.finished},
                                 {"epochs", result.epochs},
                                 {"steps", position.step},
                                 {"samples", position.samples},
                                 {"seconds", position.seconds},
                                 {"parameters", result.model->CountParameters()},
                                 {"model", result.is_best ? "best" : "last"}};
  for (const Score& score : scores) {
    for (const Measure& measure : score.measures) {
      json["scores"][absl::StrCat(score.split, "/", measure.name)] = measure.value;
    }
  }
  if (position.best && !result.is_best) {
    const Score& last = scores.front();
    json["scores"][absl::StrCat(last.split, "-best/", last.measures.front().name)] = *position.best;
  }
  if (result.epoch_samples > 0) {
    json["train"]["loss"] = position.loss_sum / static_cast<double>(result.epoch_samples);
  }
  if (position.predictions > 0) {
    json["train"]["accuracy"] = static_cast<double>(position.correct) / static_cast<double>(position.predictions);
  }
  return ReplaceFile(work_dir / "result.json", json.dump(2) + "\n");
}

}  // namespace vitrine
