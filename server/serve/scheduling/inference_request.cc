// SPDX-License-Identifier: Apache-2.0
#include "server/serve/scheduling/inference_request.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace vitrine {

absl::Status CheckMessageBytes(int64_t bytes, int64_t most) {
  if (bytes <= most) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("the answer has ", bytes, " bytes, but this client accepts ", most,
                   "; raise its option grpc.max_receive_message_length and send it in the metadata ",
                   kMessageBytesMetadata, " (bytes, or -1 for no limit), or request less"));
}

absl::Status AbandonedError() {
  return absl::AbortedError("another image of the same request was rejected, so this one was not answered");
}

absl::Status DrainingError() {
  return absl::UnavailableError("the server is draining; use another replica");
}

void InferenceRequest::Finish(absl::StatusOr<v1::ClassifyResponse> answer) {
  const bool dropped = absl::IsCancelled(answer.status()) && IsAbandoned();
  if (dropped) answer = AbandonedError();
  if (admitted != nullptr) admitted->Answered(/*used=*/!dropped || progress == Progress::kCompute);
  admitted.reset();
  if (absl::IsDeadlineExceeded(answer.status())) model->metrics->CountExpired(progress);
  if (absl::IsCancelled(answer.status())) model->metrics->CountCancelled(progress);
  auto callback = std::move(done);
  callback(std::move(answer));
}

void InferenceRequest::EndWaiting(absl::Status why, absl::Time now) {
  if (!is_probe) model->metrics->CountUnanswered(Stage::kQueue, now - arrival);
  Finish(std::move(why));
}

}  // namespace vitrine
