// SPDX-License-Identifier: Apache-2.0
#include "models/tool/publish/import/https.h"

#include <curl/curl.h>

#include <array>
#include <cstdio>
#include <exception>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

constexpr long kMostRedirects = 10;

// State of libcurl's callbacks. The callbacks must not throw, because libcurl is C.
struct Transfer {
  const FetchRequest& request;
  CURL* curl;
  FetchReply reply = {};
  absl::Status fault = {};
  size_t sent = 0;  // bytes of the request's body
  std::unique_ptr<FILE, int (*)(FILE*)> upload = {nullptr, fclose};
  std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers = {nullptr, curl_slist_free_all};
};

size_t GiveBody(char* data, size_t size, size_t count, void* from) {
  auto& transfer = *static_cast<Transfer*>(from);
  if (transfer.upload != nullptr) {
    const size_t got = fread(data, 1, size * count, transfer.upload.get());
    return ferror(transfer.upload.get()) != 0 ? CURL_READFUNC_ABORT : got;
  }
  const size_t taken = transfer.request.body.copy(data, size * count, transfer.sent);
  transfer.sent += taken;
  return taken;
}

// Called when libcurl repeats a request on a new connection because the server has closed an idle connection.
int RewindBody(void* from, curl_off_t offset, int origin) {
  auto& transfer = *static_cast<Transfer*>(from);
  transfer.sent = static_cast<size_t>(offset);
  if (transfer.upload == nullptr) return CURL_SEEKFUNC_OK;
  return fseeko(transfer.upload.get(), offset, origin) == 0 ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL;
}

size_t TakeHeader(char* data, size_t size, size_t count, void* to) {
  auto& transfer = *static_cast<Transfer*>(to);
  const absl::string_view line(data, size * count);
  try {
    // a status line begins a new response, for example after a redirect
    if (absl::StartsWith(line, "HTTP/")) transfer.reply.headers.clear();
    const size_t colon = line.find(':');
    if (colon != absl::string_view::npos) {
      const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 1));
      transfer.reply.headers[absl::AsciiStrToLower(line.substr(0, colon))] = std::string(value);
    }
  } catch (const std::exception& error) {
    transfer.fault = absl::ResourceExhaustedError(error.what());
    return 0;
  }
  return line.size();
}

absl::Status Deliver(Transfer& transfer, std::string_view bytes) {
  long status = 0;
  curl_easy_getinfo(transfer.curl, CURLINFO_RESPONSE_CODE, &status);
  transfer.reply.status = static_cast<int>(status);
  const bool succeeded = status >= 200 && status < 300;
  if (transfer.request.sink != nullptr && succeeded) return transfer.request.sink(transfer.reply, bytes);
  if (transfer.reply.body.size() + bytes.size() > transfer.request.most_bytes) {
    return absl::OutOfRangeError(
        absl::StrCat(transfer.request.url, " has more than ", transfer.request.most_bytes, " bytes"));
  }
  transfer.reply.body.append(bytes);
  return absl::OkStatus();
}

size_t TakeBody(char* data, size_t size, size_t count, void* to) {
  auto& transfer = *static_cast<Transfer*>(to);
  try {
    transfer.fault = Deliver(transfer, std::string_view(data, size * count));
  } catch (const std::exception& error) {
    transfer.fault = absl::ResourceExhaustedError(error.what());
  }
  return transfer.fault.ok() ? size * count : 0;
}

absl::Status SetContent(Transfer& transfer) {
  CURL* const curl = transfer.curl;
  const FetchRequest& request = transfer.request;
  for (const auto& [name, value] : request.headers) {
    // ";" makes libcurl send an empty header
    const std::string line = absl::StrCat(name, value.empty() ? ";" : ": ", value);
    transfer.headers.reset(curl_slist_append(transfer.headers.release(), line.c_str()));
  }
  if (request.method == "PUT" || request.method == "POST") {
    curl_off_t bytes = static_cast<curl_off_t>(request.body.size());
    if (!request.upload.empty()) {
      transfer.upload.reset(fopen(request.upload.c_str(), "re"));
      std::error_code error;
      bytes = static_cast<curl_off_t>(std::filesystem::file_size(request.upload, error));
      if (transfer.upload == nullptr || error)
        return absl::NotFoundError(absl::StrCat(request.upload.native(), ": cannot be read"));
    }
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, bytes);
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, GiveBody);
    curl_easy_setopt(curl, CURLOPT_READDATA, &transfer);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, RewindBody);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, &transfer);
    transfer.headers.reset(curl_slist_append(transfer.headers.release(), "Expect:"));
  }
  if (!request.method.empty()) curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, transfer.headers.get());
  return absl::OkStatus();
}

void SetOptions(Transfer& transfer, char* words) {
  CURL* const curl = transfer.curl;
  const FetchRequest& request = transfer.request;
  const char* const protocols = absl::StartsWith(request.url, "http://") ? "http,https" : "https";
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, protocols);
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, protocols);
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, request.follow ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirects);
  curl_easy_setopt(curl, CURLOPT_NOBODY, request.head ? 1L : 0L);
  // CURLOPT_RESUME_FROM is not used, because libcurl would then reject responses of servers without range support.
  if (request.from > 0) curl_easy_setopt(curl, CURLOPT_RANGE, absl::StrCat(request.from, "-").c_str());
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, static_cast<long>(request.connect_seconds));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.silent_seconds));
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "vitrine-repo");
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, words);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, TakeHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, TakeBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
}

}  // namespace

std::string FetchReply::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

absl::StatusOr<FetchReply> Ask(const FetchRequest& request) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  if (ready != CURLE_OK || curl == nullptr) return absl::InternalError("libcurl cannot be started");
  std::array<char, CURL_ERROR_SIZE> words = {};
  Transfer transfer{.request = request, .curl = curl.get()};
  SetOptions(transfer, words.data());
  RETURN_IF_ERROR(SetContent(transfer));
  const CURLcode code = curl_easy_perform(curl.get());
  if (!transfer.fault.ok()) return transfer.fault;
  if (code != CURLE_OK) {
    const std::string why = words[0] != '\0' ? words.data() : curl_easy_strerror(code);
    return absl::UnavailableError(absl::StrCat(request.url, ": ", why));
  }
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  transfer.reply.status = static_cast<int>(status);
  return std::move(transfer.reply);
}

}  // namespace vitrine
