// SPDX-License-Identifier: Apache-2.0
#include "common/http/protocol/response_text.h"

#include <boost/beast/http/status.hpp>

#include "absl/strings/str_cat.h"

namespace vitrine {

std::string ResponseHead(const HttpResponse& response, const HttpRequest* request, bool keep) {
  const boost::beast::string_view reason =
      boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(static_cast<unsigned>(response.code)));
  std::string head =
      absl::StrCat("HTTP/1.1 ", response.code, " ", absl::string_view(reason.data(), reason.size()), "\r\n");
  if (response.code != 204 && response.code != 304) {  // 204 and 304 have no body
    absl::StrAppend(&head, "Content-Type: ", response.type, "\r\nContent-Length: ", response.body.size(), "\r\n");
  }
  for (const auto& [name, value] : response.headers) absl::StrAppend(&head, name, ": ", value, "\r\n");
  if (request != nullptr) {
    for (const auto& [name, value] : request->answer_headers) absl::StrAppend(&head, name, ": ", value, "\r\n");
  }
  if (!keep || request == nullptr || request->head.minor_version == 0) {
    absl::StrAppend(&head, "Connection: ", keep ? "keep-alive" : "close", "\r\n");
  }
  return head += "\r\n";
}

}  // namespace vitrine
