// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_ANSWER_HOLD_H_
#define VITRINE_SERVER_SERVE_REQUEST_ANSWER_HOLD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/serve/request/ledger.h"
#include "server/serve/scheduling/admission.h"

namespace vitrine {

// What the answer to one call holds until it has been handed over: room in the budget of answers, places in the queue
// and quota, of each picture of the call. Whoever takes a call makes one and puts it into CallContext::held; whoever
// sends the answer puts UntilSent of it into HttpStream::Part::held or HttpResponse::held. Its release gives all back
// and counts each request as answered. Thread-compatible: used by the thread that submits until `done` is called, then
// by whoever sends.
class AnswerHold {
 public:
  // The ledger outlives the hold.
  explicit AnswerHold(Ledger& ledger) : ledger_(ledger) {}
  ~AnswerHold() { Release(); }
  AnswerHold(const AnswerHold&) = delete;
  AnswerHold& operator=(const AnswerHold&) = delete;

  // What keeps the hold, and releases it when it dies, whoever else still has the hold: a client that sends its next
  // request on the answer must find what it held free.
  static std::shared_ptr<void> UntilSent(std::shared_ptr<AnswerHold> hold);

  // The answer or refusal takes so many bytes now that it is serialised. Called once, before it is sent.
  void SetBytes(int64_t actual);
  // Bytes that are reserved for the answer, or that SetBytes has set.
  int64_t bytes() const;
  // Requests that the service has accepted under this hold, each of which is counted as answered in the end.
  int requests() const { return requests_; }

  // For ClassifyService: a request was accepted, whatever becomes of it.
  void Accept();
  // For ClassifyService: what was admitted for it.
  void Keep(std::shared_ptr<Admitted> admitted) { admitted_.push_back(std::move(admitted)); }

 private:
  void Release();

  Ledger& ledger_;
  int requests_ = 0;
  std::vector<std::shared_ptr<Admitted>> admitted_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_ANSWER_HOLD_H_
