// SPDX-License-Identifier: Apache-2.0
// Disables an assertion of Beast 1.81 that the last chunk of a body has five bytes. The three bytes "0\r\n" may arrive
// alone, and Beast then parses them correctly.
#define BOOST_DISABLE_ASSERTS
#include "server/trace/http_client.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <stdexcept>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "server/process/clock.h"

namespace vitrine {
namespace {

namespace beast = boost::beast;

using Parser = beast::http::response_parser<beast::http::string_body>;

// Parses bytes of a response and removes them from `received`.
absl::Status Parse(Parser& parser, std::string& received) {
  beast::error_code error;
  try {
    received.erase(0, parser.put(boost::asio::buffer(received), error));
  } catch (const std::length_error&) {  // thrown for long trailers, which header_limit does not cover
    return absl::InternalError("the answer is not HTTP/1.1: a field is too long");
  }
  if (!error || error == beast::http::error::need_more || parser.is_done()) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("the answer is not HTTP/1.1: ", error.message()));
}

// Reads one response; bytes after it stay in `received`.
absl::Status Read(ClientConnection& connection, Parser& parser, std::string& received) {
  parser.eager(true);
  parser.header_limit(kMaxHttpHeadBytes);
  parser.body_limit(HttpClient::kMaxBodyBytes);
  if (!received.empty()) RETURN_IF_ERROR(Parse(parser, received));
  std::array<char, 16 << 10> more;
  while (!parser.is_done()) {
    ASSIGN_OR_RETURN(const size_t bytes, connection.Read(more.data(), more.size()));
    received.append(more.data(), bytes);
    if (bytes > 0) {
      RETURN_IF_ERROR(Parse(parser, received));
      continue;
    }
    beast::error_code error;
    if (parser.got_some()) parser.put_eof(error);  // ends a body whose length was not announced
    if (!parser.is_done()) return absl::UnavailableError("the connection was closed before the answer was complete");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<HttpClient::Response> HttpClient::ReadResponse() {
  std::string received;
  for (;;) {
    Parser parser;
    RETURN_IF_ERROR(Read(connection_, parser, received));
    const auto& message = parser.get();
    if (message.result_int() < 200) continue;  // skips an interim response
    if (!parser.keep_alive() || !received.empty()) connection_.Close();
    const std::string type(message[beast::http::field::content_type]);
    return Response{.code = static_cast<int>(message.result_int()),
                    .type = std::string(absl::StripAsciiWhitespace(type.substr(0, type.find(';')))),
                    .retry_after = std::string(message[beast::http::field::retry_after]),
                    .body = message.body()};
  }
}

absl::StatusOr<HttpClient::Response> HttpClient::Send(absl::string_view method, const HttpHeaders& headers,
                                                      absl::string_view body, absl::Duration timeout) {
  std::string request = absl::StrCat(method, " ", url_.path, " HTTP/1.1\r\nhost: ", url_.authority, "\r\n");
  for (const auto& [name, value] : headers) absl::StrAppend(&request, name, ": ", value, "\r\n");
  if (method != "GET") absl::StrAppend(&request, "content-length: ", body.size(), "\r\n");
  absl::StrAppend(&request, "\r\n", body);
  connection_.SetEnd(SteadyClock().Now() + timeout);
  RETURN_IF_ERROR(connection_.Open());
  const absl::Status sent = connection_.Write(request);
  // A server that rejects a request may answer and close before it has read the whole request.
  if (sent.ok() || absl::IsUnavailable(sent)) {
    absl::StatusOr<Response> response = ReadResponse();
    if (response.ok()) return response;
    connection_.Close();
    if (sent.ok()) return response.status();
  }
  connection_.Close();
  return sent;
}

}  // namespace vitrine
