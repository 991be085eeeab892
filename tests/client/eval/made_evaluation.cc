// SPDX-License-Identifier: Apache-2.0
#include "tests/client/eval/made_evaluation.h"

#include "absl/strings/str_cat.h"

namespace vitrine {

std::vector<std::string> MadeLabels(int count) {
  std::vector<std::string> labels;
  for (int i = 0; i < count; ++i) labels.push_back(absl::StrCat("kind ", i));
  return labels;
}

Evaluation MadeEvaluation(const std::vector<MadeImage>& images, const std::vector<std::string>& labels) {
  Evaluation e;
  e.model.set_model("m");
  e.model.set_version(3);
  e.model.set_state(v1::READY);
  e.model.set_weights_sha256(std::string(64, 'a'));
  e.data = "imagefolder:pets";
  for (const std::string& label : labels) {
    e.settings.label_map.push_back(e.model.labels_size());
    e.model.add_labels(label);
    e.data_labels.push_back(label);
  }
  e.settings.data_digest = std::string(64, 'b');
  e.settings.data_images = static_cast<int64_t>(images.size());
  e.expected = e.settings.data_images;
  e.sessions.push_back({.start = 1000, .end = 1000, .server = "here:1"});
  for (const MadeImage& image : images) {
    const auto index = static_cast<int64_t>(e.predictions.size());
    e.predictions.push_back({.index = index,
                             .name = absl::StrCat(e.data_labels[static_cast<size_t>(image.label)], "/", index, ".png"),
                             .data_label = image.label,
                             .label = image.label,
                             .guesses = image.guesses,
                             .tokens = 36,
                             .seconds = {0.001, 0.002, 0.003, 0.0001, 0.0061, 0.007},
                             .at = 1001 + static_cast<double>(index),
                             .served_by = "fp32 cpu"});
    e.sessions.back().end = e.predictions.back().at;
    ++e.sessions.back().images;
  }
  return e;
}

}  // namespace vitrine
