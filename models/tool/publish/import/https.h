// SPDX-License-Identifier: Apache-2.0
// HTTP requests of vitrine-repo, made with libcurl.
#ifndef VITRINE_MODELS_TOOL_PUBLISH_IMPORT_HTTPS_H_
#define VITRINE_MODELS_TOOL_PUBLISH_IMPORT_HTTPS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

struct FetchReply {
  int status = 0;                                   // status of the last response, e.g. 200
  std::map<std::string, std::string> headers = {};  // headers of the last response; names in lower case
  std::string body = {};                            // empty if the request has a sink

  std::string Header(const std::string& name) const;  // empty if missing
};

struct FetchRequest {
  std::string url;
  bool head = false;        // send HEAD: fetch only the headers
  std::string method = {};  // empty: GET, or HEAD
  std::map<std::string, std::string> headers = {};
  std::string body = {};                // sent with PUT and POST
  std::filesystem::path upload = {};    // file that is sent instead of `body`
  int connect_seconds = 15;             // time limit for the connection
  int silent_seconds = 60;              // a transfer ends if it stays below 1 byte/s for this long
  bool follow = true;                   // follow redirects, at most 10
  int64_t from = 0;                     // first byte to request
  size_t most_bytes = size_t{1} << 20;  // limit for a body without a sink
  // Receives the body of a 2xx response, piece by piece, with status and headers in `reply`. If `sink` returns an
  // error, the transfer ends.
  std::function<absl::Status(const FetchReply& reply, std::string_view bytes)> sink = nullptr;
};

// Sends one request over HTTPS with the system's certificates, or over HTTP if the URL begins with http://. Does not
// follow a redirect from HTTPS to HTTP. Sends no credentials except the credentials in `headers`; a redirect to another
// host drops only Authorization, so a request with other secret headers must not set `follow`. Returns any HTTP status
// as a reply. UNAVAILABLE: the response is missing or incomplete; OUT_OF_RANGE: a body over most_bytes; NOT_FOUND:
// `upload` cannot be read; or the error of the sink. The first call must return before another thread calls this
// function.
absl::StatusOr<FetchReply> Ask(const FetchRequest& request);

// Ask, or a function that adds credentials to the request and calls Ask.
using Transport = std::function<absl::StatusOr<FetchReply>(const FetchRequest& request)>;

}  // namespace vitrine

#endif  // VITRINE_MODELS_TOOL_PUBLISH_IMPORT_HTTPS_H_
