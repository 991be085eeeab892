// SPDX-License-Identifier: Apache-2.0
// Requests of `vitrine-repo import --pull`, by libcurl.
#ifndef VITRINE_PUBLISH_IMPORT_HTTPS_H_
#define VITRINE_PUBLISH_IMPORT_HTTPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace vitrine {

struct FetchReply {
  int status = 0;                                   // of the last answer, 200 for instance
  std::map<std::string, std::string> headers = {};  // of that answer; names in lower case
  std::string body = {};                            // where the request has no sink

  std::string Header(const std::string& name) const;  // empty where there is none
};

struct FetchRequest {
  std::string url;
  bool head = false;                    // ask for the headers alone
  bool follow = true;                   // redirects, at most 10
  int64_t from = 0;                     // first byte that is wanted
  size_t most_bytes = size_t{1} << 20;  // of a body without a sink
  // Takes the body of an answer of status 2xx, piece by piece, with the head in `reply`. A fault ends the transfer.
  std::function<absl::Status(const FetchReply& reply, std::string_view bytes)> sink = nullptr;
};

// One request over HTTPS, with the system's certificates; over plain HTTP where the URL says http, which an answer over
// HTTPS cannot lead to. No credentials are sent. Gives up on a server that is not reached in 15 s or sends less than a
// byte a second for 60 s. Any status is a reply; UNAVAILABLE: there was none, or not the whole of it, and why; else the
// sink's fault. Not to be called from two threads before the first call has returned.
absl::StatusOr<FetchReply> Ask(const FetchRequest& request);

}  // namespace vitrine

#endif  // VITRINE_PUBLISH_IMPORT_HTTPS_H_
