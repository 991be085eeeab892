// SPDX-License-Identifier: Apache-2.0
#include "common/give_way.h"

namespace vitrine {
namespace {

thread_local WayGiver* giver_of_thread = nullptr;

}  // namespace

GivingWay::GivingWay(WayGiver& giver) {
  giver_of_thread = &giver;
}

GivingWay::~GivingWay() {
  giver_of_thread = nullptr;
}

void GiveWay() {
  if (giver_of_thread != nullptr) giver_of_thread->GiveWay();
}

}  // namespace vitrine
