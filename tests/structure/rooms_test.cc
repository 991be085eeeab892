// SPDX-License-Identifier: Apache-2.0
// Checks every #include and every linked library against the dependency rules of cmake/rooms.cmake.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/paths.h"

namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) found.push_back((*it)[1]);
  return found;
}

struct Room {
  std::string folder;
  std::set<std::string> uses;
};
using Rooms = std::map<std::string, Room>;

// The folder that every room (a source folder with its own rules) may use. It uses no room and is not in the table.
const std::string kParts = "common";

// Returns the table of cmake/rooms.cmake. CMake enforces this table as well.
Rooms Table() {
  Rooms table = {{kParts, {kParts, {}}}};
  const std::string text = ReadFile(fs::path(VITRINE_SOURCE) / "cmake/rooms.cmake");
  const std::regex row(R"(\nroom\((\w+) (\S+?)((?:\s+\w+)*)\))");
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) {
    std::istringstream uses((*it)[3].str());
    table[(*it)[1]] = {(*it)[2], {std::istream_iterator<std::string>(uses), {}}};
  }
  return table;
}

// Returns the room of a path relative to the root: the room with the innermost folder that contains the path, or "" if
// no room contains it.
std::string RoomOf(const Rooms& table, const std::string& path) {
  if (path.starts_with("vitrine/v1/")) return "proto";
  std::string found;
  size_t longest = 0;
  for (const auto& [name, room] : table) {
    if (room.folder.size() > longest && path.starts_with(room.folder + "/")) {
      found = name;
      longest = room.folder.size();
    }
  }
  return found;
}

std::vector<fs::path> SourcesBelow(const std::string& folder) {
  std::vector<fs::path> sources;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(VITRINE_SOURCE) / folder)) {
    const std::string extension = entry.path().extension();
    if (extension == ".cc" || extension == ".h" || extension == ".cu" || extension == ".cuh") sources.push_back(entry);
  }
  return sources;
}

// Returns the sources of a room, but not the sources of other rooms inside its folder.
std::vector<fs::path> SourcesOf(const Rooms& table, const std::string& room) {
  std::vector<fs::path> sources = SourcesBelow(table.at(room).folder);
  std::erase_if(sources,
                [&](const fs::path& source) { return RoomOf(table, fs::relative(source, VITRINE_SOURCE)) != room; });
  return sources;
}

TEST(SourceFolders, IncludeOnlyAllowedFolders) {
  const Rooms table = Table();
  ASSERT_GE(table.size(), 15u) << "the table in cmake/rooms.cmake was not read";
  int includes = 0;
  for (const auto& [room, row] : table) {
    for (const fs::path& source : SourcesOf(table, room)) {
      for (const std::string& include : Matches(ReadFile(source), std::regex("#include [<\"]([^>\"]+/[^>\"]+)[>\"]"))) {
        EXPECT_FALSE(include.starts_with("tests/")) << source << " includes " << include;
        const std::string target = RoomOf(table, include);
        if (target.empty() || target == kParts) continue;
        ++includes;
        EXPECT_TRUE(target == room || row.uses.contains(target)) << source << " includes " << include;
      }
    }
  }
  EXPECT_GT(includes, 50);
}

// The interface of back ends must include no back end, so that other back ends can be added.
TEST(SourceFolders, TheInterfaceOfBackEndsIncludesNoBackEnd) {
  std::set<std::string> seen = {"models/engine/backend.h"};
  std::vector<std::string> next = {"models/engine/backend.h"};
  while (!next.empty()) {
    const std::string header = next.back();
    next.pop_back();
    EXPECT_FALSE(header.starts_with("models/engine/cpu") || header.starts_with("models/engine/cuda")) << header;
    const std::string text = ReadFile(fs::path(VITRINE_SOURCE) / header);
    for (const std::string& include : Matches(text, std::regex("#include \"([^\"]+)\""))) {
      if (fs::exists(fs::path(VITRINE_SOURCE) / include) && seen.insert(include).second) next.push_back(include);
    }
  }
  EXPECT_GE(seen.size(), 5u);
}

// The pattern matches gRPC's library and the code that its plugin generates. It does not match the messages of gRPC's
// standard services, which all rooms may use.
TEST(SourceFolders, OnlyTheClientIncludesGrpc) {
  const std::regex grpc(
      R"(#include [<"](grpcpp/[^>"]*|grpc/[^/>"]*|grpc/(?:support|impl)/[^>"]*|[^>"]*\.grpc\.pb\.h)[>"])");
  const Rooms table = Table();
  for (const auto& [room, row] : table) {
    if (room == "client") continue;
    for (const fs::path& source : SourcesOf(table, room)) {
      EXPECT_THAT(Matches(ReadFile(source), grpc), testing::IsEmpty()) << source << " includes gRPC";
    }
  }
}

const std::regex kLibTorch("#include [<\"]((?:ATen|torch|c10)/[^>\"]+)[>\"]");

// Returns true if the room may include and link LibTorch.
bool SeesTensors(const Room& room) {
  return room.folder.starts_with("models/reference") || room.folder == "trainer";
}

// OpenCV would add its libraries, LAPACK and BLAS to the container images.
TEST(SourceFolders, OnlyReferenceAndTrainerIncludeLibTorchAndNoneOpenCv) {
  const Rooms table = Table();
  for (const auto& [name, room] : table) {
    for (const fs::path& source : SourcesOf(table, name)) {
      EXPECT_THAT(ReadFile(source), testing::Not(testing::HasSubstr("opencv2/"))) << source;
      if (SeesTensors(room)) continue;
      EXPECT_THAT(Matches(ReadFile(source), kLibTorch), testing::IsEmpty()) << source << " includes LibTorch";
    }
  }
}

// Tests of the server are built on machines without LibTorch too.
TEST(SourceFolders, TestsOfTheServerNeedNoLibTorch) {
  for (const char* folder : {"tests/server", "tests/e2e", "tests/faults", "tests/client", "tests/common"}) {
    for (const fs::path& source : SourcesBelow(folder)) {
      const std::string text = ReadFile(source);
      EXPECT_THAT(Matches(text, kLibTorch), testing::IsEmpty()) << source;
      EXPECT_THAT(text, testing::Not(testing::HasSubstr("#include \"models/reference/"))) << source;
    }
  }
}

TEST(SourceFolders, LinkOnlyAllowedLibraries) {
  const Rooms table = Table();
  std::istringstream lines(ReadFile(VITRINE_BUILD "/link-edges.txt"));
  int rooms = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string target = line.substr(0, line.find(':'));
    const std::string room = target.substr(sizeof("vitrine_") - 1);
    if (room == "services") continue;
    ++rooms;
    ASSERT_TRUE(table.contains(room)) << line;
    for (const std::string& link : Matches(line.substr(line.find(':')), std::regex("vitrine_(\\w+)"))) {
      if (link == "services") {
        EXPECT_EQ(room, "client") << line;
      } else if (link == "otlp") {
        EXPECT_EQ(room, "server") << line;
      } else {
        EXPECT_TRUE(table.at(room).uses.contains(link)) << target << " links vitrine_" << link;
      }
    }
    if (room != "client") {
      EXPECT_THAT(line, testing::Not(testing::HasSubstr("gRPC::")));
    }
    if (!SeesTensors(table.at(room))) {
      EXPECT_THAT(line, testing::Not(testing::HasSubstr("torch_cpu")));
    }
  }
  EXPECT_GE(rooms, 14);
}

// A header in the folder of a program, for example its flags, may be included only by files in this folder.
TEST(SourceFolders, OnlyAProgramIncludesItsOwnFlags) {
  const std::regex program("#include \"((?:programs|(?:client|trainer)/cli|models/tool|bench/gpu_check)/[^\"/]*)\"");
  for (const std::string folder : {"bench", "client", "server", "tests", "trainer"}) {
    for (const fs::path& source : SourcesBelow(folder)) {
      const std::string own = fs::relative(source.parent_path(), VITRINE_SOURCE);
      for (const std::string& include : Matches(ReadFile(source), program)) {
        EXPECT_TRUE(include.starts_with(own + "/")) << source << " includes " << include;
      }
    }
  }
}

}  // namespace
