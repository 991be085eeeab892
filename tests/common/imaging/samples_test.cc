// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "common/imaging/decode.h"
#include "tests/paths.h"
#include "tests/read_file.h"

namespace vitrine {
namespace {

TEST(Samples, AreSmallAndDecode) {
  const std::filesystem::path samples = VITRINE_SOURCE "/samples";
  const std::string page = ReadFile(samples / "README.md");
  int64_t bytes = 0;
  int photographs = 0, digits = 0;
  std::set<std::pair<int, int>> shapes;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(samples)) {
    if (!entry.is_regular_file()) continue;
    bytes += static_cast<int64_t>(entry.file_size());
    if (entry.path().extension() != ".jpg" && entry.path().extension() != ".png") continue;
    const absl::StatusOr<Image> image = Decode(ReadFile(entry.path()));
    ASSERT_TRUE(image.ok()) << entry.path() << ": " << image.status();
    const bool digit = entry.path().parent_path().filename() == "digits";
    (digit ? digits : photographs) += 1;
    if (digit) continue;
    shapes.insert({image->width, image->height});
    EXPECT_NE(page.find(entry.path().filename().string()), std::string::npos)
        << "samples/README.md does not state the source of " << entry.path().filename();
  }
  EXPECT_GE(photographs, 8);
  EXPECT_GE(digits, 6);
  EXPECT_GE(shapes.size(), 5u);
  EXPECT_LE(bytes, 1 << 20);
}

}  // namespace
}  // namespace vitrine
