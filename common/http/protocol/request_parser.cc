// SPDX-License-Identifier: Apache-2.0
#include "common/http/protocol/request_parser.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/optional/optional.hpp>
#include <boost/system/error_code.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/http/body.h"
#include "common/status_macros.h"

namespace vitrine {

namespace beast = boost::beast;

namespace {

constexpr absl::string_view kEndOfHead = "\r\n\r\n";

// Returns true if a header line starts with a space or a tab, which continues the previous line. Beast joins such
// lines; RFC 9112 (section 5.2) requires that they are rejected.
bool IsFolded(absl::string_view head) {
  return absl::StrContains(head, "\n ") || absl::StrContains(head, "\n\t");
}

// Size that a header counts in addition to its text, as in HTTP/2. A short header takes at least this much memory.
constexpr size_t kFieldBytes = 32;

// Returns the size that `bytes`, a part of the headers, counts towards the limit. `is_first`: the bytes begin with the
// request line.
size_t CountedSize(absl::string_view bytes, bool is_first) {
  size_t size = bytes.size();
  bool begins_line = !is_first;
  for (const char c : bytes) {
    if (begins_line && c != '\r') size += kFieldBytes;
    begins_line = c == '\n';
  }
  return size;
}

// Rejects a line feed in the extensions of a chunk. Beast accepts it in a quoted value; a proxy may end the line there
// and find other chunks.
void CheckExtensions(uint64_t /*size*/, beast::string_view extensions, beast::error_code& error) {
  if (extensions.find('\n') != beast::string_view::npos) error = beast::http::error::bad_chunk_extension;
}

}  // namespace

struct HttpRequestParser::Parser {
  // Body of Beast's parser: a string that grows with the bytes received, and counts in a budget. Beast's own
  // string_body reserves the whole Content-Length at once, so that a client could occupy memory without sending a body
  // of this size.
  struct GrowingBody {
    struct value_type {
      std::string bytes;
      std::optional<size_t> length;  // Content-Length
      BudgetShare share;
    };

    class reader {  // Beast requires this name and the names of its functions
     public:
      template <bool kIsRequest, typename Fields>
      reader(beast::http::header<kIsRequest, Fields>&, value_type& body) : body_(body) {}

      void init(const boost::optional<uint64_t>& length, beast::error_code& error) {
        error = {};
        if (length.has_value()) body_.length = *length;
      }

      template <typename Buffers>
      size_t put(const Buffers& buffers, beast::error_code& error) {
        error = {};
        const size_t before = body_.bytes.size();
        for (const boost::asio::const_buffer part : beast::buffers_range_ref(buffers)) {
          if (!MakeRoom(body_.bytes, part.size(), body_.length, body_.share)) {
            error = make_error_code(boost::system::errc::not_enough_memory);
            break;
          }
          body_.bytes.append(static_cast<const char*>(part.data()), part.size());
        }
        return body_.bytes.size() - before;
      }

      void finish(beast::error_code& error) { error = {}; }

     private:
      value_type& body_;
    };
  };

  explicit Parser(size_t max_head_bytes) : max_head_bytes(max_head_bytes) {}

  beast::http::request_parser<GrowingBody> of;
  const size_t max_head_bytes;
  size_t head_bytes = 0;  // counted size of the headers consumed so far
  int64_t max_body_bytes = 0;
};

HttpRequestParser::HttpRequestParser(size_t max_head_bytes) : parser_(std::make_unique<Parser>(max_head_bytes)) {
  parser_->of.header_limit(static_cast<uint32_t>(max_head_bytes));
  parser_->of.body_limit(boost::none);  // the caller checks Content-Length
  parser_->of.on_chunk_header(CheckExtensions);
}

HttpRequestParser::~HttpRequestParser() = default;

absl::StatusOr<size_t> HttpRequestParser::Take(absl::string_view bytes) {
  const bool is_head = !has_head();
  if (is_head) {  // Beast's first put takes all complete lines; a later put takes the rest of the headers or nothing
    const size_t end = bytes.find(kEndOfHead);
    const absl::string_view head = bytes.substr(0, end == absl::string_view::npos ? end : end + kEndOfHead.size());
    if (parser_->head_bytes + CountedSize(head, parser_->head_bytes == 0) > parser_->max_head_bytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("the request's headers exceed ", parser_->max_head_bytes, " bytes"));
    }
    if (IsFolded(bytes.substr(0, end))) {
      return absl::InvalidArgumentError("the request is not HTTP/1.1: a header is folded over several lines");
    }
  }
  beast::error_code error;
  size_t taken = 0;
  try {
    taken = parser_->of.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  } catch (const std::length_error&) {  // header_limit does not cover the trailers of a chunked body
    return absl::InvalidArgumentError("a trailer field is longer than 65,533 bytes");
  }
  if (is_head) parser_->head_bytes += CountedSize(bytes.substr(0, taken), parser_->head_bytes == 0);
  if (!error || error == beast::http::error::need_more) return taken;
  if (error == beast::http::error::body_limit) {
    return TooLargeError(absl::StrCat("the body has more than the ", parser_->max_body_bytes, " bytes allowed"));
  }
  if (error == boost::system::errc::not_enough_memory) return NoRoomError();
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
  head.headers = Fields();
  const beast::string_view target = message.target();
  RETURN_IF_ERROR(ReadTarget(absl::string_view(target.data(), target.size()), head));
  RETURN_IF_ERROR(CheckHost(head));
  RETURN_IF_ERROR(CheckBodyLength(head));
  return head;
}

HttpHeaders HttpRequestParser::Fields() const {
  HttpHeaders fields;
  for (const auto& field : parser_->of.get()) {
    fields.emplace_back(std::string(field.name_string()), std::string(field.value()));
  }
  return fields;
}

size_t HttpRequestParser::head_bytes() const {
  return parser_->head_bytes;
}

void HttpRequestParser::ReadBody(int64_t max_bytes, BudgetShare share) {
  parser_->max_body_bytes = max_bytes;
  parser_->of.get().body().share = std::move(share);
  parser_->of.eager(true);
  parser_->of.body_limit(static_cast<uint64_t>(max_bytes));
}

size_t HttpRequestParser::body_bytes() const {
  return parser_->of.get().body().bytes.size();
}

bool HttpRequestParser::is_done() const {
  return parser_->of.is_done();
}

std::string HttpRequestParser::TakeBody() {
  return std::move(parser_->of.get().body().bytes);
}

BudgetShare HttpRequestParser::TakeShare() {
  return std::move(parser_->of.get().body().share);
}

}  // namespace vitrine
