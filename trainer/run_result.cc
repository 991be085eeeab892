// SPDX-License-Identifier: Apache-2.0
#include "trainer/run_result.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "common/file/replace.h"
#include "common/simd/chosen_path.h"
#include "common/simd/cpu_description.h"
#include "common/status_macros.h"
#include "trainer/program_digest.h"
#include "trainer/watch/history.h"

namespace vitrine {

absl::Status WriteRunResult(const std::filesystem::path& work_dir, const v1::Recipe& recipe, const TrainResult& result,
                            const std::vector<Score>& scores, const std::string& source_revision) {
  const RunPosition& position = result.position;
  ASSIGN_OR_RETURN(const cpu::CpuPath kernels, cpu::ChosenPath());
  nlohmann::ordered_json json = {{"recipe", recipe.name()},
                                 {"seed", recipe.seed()},
                                 {"data_digest", result.data_digest},
                                 {"threads", position.threads},
                                 {"processes", position.processes},
                                 {"cpu", cpu::CpuDescription()},
                                 {"kernels", cpu::Name(kernels)},
                                 {"storage", recipe.storage() == v1::Recipe::BF16 ? "bf16" : "fp32"},
                                 {"program", ProgramDigest()},
                                 {"revision", source_revision},
                                 {"finished", result.finished},
                                 {"epochs", result.last_epoch},
                                 {"steps", position.step},
                                 {"samples", position.samples},
                                 {"seconds", position.seconds},
                                 {"parameters", result.model->CountParameters()},
                                 {"model", result.is_best ? "best" : "last"}};
  if (result.is_best) json["best"] = {{"epochs", result.epochs}, {"steps", position.best_step}};
  for (const Score& score : scores) {
    for (const Measure& measure : score.measures) {
      json["scores"][absl::StrCat(score.split, "/", measure.name)] = measure.value;
    }
  }
  if (position.best) {
    // Adds the best score, which was measured during the training, either on held-out samples or on the split of the
    // final scores.
    const Score& first = scores.front();
    const std::string split = result.is_best ? "validation" : absl::StrCat(first.split, "-best");
    json["scores"][absl::StrCat(split, "/", first.measures.front().name)] = *position.best;
  }
  if (recipe.block_norms()) {
    ASSIGN_OR_RETURN(const Steps steps, ReadSteps(work_dir));
    if (const std::optional<double> ratio = LastBlockByFirst(steps)) json["scores"]["gradient/last-by-first"] = *ratio;
  }
  if (result.epoch_samples > 0) {
    json["train"]["loss"] = position.loss_sum / static_cast<double>(result.epoch_samples);
  }
  if (position.predictions > 0) {
    json["train"]["accuracy"] = static_cast<double>(position.correct) / static_cast<double>(position.predictions);
  }
  // A name or revision may have invalid UTF-8. It is replaced, because dump would throw otherwise.
  return ReplaceFile(work_dir / "result.json",
                     json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace vitrine
