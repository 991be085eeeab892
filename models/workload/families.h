// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_WORKLOAD_FAMILIES_H_
#define VITRINE_MODELS_WORKLOAD_FAMILIES_H_

#include "models/workload/builder.h"
#include "vitrine/v1/model.pb.h"

namespace vitrine::workload {

// The forward pass of a family, one file each. The builder's grid is the input's in cells of the family.
void DescribeVit(const v1::ModelConfig& config, const WorkloadInput& input, Builder& builder);
void DescribeEit(const v1::ModelConfig& config, const WorkloadInput& input, Builder& builder);
void DescribeEitBaseline(const v1::ModelConfig& config, const WorkloadInput& input, Builder& builder);
void DescribeKv(const v1::ModelConfig& config, const WorkloadInput& input, Builder& builder);
void DescribeXcit(const v1::ModelConfig& config, const WorkloadInput& input, Builder& builder);
void DescribeXVit(const v1::ModelConfig& config, const WorkloadInput& input, Builder& builder);

}  // namespace vitrine::workload

#endif  // VITRINE_MODELS_WORKLOAD_FAMILIES_H_
