// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_SERVER_SERVE_REQUEST_ANSWER_HOLD_H_
#define VITRINE_SERVER_SERVE_REQUEST_ANSWER_HOLD_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "server/serve/request/ledger.h"
#include "server/serve/scheduling/admission.h"

namespace vitrine {

// Everything that the answer to one call holds until it is delivered: for each image of the call its room in the answer
// budget and its places in queue and quota. The code that takes a call makes one and puts it into CallContext::held;
// the code that sends the answer puts its UntilSent into HttpStream::Part::held or HttpResponse::held. Release gives
// everything back and counts each request as answered. Thread-compatible: used by the submitting thread until `done` is
// called, then by the sending one.
class AnswerResources {
 public:
  // `ledger` must outlive the hold.
  explicit AnswerResources(Ledger& ledger) : ledger_(ledger) {}
  ~AnswerResources() { Release(); }
  AnswerResources(const AnswerResources&) = delete;
  AnswerResources& operator=(const AnswerResources&) = delete;

  // Returns an object whose destruction releases `hold`, even if others still own it: a client that sends its next
  // request on receiving the answer must find the resources free.
  static std::shared_ptr<void> UntilSent(std::shared_ptr<AnswerResources> hold);

  // Sets the size of the serialised answer or error. Called once, before it is sent.
  void SetBytes(int64_t actual);
  // Returns the bytes reserved for the answer, or those set by SetBytes.
  int64_t bytes() const;
  // Number of requests accepted under this hold; each is counted as answered at its release.
  int requests() const { return requests_; }

  // For ClassifyService: counts an accepted request, whatever its result.
  void Accept();
  // For ClassifyService: keeps the resources of an admitted request.
  void Keep(std::shared_ptr<Admitted> admitted) { admitted_.push_back(std::move(admitted)); }

 private:
  void Release();

  Ledger& ledger_;
  int requests_ = 0;
  std::vector<std::shared_ptr<Admitted>> admitted_;
};

}  // namespace vitrine

#endif  // VITRINE_SERVER_SERVE_REQUEST_ANSWER_HOLD_H_
