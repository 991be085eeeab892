// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_BASE_GIVE_WAY_H_
#define VITRINE_BASE_GIVE_WAY_H_

namespace vitrine {

// Whoever decides what a thread does where it may give way to others.
class WayGiver {
 public:
  virtual ~WayGiver() = default;
  // Returns when the thread may go on. Must not throw.
  virtual void GiveWay() = 0;
};

// While it lives, GiveWay() on this thread asks `giver`, which outlives it. One at a time on a thread.
class GivingWay {
 public:
  explicit GivingWay(WayGiver& giver);
  ~GivingWay();
  GivingWay(const GivingWay&) = delete;
  GivingWay& operator=(const GivingWay&) = delete;
};

// Long work calls it every few hundred microseconds at most, where it holds no lock. Costs nothing where nobody asked.
void GiveWay();

}  // namespace vitrine

#endif  // VITRINE_BASE_GIVE_WAY_H_
