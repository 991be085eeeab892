// SPDX-License-Identifier: Apache-2.0
#include "server/serve/request/answer_hold.h"

#include <utility>

#include "server/serve/scheduling/answer_budget.h"

namespace vitrine {

std::shared_ptr<void> AnswerHold::UntilSent(std::shared_ptr<AnswerHold> hold) {
  AnswerHold* const released = hold.get();
  if (released == nullptr) return nullptr;
  return {released, [hold = std::move(hold)](void*) { hold->Release(); }};
}

void AnswerHold::Release() {
  admitted_.clear();
  for (int left = std::exchange(requests_, 0); left > 0; --left) ledger_.Answer();
}

void AnswerHold::SetBytes(int64_t actual) {
  for (const std::shared_ptr<Admitted>& admitted : admitted_) {
    AnswerBudget::Resize(admitted->room, std::exchange(actual, 0));
  }
}

int64_t AnswerHold::bytes() const {
  int64_t sum = 0;
  for (const std::shared_ptr<Admitted>& admitted : admitted_) sum += admitted->room->bytes;
  return sum;
}

void AnswerHold::Accept() {
  ledger_.Accept();
  ++requests_;
}

}  // namespace vitrine
