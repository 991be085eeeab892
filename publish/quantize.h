// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_PUBLISH_QUANTIZE_H_
#define VITRINE_PUBLISH_QUANTIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace vitrine {

// What `vitrine-repo quantize` is asked for.
struct QuantizeOptions {
  std::string repository;
  std::string which;  // MODEL or MODEL@VERSION
  std::string precision;
  std::string data;  // FORMAT:PATH, as OpenDataset takes it
  std::string split = "test";
  double budget = 0.3;    // percentage points of top-1 that may be lost
  int64_t images = 2000;  // pictures to measure on, spread evenly over the data set
  std::string format = "table";
};

// Publishes a version of the same model, with the same weights, that may be computed in that precision too: finds the
// operators to be kept from it by their measured errors, until accuracy is within the budget, and records goldens by
// the portable path. What it did goes to stdout, how far it is to stderr. FAILED_PRECONDITION, and nothing published,
// where the data set has labels that the model has not, or accuracy is beyond the budget with all but one operator
// kept.
absl::Status QuantizeCommand(const QuantizeOptions& options);

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_QUANTIZE_H_
