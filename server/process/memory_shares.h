// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_PROCESS_MEMORY_SHARES_H_
#define VITRINE_SERVER_PROCESS_MEMORY_SHARES_H_

#include <cstdint>

#include "base/machine/machine.h"

namespace vitrine {

// How the memory of a process in a control group with a limit is divided, in percent. The rest, a fifth, is for what
// decoding and computing take, for the program itself and for what the allocator keeps.
inline constexpr int kModelShare = 50;
inline constexpr int kQueueShare = 10;      // pictures and tensors between admission and answer
inline constexpr int kTransportShare = 10;  // messages on their way in
inline constexpr int kAnswerShare = 10;     // answers that clients have not taken yet

// `bytes`, or the share of the limit if that is less. Without a limit `bytes` as it is. Pure.
int64_t WithinShare(const Machine& machine, int percent, int64_t bytes);

}  // namespace vitrine

#endif  // VITRINE_SERVER_PROCESS_MEMORY_SHARES_H_
