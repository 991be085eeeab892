// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STATISTICS_STUDENT_H_
#define VITRINE_COMMON_STATISTICS_STUDENT_H_

namespace vitrine {

// Student's t distribution with `freedom` > 0 degrees of freedom; infinity gives the normal distribution. Relative
// errors are below 1e-9.

// Returns the probability of a value above `t`.
double StudentTail(double t, double freedom);

// Returns the t that is exceeded with probability `tail`, 0 < tail <= 1/2.
double StudentQuantile(double tail, double freedom);

}  // namespace vitrine

#endif  // VITRINE_COMMON_STATISTICS_STUDENT_H_
