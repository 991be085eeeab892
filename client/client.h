// SPDX-License-Identifier: Apache-2.0
#ifndef VITRINE_CLIENT_CLIENT_H_
#define VITRINE_CLIENT_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/request_size.h"
#include "client/retry.h"
#include "vitrine/v1/classifier.pb.h"
#include "vitrine/v1/registry.pb.h"

namespace vitrine {

// TLS from a client's side. Files are PEM; they are read by Connect.
struct TlsOptions {
  // Authorities that may vouch for the server; empty: those that this system trusts.
  std::string ca_file = {};
  // The client's own certificate, with those between it and its authority, and its key; both or neither.
  std::string certificate_file = {};
  std::string key_file = {};
  // Name that the server's certificate must be for; empty: the host of the address.
  std::string server_name = {};
};

struct ClientOptions {
  // Where the server is. One of
  //   host:port                    as in gpu-box:8500 or [::1]:8500
  //   dns:///name:port             requests are spread over all addresses of the name, and its changes followed
  //   host:port,host:port          requests are spread over these servers; their names are resolved again
  //                                once connections to them were lost
  //   ipv4:..., ipv6:..., unix:PATH   as gRPC has them
  // Spreading is by request: a ClassifyMany is one stream and stays with one server.
  std::string address = "127.0.0.1:8500";
  // How long Connect waits for the server. A refused connection ends the wait at once.
  absl::Duration connect_timeout = absl::Seconds(5);
  // Time for one request, all its attempts and the waits between them included. The server is told what is left of it.
  // A request's own time_limit, where it is shorter, takes its place in ClassifyMany.
  absl::Duration deadline = absl::Seconds(30);
  // Most requests of one ClassifyMany that the server holds at a time, 1 to 64. More let it form larger batches; each
  // costs the memory of its picture on both sides.
  int max_in_flight = 32;
  // Largest request and largest answer, in bytes. A larger request is refused here, before it is sent: a server ends
  // the whole stream for one that is larger than its own limit, which is this one unless it was started with another.
  int64_t max_request_bytes = kMaxRequestBytes;
  int64_t max_response_bytes = 80 << 20;
  RetryOptions retry = {};
  // Without it nothing is encrypted and nobody is known.
  std::optional<TlsOptions> tls = std::nullopt;
  // Sent with every call as "authorization: Bearer <token>". Refused where it would cross a network without TLS. At
  // most one of the two; the file is read again every minute, and when a server refuses the token, so that it may be
  // replaced.
  std::string token = {};
  std::string token_file = {};
  // Ping a silent server this often while calls are under way, so that one that vanished is noticed; zero: never.
  // Servers send callers away that ping more often than they allow: vitrine-server takes 10 seconds and more.
  absl::Duration keepalive = absl::ZeroDuration();
  // Where the calls belong in the caller's trace: W3C Trace Context, "00-TRACEID-SPANID-FLAGS", sent as
  // `traceparent` with every call of a Client, so that the server's log has the ids. Empty: none.
  std::string traceparent = {};

  absl::Status Validate() const;
};

// The next request of a ClassifyMany; an error in its place, which is delivered and never sent; nullopt at the end.
using RequestSource = std::function<std::optional<absl::StatusOr<v1::ClassifyRequest>>()>;
// Receives the result of request `index`, counted from 0 in the order of the source.
using ResultSink = std::function<void(size_t index, absl::StatusOr<v1::ClassifyResponse> result)>;

// The result of request `index`, and how it came about.
struct TracedResult {
  size_t index = 0;
  absl::StatusOr<v1::ClassifyResponse> result = absl::UnknownError("not answered");
  int attempts = 0;        // how often it was sent
  absl::Duration latency;  // from the last sending to the answer's arrival; zero if it was never sent
};
using TracedSink = std::function<void(TracedResult result)>;

class InFlightLimit;

// A connection to one server.
//
// Errors are those of the contract (proto/vitrine/v1/classifier.proto), code and sentence unchanged. Requests that the
// server refuses for the moment are sent again as `retry` says, within the deadline. Thread-safe; every call blocks.
class Client {
 public:
  // INVALID_ARGUMENT: bad options. UNAVAILABLE: no server answers there.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(const ClientOptions& options);
  ~Client();

  // `traceparent` is this call's, in place of the options'.
  absl::StatusOr<v1::ClassifyResponse> Classify(const v1::ClassifyRequest& request,
                                                const std::string& traceparent = {});

  // Classifies everything that `next` gives over one stream and hands each result to `deliver`, in the order of the
  // source although the server answers in its own. Both are called from the calling thread, `next` only while nothing
  // can be delivered; what it gives is sent at once, so a slow source delays no more than what it has not given.
  //
  // At most options.max_in_flight requests are with the server and a small multiple of it is held here, so that the
  // source may be endless. A request's time starts when it is first sent. A stream that breaks is opened again after
  // one wait of `retry` for all requests; its unanswered ones count an attempt if the server had answered anything on
  // it. A stream that the server ends because of one bad request (too large a message, say) costs only that request.
  // Request ids are replaced on the wire and restored in the answers.
  //
  // OK: every request was delivered, whatever its result. UNAVAILABLE: the server is lost (as many broken streams in a
  // row as `retry` has attempts, or broken streams for as long as a deadline, or three deadlines in a row in which it
  // answered nothing); what had been taken from the source was delivered with that error, the rest was left in it.
  // INTERNAL: an answer to a request never sent.
  absl::Status ClassifyMany(const RequestSource& next, const ResultSink& deliver);
  // The same, for callers who want to know more. With `limit` (client/in_flight_limit.h), which learns from this run,
  // the server holds at most so many requests at a time.
  //
  // `stop`, where there is one, is asked on the calling thread at least every 100 ms (unless `next` or `deliver` take
  // longer). Once it says true nothing more is taken or sent: what is with the server is still awaited and delivered,
  // what only waited to be sent, or to be sent again, is delivered as CANCELLED (with 0 attempts if it never was). The
  // call then ends with OK.
  absl::Status ClassifyTraced(const RequestSource& next, const TracedSink& deliver, InFlightLimit* limit = nullptr,
                              const std::function<bool()>& stop = {});

  // Every model and version the server knows.
  absl::StatusOr<v1::ListModelsResponse> ListModels();
  // Tells `changed` the present state of every version of `model` (empty: of all models), then each change as it
  // happens, until it returns false, which is OK, or the call ends, with its status. Knows no deadline.
  absl::Status WatchModels(const std::string& model, const std::function<bool(const v1::ModelEvent& event)>& changed);
  // One version with its labels; without `version` the newest that is ready.
  absl::StatusOr<v1::ModelVersion> GetModel(const std::string& model, std::optional<int64_t> version = std::nullopt);
  // With what else the request asks for, such as the cost of pictures.
  absl::StatusOr<v1::ModelVersion> GetModel(const v1::GetModelRequest& request);

 private:
  struct Connection;
  explicit Client(std::unique_ptr<Connection> connection);

  const std::unique_ptr<Connection> connection_;
};

}  // namespace vitrine

#endif  // VITRINE_CLIENT_CLIENT_H_
