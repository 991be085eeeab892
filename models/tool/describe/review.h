// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_TOOL_DESCRIBE_REVIEW_H_
#define VITRINE_MODELS_TOOL_DESCRIBE_REVIEW_H_

#include <string>

#include "common/charts/html/data_table.h"
#include "models/workload/workload.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine {

// Returns true if paper 003's tables describe this model: a plain ViT whose feed-forward width is four times the
// model's width.
bool InReview(const v1::ModelConfig& config);

// Returns the operator tables of paper 003 for this model and input, as printed and as corrected. N in the tables is
// the number of patches, without the class token.
DataTable ReviewTable(const v1::ModelConfig& config, const WorkloadInput& input);
// Returns the totals as text, with and without the class token: one layer; all layers with the classifier; all layers
// with the classifier and the patch embedding.
std::string ReviewTotals(const v1::ModelConfig& config, const WorkloadInput& input);

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_DESCRIBE_REVIEW_H_
