// SPDX-License-Identifier: Apache-2.0
// Tests the HTTP responses with the page's files and samples.
#include "server/wire/http/page_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "common/gunzip.h"
#include "server/wire/http/embedded_page.h"
#include "tests/paths.h"
#include "tests/read_file.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::map<std::string, std::string> HeadersOf(const HttpResponse& response) {
  return {response.headers.begin(), response.headers.end()};
}

TEST(EmbeddedPage, ContainsEveryFileUnchanged) {
  size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(VITRINE_SOURCE) / "server/page")) {
    ++files;
    const std::string name = entry.path().filename();
    const auto& all = EmbeddedPage();
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const EmbeddedFile& file) { return file.name == name; });
    ASSERT_NE(found, all.end()) << name;
    EXPECT_EQ(found->bytes, ReadFile(entry.path())) << name;
  }
  EXPECT_GT(files, 10u);
  EXPECT_EQ(EmbeddedPage().size(), files);
}

TEST(PageFiles, AreServedUnderAStrictPolicy) {
  const auto page = *PageFiles::Open("", false);
  for (const EmbeddedFile& file : EmbeddedPage()) {
    const std::string name(file.name);
    const auto answer = page->Answer("GET", name == "index.html" ? "/" : "/page/" + name, "", "");
    ASSERT_TRUE(answer.has_value()) << name;
    EXPECT_EQ(answer->code, 200);
    EXPECT_EQ(answer->body, file.bytes);
    auto headers = HeadersOf(*answer);
    EXPECT_THAT(headers["Content-Security-Policy"],
                AllOf(HasSubstr("default-src 'none'"), HasSubstr("script-src 'self';"), Not(HasSubstr("unsafe"))));
    EXPECT_EQ(headers["X-Content-Type-Options"], "nosniff");
    EXPECT_EQ(headers["Cache-Control"], "no-cache");
  }
  EXPECT_EQ(page->Answer("GET", "/", "", "")->type, "text/html; charset=utf-8");
  EXPECT_EQ(page->Answer("GET", "/page/main.js", "", "")->type, "text/javascript; charset=utf-8");
  EXPECT_EQ(page->Answer("HEAD", "/page/style.css", "", "")->type, "text/css; charset=utf-8");
  for (const char* path : {"", "//", "/page", "/page/", "/page/nobody.js", "/index.html", "/page/../page/main.js",
                           "/page/samples/a/b.jpg", "/v1/models"}) {
    EXPECT_FALSE(page->Answer("GET", path, "", "").has_value()) << path;
  }
  EXPECT_FALSE(page->Answer("POST", "/", "", "").has_value());
  EXPECT_EQ(page->Answer("GET", "/page/samples", "", "")->body, R"({"burst":false,"samples":[]})");
  const auto lively = *PageFiles::Open("", true);
  EXPECT_EQ(lively->Answer("GET", "/page/samples", "", "")->body, R"({"burst":true,"samples":[]})");
}

TEST(PageFiles, AnUnchangedFileIsNotSentAgain) {
  const auto page = *PageFiles::Open("", false);
  const std::string tag = HeadersOf(*page->Answer("GET", "/page/main.js", "", ""))["ETag"];
  ASSERT_GT(tag.size(), 10u);
  for (const std::string& has : {tag, "W/" + tag, "\"x\", " + tag}) {
    const auto answer = page->Answer("GET", "/page/main.js", has, "");
    EXPECT_EQ(answer->code, 304) << has;
    EXPECT_EQ(answer->body, "");
    EXPECT_EQ(HeadersOf(*answer)["ETag"], tag);
  }
  EXPECT_EQ(page->Answer("GET", "/page/style.css", tag, "")->code, 200) << "the tag belongs to another file";
}

TEST(PageFiles, TextsAreCompressedIfTheClientAcceptsIt) {
  const auto page = *PageFiles::Open("", false);
  const auto plain = page->Answer("GET", "/page/main.js", "", ""),
             packed = page->Answer("GET", "/page/main.js", "", "gzip");
  EXPECT_EQ(Gunzip(packed->body, plain->body.size()).value(), plain->body);
  EXPECT_EQ(HeadersOf(*packed)["Content-Encoding"], "gzip");
  EXPECT_EQ(HeadersOf(*plain).count("Content-Encoding"), 0u);
  EXPECT_NE(HeadersOf(*packed)["ETag"], HeadersOf(*plain)["ETag"]);
  for (const auto& answer : {plain, packed}) {
    EXPECT_EQ(HeadersOf(*answer)["Vary"], "Accept-Encoding");
    for (const char* accepts : {"", "gzip"}) {
      EXPECT_EQ(page->Answer("GET", "/page/main.js", HeadersOf(*answer)["ETag"], accepts)->code, 304) << accepts;
    }
  }
}

TEST(PageFiles, SamplesAreTheImagesOfEachSubfolder) {
  const ScratchFolder folder;
  const fs::path& root = folder.path();
  fs::create_directories(root / "b" / "deeper");
  fs::create_directories(root / "a");
  const auto write = [&](const char* name, const std::string& bytes) { std::ofstream(root / name) << bytes; };
  for (const char* name : {"beside.jpg", "a/readme.txt", "a/drawing.svg", "b/deeper/c.png"}) write(name, "no sample");
  write("b/x.png", "x");
  write("a/z.JPG", "z");
  const auto page = PageFiles::Open(root, false);
  ASSERT_TRUE(page.ok()) << page.status();
  const auto list = nlohmann::json::parse((*page)->Answer("GET", "/page/samples", "", "")->body)["samples"];
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0], nlohmann::json::parse(R"({"group": "a", "name": "z.JPG", "path": "/page/samples/a/z.JPG"})"));
  EXPECT_EQ(list[1]["group"], "b");
  EXPECT_EQ((*page)->Answer("GET", "/page/samples/b/x.png", "", "")->body, "x");
  EXPECT_EQ((*page)->Answer("GET", "/page/samples/a/z.JPG", "", "")->type, "image/jpeg");
  EXPECT_FALSE((*page)->Answer("GET", "/page/samples/a/readme.txt", "", "").has_value());
  EXPECT_FALSE((*page)->Answer("GET", "/page/samples/beside.jpg", "", "").has_value());
}

TEST(PageFiles, AMissingFolderOrTooManySamplesAreRefused) {
  const ScratchFolder folder;
  const fs::path& root = folder.path();
  const auto why = [&](const fs::path& samples) {
    const absl::Status status = PageFiles::Open(samples, false).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  EXPECT_THAT(why(root / "nowhere"), AllOf(HasSubstr("--page-samples"), HasSubstr("cannot be read")));
  EXPECT_THAT(why(root), HasSubstr("GROUP/cat.jpg"));
  fs::create_directories(root / "a");
  for (int i = 0; i <= PageFiles::kMaxSamples; ++i) std::ofstream(root / "a" / (std::to_string(i) + ".png")) << "x";
  EXPECT_THAT(why(root), HasSubstr("more than 256 images"));
  fs::remove(root / "a" / "0.png");
  EXPECT_TRUE(PageFiles::Open(root, false).ok());
  fs::resize_file(root / "a" / "1.png", PageFiles::kMaxSampleBytes);
  EXPECT_THAT(why(root), HasSubstr("more than 16 MiB"));
}

}  // namespace
}  // namespace vitrine
