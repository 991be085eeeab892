// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/curl_line.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/imaging/file_type.h"

namespace vitrine {
namespace {

constexpr std::string_view kJpegBegins = "\xFF\xD8\xFF";
constexpr std::string_view kPngBegins = "\x89PNG";
constexpr std::string_view kWebpBegins = "RIFF";  // followed by a length, which curl may have shortened, and "WEBP"
constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1A\n";

// Returns `text` if it is safe to paste into a shell, else `otherwise`. All valid hosts, model names and versions are
// safe.
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

bool BeginsWith(std::string_view body, std::string_view beginning) {
  return body.substr(0, beginning.size()) == beginning;
}

bool LooksLikeWebp(std::string_view body) {
  constexpr size_t kNearFront = 12;
  return BeginsWith(body, kWebpBegins) && body.substr(0, kNearFront).find("WEBP") != std::string_view::npos;
}

// Returns true if curl's -d has removed zeros, CRs and LFs. Every complete JPEG has a zero byte: the first byte of the
// length of its first segment. Every complete WebP has zero bytes, too. If the length field of a WebP has lost a byte,
// "WEBP" begins at an earlier offset.
bool LostBytes(std::string_view body) {
  if (LooksLikeWebp(body) && body.substr(8, 4) != "WEBP") return true;
  if (BeginsWith(body, kPngBegins)) {
    return body.substr(0, kPngSignature.size()) != kPngSignature && body.find('\n') == std::string_view::npos;
  }
  return body.find_first_of(std::string_view("\0\r\n", 3)) == std::string_view::npos;
}

}  // namespace

std::string CurlLine(const HttpRequest& request, const std::string& model, const std::string& version) {
  return absl::StrCat("curl --data-binary @IMAGE http", request.peer->is_encrypted ? "s" : "", "://",
                      Pasteable(request.Header("Host").value_or(""), "HOST:PORT"), "/v1/models/",
                      Pasteable(model, "NAME"), version.empty() ? "" : "/versions/",
                      version.empty() ? "" : Pasteable(version, "VERSION"), ":classify");
}

bool LooksLikeImage(std::string_view body) {
  return BeginsWith(body, kJpegBegins) || BeginsWith(body, kPngBegins) || LooksLikeWebp(body);
}

absl::Status CheckImage(std::string_view body, const std::string& curl_line) {
  if (body.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the body is empty; it must be the bytes of a JPEG, PNG or WebP: ", curl_line));
  }
  if (!LooksLikeImage(body)) {
    const absl::string_view type = FileTypeOf(body);
    return absl::InvalidArgumentError(
        absl::StrCat("the body is ", type, type.empty() ? "" : ", ",
                     "not a JPEG, PNG or WebP; send the bytes of one and nothing else: ", curl_line));
  }
  if (LostBytes(body)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the image has lost bytes, as with curl's -d, which removes line ends; send it unchanged: ", curl_line));
  }
  return absl::OkStatus();
}

}  // namespace vitrine
