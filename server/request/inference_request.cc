#include "server/request/inference_request.h"

#include <utility>

namespace vitrine {

int64_t InferenceRequest::InputBytes() const {
  return request.has_image() ? request.image().size() : request.tensor().data().size();
}

void InferenceRequest::Finish(absl::StatusOr<v1::ClassifyResponse> answer) {
  // First the ticket: a client that sends its next request on the answer must find the place free.
  ticket.Release();
  quota.Release();
  if (model->metrics != nullptr) {
    if (absl::IsDeadlineExceeded(answer.status())) model->metrics->CountExpired(progress);
    if (absl::IsCancelled(answer.status())) model->metrics->CountCancelled(progress);
  }
  auto callback = std::move(done);
  callback(std::move(answer));
}

}  // namespace vitrine
