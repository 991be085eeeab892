// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_ANSWER_HOLD_H_
#define VITRINE_SERVER_SERVE_REQUEST_ANSWER_HOLD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/serve/request/ledger.h"
#include "server/serve/scheduling/admission.h"

namespace vitrine {

// The resources of one call, held until its answer is delivered. For each image of the call, these are bytes in the
// answer budget, a place in the queue and a use of the caller's quota. The code that receives a call creates this
// object and puts it into CallContext::held. The code that sends the answer puts the result of UntilSent into
// HttpStream::Part::held or HttpResponse::held. Release gives all resources back and counts each request as answered.
// Thread-compatible: the thread that submits the call uses this object until `done` is called, then the thread that
// sends the answer.
class AnswerResources {
 public:
  // `ledger` must outlive the object.
  explicit AnswerResources(Ledger& ledger) : ledger_(ledger) {}
  ~AnswerResources() { Release(); }
  AnswerResources(const AnswerResources&) = delete;
  AnswerResources& operator=(const AnswerResources&) = delete;

  // Returns an object whose destruction releases the resources of `hold`, even if `hold` has other owners. So the
  // resources are free when a client has read its answer and sends the next request.
  static std::shared_ptr<void> UntilSent(std::shared_ptr<AnswerResources> hold);

  // Sets the size of the serialized answer or error. Call once, before the answer is sent.
  void SetBytes(int64_t actual);
  // Returns the number of bytes that are reserved for the answer or, after SetBytes, the answer's actual size.
  int64_t bytes() const;
  // Returns the number of requests that were accepted with this object. Release counts each of them as answered.
  int requests() const { return requests_; }

  // Counts a request as accepted, even if it is rejected later. Only ClassifyService calls it.
  void Accept();
  // Keeps the resources of an admitted request. Only ClassifyService calls it.
  void Keep(std::shared_ptr<Admitted> admitted) { admitted_.push_back(std::move(admitted)); }

 private:
  void Release();

  Ledger& ledger_;
  int requests_ = 0;
  std::vector<std::shared_ptr<Admitted>> admitted_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_ANSWER_HOLD_H_
