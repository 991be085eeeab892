// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BENCH_STORED_MODEL_H_
#define VITRINE_BENCH_STORED_MODEL_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "reference/model.h"

namespace vitrine {

// The newest version of `model`, read and verified as the server does. NOT_FOUND if there is none.
absl::StatusOr<std::shared_ptr<const Model>> ReadNewest(const std::string& repository, const std::string& model);

}  // namespace vitrine

#endif  // VITRINE_BENCH_STORED_MODEL_H_
