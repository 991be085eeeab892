// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_TESTS_CLIENT_LOAD_MADE_TIMES_H_
#define VITRINE_TESTS_CLIENT_LOAD_MADE_TIMES_H_

#include <cstdint>

#include "client/load/load_record.h"

namespace vitrine {

inline constexpr int64_t kMs = 1'000'000;  // in nanoseconds
inline constexpr MeasuredInterval kInterval{1000 * kMs, 4000 * kMs};

}  // namespace vitrine

#endif  // VITRINE_TESTS_CLIENT_LOAD_MADE_TIMES_H_
