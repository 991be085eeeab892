// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_STEADY_H_
#define VITRINE_COMMON_STEADY_H_

#include <functional>

namespace vitrine {

struct Rounds {
  int done = 0;
  bool steady = false;  // true: the last two rounds brought no improvement
};

// Calls `round` until two consecutive calls each lower its result by less than 2 %, or until it was called `most`
// times. Each call must repeat all measurements, keep the shortest time so far of each measurement, and return the sum
// of these shortest times. Other processes can only lengthen a measured time. So if the sum still falls, some
// measurements have not run undisturbed yet.
inline Rounds UntilSteady(const std::function<double()>& round, int most = 12) {
  constexpr double kNothingNew = 0.98;
  Rounds rounds;
  double shortest = round();
  int quiet = 0;
  for (rounds.done = 1; rounds.done < most && quiet < 2; ++rounds.done) {
    const double now = round();
    quiet = now > kNothingNew * shortest ? quiet + 1 : 0;
    shortest = now;
  }
  rounds.steady = quiet == 2;
  return rounds;
}

}  // namespace vitrine

#endif  // VITRINE_COMMON_STEADY_H_
