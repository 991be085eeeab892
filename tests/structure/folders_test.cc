// SPDX-License-Identifier: Apache-2.0
// Tests that a folder of the server includes only its own headers and headers of folders before it in the list of
// server/CMakeLists.txt.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/paths.h"

namespace {

namespace fs = std::filesystem;

std::string TextOf(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the folders in the order of server/CMakeLists.txt, lowest first. The last one is server/ itself, whose files
// may include all other folders.
std::vector<std::string> Folders() {
  const std::string text = TextOf(fs::path(VITRINE_SOURCE) / "server/CMakeLists.txt");
  std::smatch list;
  if (!std::regex_search(text, list, std::regex(R"(foreach\(folder ([^)]*)\))"))) return {};
  std::istringstream names(list[1].str());
  std::vector<std::string> folders(std::istream_iterator<std::string>(names), {});
  folders.push_back("");
  return folders;
}

TEST(Folders, IncludeOnlyLowerFolders) {
  const std::vector<std::string> folders = Folders();
  const auto height = [&](const fs::path& folder) {
    return std::find(folders.begin(), folders.end(), folder.string()) - folders.begin();
  };
  const fs::path server = fs::path(VITRINE_SOURCE) / "server";
  const std::regex include("#include \"server/([^\"]+)\"");
  int includes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(server)) {
    if (entry.path().extension() != ".cc" && entry.path().extension() != ".h") continue;
    const fs::path folder = fs::relative(entry.path(), server).parent_path();
    ASSERT_LT(height(folder), std::ssize(folders))
        << entry.path() << " is in a folder that server/CMakeLists.txt does not list";
    const std::string text = TextOf(entry.path());
    for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
      ++includes;
      EXPECT_LE(height(fs::path((*it)[1].str()).parent_path()), height(folder))
          << entry.path() << " includes server/" << (*it)[1];
    }
  }
  EXPECT_GT(includes, 500);
}

}  // namespace
