// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_REVIEW_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_REVIEW_H_

#include <string>

#include "common/charts/html/data_table.h"
#include "models/workload/workload.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Returns true if the operator tables of paper 003 (the review) apply to this model: a plain ViT whose feed-forward
// width is four times the model's width.
bool InReview(const v1::ModelConfig& config);

// Returns the operator tables of paper 003 for this model and input, as printed and as corrected. N in the tables is
// the number of patches, without the class token.
DataTable ReviewTable(const v1::ModelConfig& config, const WorkloadInput& input);
// Returns a text with the total FLOPs of one layer, of all layers with the classifier, and of all layers with the
// classifier and the patch embedding. Gives each total with and without the class token.
std::string ReviewTotals(const v1::ModelConfig& config, const WorkloadInput& input);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_REVIEW_H_
