// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/curl_line.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace vitrine {
namespace {

constexpr std::string_view kJpegBegins = "\xFF\xD8\xFF";
constexpr std::string_view kPngBegins = "\x89PNG";
constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1A\n";

// `text`, if a shell takes it as it is, as those of a host, a model and a version are; else `otherwise`.
std::string Pasteable(const std::string& text, const char* otherwise) {
  constexpr std::string_view kOthers = ".:-_[]";
  constexpr size_t kLongest = 255;
  for (const char c : text) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && kOthers.find(c) == std::string_view::npos) {
      return otherwise;
    }
  }
  return text.empty() || text.size() > kLongest ? otherwise : text;
}

// curl's -d leaves out these three, which no JPEG is without: its first segment's length begins with a zero.
bool LostBytes(std::string_view body) {
  if (body.substr(0, kPngBegins.size()) == kPngBegins) {
    return body.substr(0, kPngSignature.size()) != kPngSignature && body.find('\n') == std::string_view::npos;
  }
  return body.find_first_of(std::string_view("\0\r\n", 3)) == std::string_view::npos;
}

}  // namespace

std::string CurlLine(const HttpRequest& request, const std::string& model, const std::string& version) {
  return absl::StrCat("curl --data-binary @PICTURE http", request.is_encrypted ? "s" : "", "://",
                      Pasteable(request.Header("Host").value_or(""), "HOST:PORT"), "/v1/models/",
                      Pasteable(model, "NAME"), version.empty() ? "" : "/versions/",
                      version.empty() ? "" : Pasteable(version, "VERSION"), ":classify");
}

bool LooksLikePicture(std::string_view body) {
  return body.substr(0, kJpegBegins.size()) == kJpegBegins || body.substr(0, kPngBegins.size()) == kPngBegins;
}

absl::Status CheckPicture(std::string_view body, const std::string& curl_line) {
  if (body.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body is empty; it must be the bytes of a JPEG or PNG: ", curl_line));
  }
  if (!LooksLikePicture(body)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body is not a JPEG or PNG; send the bytes of one and nothing else: ", curl_line));
  }
  if (LostBytes(body)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the picture has lost bytes on its way, as by curl's -d, which leaves out line ends; send it as it is: ",
        curl_line));
  }
  return absl::OkStatus();
}

}  // namespace vitrine
