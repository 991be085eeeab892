// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_MODELS_ENGINE_PLAN_OPERAND_H_
#define VITRINE_MODELS_ENGINE_PLAN_OPERAND_H_

#include <cstdint>

namespace vitrine::engine {

// Number of rows per image in RowsOf::kHeads.
inline constexpr int kHeadTokens = 2;

// Meaning of a buffer's rows.
enum class RowsOf {
  kTokens,  // for each image its prefix tokens, then its cells row by row
  kCells,
  kImages,
  kHeads,  // for each image its class token and distillation token, which DeiT's two heads read
};

// Columns of an arena buffer.
struct Operand {
  int buffer = -1;
  int64_t first = 0;
  int64_t columns = 0;
};

}  // namespace vitrine::engine

#endif  // VITRINE_MODELS_ENGINE_PLAN_OPERAND_H_
