// SPDX-License-Identifier: Apache-2.0
#include "server/wire/http/page_files.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <system_error>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "common/gzip.h"
#include "common/http/compress.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "server/wire/http/embedded_page.h"
#include "server/wire/http/json_document.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;

// Content-Security-Policy: allows only files of this server, and no inline scripts or styles.
constexpr char kPagePolicy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

constexpr std::pair<const char*, const char*> kTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},
    {".png", "image/png"},
    {".webp", "image/webp"},
};

// Returns the media type of a file name; empty if unknown.
std::string TypeOfName(const std::string& name) {
  for (const auto& [ending, type] : kTypes) {
    if (absl::EndsWithIgnoreCase(name, ending)) return type;
  }
  return "";
}

bool IsSample(const fs::directory_entry& entry) {
  return entry.is_regular_file() && absl::StartsWith(TypeOfName(entry.path().filename()), "image/") &&
         entry.path().extension() != ".svg";
}

absl::Status RefuseSamples(const std::string& folder, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("--page-samples is \"", folder, "\", ", why));
}

// Returns the files GROUP/NAME of the folder, sorted; at most `most` + 1 files.
absl::StatusOr<std::set<fs::path>> FindSamples(const std::string& folder, size_t most) {
  std::set<fs::path> found;
  try {
    for (const fs::directory_entry& group : fs::directory_iterator(folder)) {
      if (!group.is_directory()) continue;
      for (const fs::directory_entry& entry : fs::directory_iterator(group)) {
        if (IsSample(entry)) found.insert(entry.path());
        if (found.size() > most) return found;
      }
    }
  } catch (const fs::filesystem_error& error) {
    return RefuseSamples(folder, absl::StrCat("which cannot be read: ", error.code().message()));
  }
  return found;
}

absl::StatusOr<std::string> ReadSample(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() && !file.eof()) return absl::InvalidArgumentError(absl::StrCat(path.string(), " cannot be read"));
  return bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<const PageFiles>> PageFiles::Open(const std::string& samples, bool burst) {
  auto page = std::unique_ptr<PageFiles>(new PageFiles());
  for (const EmbeddedFile& file : EmbeddedPage()) {
    const std::string name(file.name);
    page->Add(name == "index.html" ? "/" : "/page/" + name, TypeOfName(name), file.bytes);
  }
  RETURN_IF_ERROR(page->AddSamples(samples, burst));
  return page;
}

void PageFiles::Add(std::string path, std::string type, std::string_view bytes) {
  constexpr size_t kTagDigits = 16;
  const std::string digits = Sha256Hex(bytes).substr(0, kTagDigits);
  File file = {.type = std::move(type),
               .bytes = bytes,
               .packed = {},
               .tag = absl::StrCat("\"", digits, "\""),
               .packed_tag = absl::StrCat("\"", digits, "-gzip\"")};
  if (bytes.size() >= kLeastCompressedBytes && IsCompressible(file.type)) {
    file.packed = Gzip(absl::string_view(bytes.data(), bytes.size()));
    if (file.packed.size() >= bytes.size()) file.packed.clear();
  }
  files_.emplace(std::move(path), std::move(file));
}

absl::Status PageFiles::AddSamples(const std::string& folder, bool burst) {
  JsonDocument list;
  list.root = JsonObject();
  list.root["burst"] = burst;
  nlohmann::json& samples = list.root["samples"] = JsonArray();
  if (!folder.empty()) {
    ASSIGN_OR_RETURN(const std::set<fs::path> found, FindSamples(folder, kMaxSamples));
    if (found.empty()) return RefuseSamples(folder, "which has no JPEG, PNG or WebP in a subfolder, as GROUP/cat.jpg");
    if (found.size() > kMaxSamples) {
      return RefuseSamples(folder, absl::StrCat("which has more than ", kMaxSamples, " images"));
    }
    int64_t bytes = 0;
    for (const fs::path& file : found) {
      const std::string group = file.parent_path().filename(), name = file.filename();
      const std::string path = absl::StrCat("/page/samples/", group, "/", name);
      ASSIGN_OR_RETURN(kept_[path], ReadSample(file));
      bytes += static_cast<int64_t>(kept_[path].size());
      if (bytes > kMaxSampleBytes) {
        return RefuseSamples(folder, absl::StrCat("with images of more than ", kMaxSampleBytes >> 20, " MiB"));
      }
      Add(path, TypeOfName(name), kept_[path]);
      nlohmann::json& sample = Append(samples) = JsonObject();
      sample["group"] = group;
      sample["name"] = name;
      sample["path"] = path;
    }
  }
  Add("/page/samples", "application/json", kept_["/page/samples"] = list.Text());
  return absl::OkStatus();
}

std::optional<HttpResponse> PageFiles::Answer(std::string_view method, std::string_view path,
                                              std::string_view if_none_match, std::string_view accept_encoding) const {
  if (method != "GET" && method != "HEAD") return std::nullopt;
  const auto found = files_.find(path);
  if (found == files_.end()) return std::nullopt;
  const File& file = found->second;
  const bool has_it = if_none_match.find(file.tag) != std::string_view::npos ||
                      if_none_match.find(file.packed_tag) != std::string_view::npos;
  const bool packed =
      !file.packed.empty() && TakesGzip(absl::string_view(accept_encoding.data(), accept_encoding.size()));
  HttpResponse response = {.code = has_it ? 304 : 200,
                           .type = file.type,
                           .headers = {{"Content-Security-Policy", kPagePolicy},
                                       {"X-Content-Type-Options", "nosniff"},
                                       {"Referrer-Policy", "no-referrer"},
                                       {"ETag", packed ? file.packed_tag : file.tag},
                                       {"Cache-Control", "no-cache"},
                                       {"Vary", "Accept-Encoding"}}};
  if (has_it) return response;
  response.body = packed ? file.packed : std::string(file.bytes);
  if (packed) response.headers.emplace_back("Content-Encoding", "gzip");
  return response;
}

}  // namespace vitrine
