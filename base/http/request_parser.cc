// SPDX-License-Identifier: Apache-2.0
#include "base/http/request_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <stdexcept>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace vitrine {

namespace beast = boost::beast;

struct HttpRequestParser::Parser {
  beast::http::request_parser<beast::http::string_body> of;
};

HttpRequestParser::HttpRequestParser() : parser_(std::make_unique<Parser>()) {
  parser_->of.header_limit(kMaxHttpHeadBytes);
  parser_->of.body_limit(boost::none);  // who reads the head looks at the length
}

HttpRequestParser::~HttpRequestParser() = default;

absl::StatusOr<size_t> HttpRequestParser::Take(absl::string_view bytes) {
  beast::error_code error;
  size_t taken = 0;
  try {
    taken = parser_->of.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  } catch (const std::length_error&) {  // header_limit does not hold for what follows the last chunk
    return absl::InvalidArgumentError("a field behind the body is longer than 65,533 bytes");
  }
  if (!error || error == beast::http::error::need_more) return taken;
  if (error == beast::http::error::header_limit) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the head of the request is longer than ", kMaxHttpHeadBytes, " bytes"));
  }
  if (error == beast::http::error::body_limit) {
    return absl::ResourceExhaustedError("the body has more bytes than are read");
  }
  return absl::InvalidArgumentError(absl::StrCat("the request is not HTTP/1.1: ", error.message()));
}

bool HttpRequestParser::has_head() const {
  return parser_->of.is_header_done();
}

absl::StatusOr<HttpHead> HttpRequestParser::Head() const {
  const auto& message = parser_->of.get();
  HttpHead head;
  head.method = std::string(message.method_string());
  head.minor_version = static_cast<int>(message.version() % 10);
  for (const auto& field : message) {
    head.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  const beast::string_view target = message.target();
  RETURN_IF_ERROR(ReadTarget(absl::string_view(target.data(), target.size()), head));
  RETURN_IF_ERROR(CheckBodyLength(head));
  return head;
}

void HttpRequestParser::ReadBody(int64_t max_bytes) {
  parser_->of.eager(true);
  parser_->of.body_limit(static_cast<uint64_t>(max_bytes));
}

size_t HttpRequestParser::body_bytes() const {
  return parser_->of.get().body().size();
}

bool HttpRequestParser::is_done() const {
  return parser_->of.is_done();
}

std::string HttpRequestParser::TakeBody() {
  return std::move(parser_->of.get().body());
}

}  // namespace vitrine
