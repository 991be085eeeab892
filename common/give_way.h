// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_COMMON_GIVE_WAY_H_
#define VITRINE_COMMON_GIVE_WAY_H_

namespace vitrine {

// Callback of GiveWay().
class WayGiver {
 public:
  virtual ~WayGiver() = default;
  // Returns when the thread may continue. Must not throw.
  virtual void GiveWay() = 0;
};

// While this object exists, GiveWay() on the thread that created it calls `giver`. `giver` must outlive this object. A
// thread may have at most one GivingWay.
class GivingWay {
 public:
  explicit GivingWay(WayGiver& giver);
  ~GivingWay();
  GivingWay(const GivingWay&) = delete;
  GivingWay& operator=(const GivingWay&) = delete;
};

// Yields to other work. Long computations call it every few hundred microseconds, without holding a lock. On a thread
// without GivingWay it costs almost nothing.
void GiveWay();

}  // namespace vitrine

#endif  // VITRINE_COMMON_GIVE_WAY_H_
