// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TRAINER_WATCH_REPORT_CODE_GEOMETRY_H_
#define VITRINE_TRAINER_WATCH_REPORT_CODE_GEOMETRY_H_

#include <ATen/core/Tensor.h>

namespace vitrine {

// Geometry of the trained codes of F-SNE, [3, code_length].
struct CodeGeometry {
  at::Tensor cosines;  // [3, 3]: cosine similarity of the codes of q, k and v
  at::Tensor norms;    // [3]: their l2 norms
};
CodeGeometry GeometryOf(const at::Tensor& codes);

}  // namespace vitrine

#endif  // VITRINE_TRAINER_WATCH_REPORT_CODE_GEOMETRY_H_
