// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/answer_hold.h"

#include <utility>

#include "server/serve/scheduling/answer_budget.h"

namespace vitrine {

std::shared_ptr<void> AnswerResources::UntilSent(std::shared_ptr<AnswerResources> hold) {
  AnswerResources* const released = hold.get();
  if (released == nullptr) return nullptr;
  return {released, [hold = std::move(hold)](void*) { hold->Release(); }};
}

void AnswerResources::Release() {
  admitted_.clear();
  for (int left = std::exchange(requests_, 0); left > 0; --left) ledger_.Answer();
}

void AnswerResources::SetBytes(int64_t actual) {
  for (const std::shared_ptr<Admitted>& admitted : admitted_) {
    AnswerBudget::Resize(admitted->room, std::exchange(actual, 0));
  }
}

int64_t AnswerResources::bytes() const {
  int64_t sum = 0;
  for (const std::shared_ptr<Admitted>& admitted : admitted_) sum += admitted->room->bytes;
  return sum;
}

void AnswerResources::Accept() {
  ledger_.Accept();
  ++requests_;
}

}  // namespace vitrine
