// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_LIB_CLIENT_H_
#define VITRINE_CLIENT_LIB_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/lib/retry.h"
#include "common/request_size.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// TLS options of a client. Files are PEM; Connect reads them.
struct TlsOptions {
  // CA certificates that sign the server's certificate; empty: the CA certificates of the system.
  std::string ca_file = {};
  // The client's certificate with its intermediates, and its key. Set both or none.
  std::string certificate_file = {};
  std::string key_file = {};
  // Expected name in the server's certificate; empty: the host of the address.
  std::string server_name = {};
};

struct ClientOptions {
  // Address of the server or servers, one of
  //   host:port                    for example gpu-box:8500 or [::1]:8500
  //   dns:///name:port             requests are distributed over all addresses of the name
  //   host:port,host:port          requests are distributed over these servers
  //   ipv4:..., ipv6:..., unix:PATH   as in gRPC
  // Names are resolved again after a connection is lost. Each unary call, and each stream with all its requests (see
  // ClassifyMany), goes to one server.
  std::string address = "127.0.0.1:8500";
  // Maximum time that Connect waits for the server. A refused connection ends the wait at once.
  absl::Duration connect_timeout = absl::Seconds(5);
  // Timeout of one request, including all its attempts and the waits between them. The remaining time is sent to the
  // server. In ClassifyMany, the request's own time_limit applies if it is shorter.
  absl::Duration deadline = absl::Seconds(30);
  // Maximum number of requests of one ClassifyMany in flight, 1 to 64. More requests allow larger batches; each request
  // holds its image in memory on client and server.
  int max_in_flight = 32;
  // Maximum size of a request and of an answer, in bytes. By default, the server has the same limit for requests. The
  // client rejects a larger request, because the server would end the whole stream.
  int64_t max_request_bytes = kMaxRequestBytes;
  int64_t max_response_bytes = 80 << 20;
  RetryOptions retry = {};
  // nullopt: no encryption, and no authentication of the server.
  std::optional<TlsOptions> tls = std::nullopt;
  // The token, or the file that contains it; set at most one. Every call sends the token as "authorization: Bearer
  // <token>". Over a network, a token without TLS is an error. The file is read again every minute, and after a server
  // rejects the token, so that the token can be replaced.
  std::string token = {};
  std::string token_file = {};
  // Interval of pings on a silent connection with calls in flight. The pings detect a lost connection. Zero: no pings.
  // Servers disconnect clients that ping too often; vitrine-server allows intervals of 10 seconds or more.
  absl::Duration keepalive = absl::ZeroDuration();
  // Trace context of the calls in the format of W3C Trace Context, "00-TRACEID-SPANID-FLAGS". It is sent as
  // `traceparent` with every call of a Client, so that the server logs the ids. Empty: none.
  std::string traceparent = {};

  absl::Status Validate() const;
};

// Returns the next request of a ClassifyMany, an error to deliver instead of sending a request, or nullopt at the end.
using RequestSource = std::function<std::optional<absl::StatusOr<v1::ClassifyRequest>>()>;
// Receives the result of request `index`. Indices are counted from 0 in the order of the source.
using ResultSink = std::function<void(size_t index, absl::StatusOr<v1::ClassifyResponse> result)>;

// Result of request `index`, with its attempts and latency.
struct TracedResult {
  size_t index = 0;
  absl::StatusOr<v1::ClassifyResponse> result = absl::UnknownError("not answered");
  int attempts = 0;        // number of times the request was sent
  absl::Duration latency;  // time from the last send to the arrival of the answer; zero if the request was never sent
};
using TracedSink = std::function<void(TracedResult result)>;

class InFlightLimit;

// A connection to the server or servers of ClientOptions::address. The contract (proto/vitrine/v1/classifier.proto)
// defines the codes and messages of errors. If a server rejects a request temporarily, the request is retried according
// to `retry`, within the deadline. Thread-safe; every call blocks.
class Client {
 public:
  // Connects. INVALID_ARGUMENT: an option is invalid. UNAVAILABLE: no server answers at the address.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ClientOptions& options);
  ~Client();

  // Classifies one image. A non-empty `traceparent` replaces ClientOptions::traceparent.
  absl::StatusOr<v1::ClassifyResponse> Classify(const v1::ClassifyRequest& request,
                                                const std::string& traceparent = {});

  // Classifies all requests of `next` over one stream, and passes each result to `deliver` in the order of the source.
  // The server may answer in another order. `next` and `deliver` run on the calling thread. `next` runs only while no
  // result can be delivered. A request is sent without waiting for later requests, so a slow source delays only the
  // requests that it has not returned yet. At most options.max_in_flight requests are at the server. The client holds
  // at most four times that number, so the source may be endless. A request's deadline starts when the request is first
  // sent. If a stream breaks, the client waits once (see `retry`) and then sends all unanswered requests over a new
  // stream. If the server had answered at least one request on the broken stream, the loss counts as an attempt (see
  // retry.max_attempts) of each unanswered request. If the server ends a stream because of one bad request (such as a
  // message that is too large), only that request fails. Request ids are replaced on the wire and restored in the
  // answers.
  //
  // OK: every request was delivered, with a response or an error. UNAVAILABLE: the server counts as lost. Either
  // retry.max_attempts streams broke in a row, or streams broke one after another for a whole deadline, or no answer
  // came during three deadlines in a row. Requests that were already taken are then delivered with UNAVAILABLE, and no
  // more are taken. INTERNAL: the server answered a request that was never sent.
  absl::Status ClassifyMany(const RequestSource& next, const ResultSink& deliver);
  // Does the same as ClassifyMany, and also delivers the attempts and the latency of each request. `limit`
  // (client/lib/in_flight_limit.h) bounds the requests in flight and adapts during the run.
  //
  // `stop`, if set, is called on the calling thread at least every 100 ms (unless `next` or `deliver` take longer).
  // Once it returns true, no request is taken or sent. Requests at the server are awaited and delivered. Requests that
  // wait for an attempt are delivered as CANCELLED (with 0 attempts if they were never sent). The call then returns OK.
  absl::Status ClassifyTraced(const RequestSource& next, const TracedSink& deliver, InFlightLimit* limit = nullptr,
                              const std::function<bool()>& stop = {});

  // Returns every model and version of the server.
  absl::StatusOr<v1::ListModelsResponse> ListModels();
  // Calls `changed` with the current state of every version of `model` (empty: of all models), then with each change.
  // Returns OK once `changed` returns false, or the status of the call when the call ends. Has no deadline.
  absl::Status WatchModels(const std::string& model, const std::function<bool(const v1::ModelEvent& event)>& changed);
  // Returns one version with its labels. nullopt: the version `stable` or, if no version is `stable`, the newest known
  // version.
  absl::StatusOr<v1::ModelVersion> GetModel(const std::string& model, std::optional<int64_t> version = std::nullopt);
  // Returns the version that `request` selects. `request` may set any field, for example cost_of.
  absl::StatusOr<v1::ModelVersion> GetModel(const v1::GetModelRequest& request);

 private:
  struct Connection;
  explicit Client(std::unique_ptr<Connection> connection);

  const std::unique_ptr<Connection> connection_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_LIB_CLIENT_H_
