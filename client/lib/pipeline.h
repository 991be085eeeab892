// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_PIPELINE_H_
#define VITRINE_CLIENT_LIB_PIPELINE_H_

#include <functional>
#include <memory>

#include "absl/random/random.h"
#include "client/lib/client.h"
#include "client/lib/request_window.h"
#include "client/lib/servers.h"
#include "client/lib/stream.h"

namespace vitrine {

// One run of Client::ClassifyTraced: a RequestWindow with real streams and clock. Runs on the thread that calls Run.
class Pipeline {
 public:
  Pipeline(Servers& servers, const ClientOptions& options, const RequestSource& next, const TracedSink& deliver,
           InFlightLimit* limit, const std::function<bool()>& stop);

  absl::Status Run();

 private:
  void TakeFromSource();  // takes one request
  void StopIfRequested();
  void SendWhatIsDue(absl::Time now);
  bool DeliverFirst();
  void WaitForEvents(absl::Time until);

  Servers& servers_;
  std::string token_;  // token of the open stream
  const ClientOptions& options_;
  const RequestSource& next_;
  const TracedSink& deliver_;
  const std::function<bool()>& stop_;  // may be empty
  bool stopped_ = false;
  absl::BitGen random_;
  RequestWindow window_;
  std::unique_ptr<ClassifyStream> stream_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_PIPELINE_H_
