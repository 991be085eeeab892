// SPDX-License-Identifier: Apache-2.0
// The dependency rules of cmake/rooms.cmake, held against every #include and every link edge.
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
using Edges = std::map<std::string, std::set<std::string>>;

std::string ReadFile(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> Matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) found.push_back((*it)[1]);
  return found;
}

// The table in cmake/rooms.cmake, which is also what stops the configuration.
Edges AllowedEdges() {
  Edges allowed;
  const std::string text = ReadFile(fs::path(VITRINE_SOURCE) / "cmake/rooms.cmake");
  const std::regex row(R"(set\(ROOM_ALLOWS_(\w+) ([^)]*)\))");
  for (std::sregex_iterator it(text.begin(), text.end(), row), end; it != end; ++it) {
    std::istringstream rooms((*it)[2].str());
    std::set<std::string> set(std::istream_iterator<std::string>(rooms), {});
    set.erase("\"\"");
    allowed[(*it)[1]] = set;
  }
  return allowed;
}

std::vector<fs::path> SourcesOf(const std::string& room) {
  std::vector<fs::path> sources;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(VITRINE_SOURCE) / room)) {
    const std::string extension = entry.path().extension();
    if (extension == ".cc" || extension == ".h" || extension == ".cu" || extension == ".cuh") sources.push_back(entry);
  }
  return sources;
}

std::string RoomOfInclude(const std::string& include) {
  if (include.starts_with("vitrine/v1/")) return "proto";
  return include.substr(0, include.find('/'));
}

TEST(Rooms, IncludeOnlyWhatTheTableAllows) {
  const Edges allowed = AllowedEdges();
  ASSERT_EQ(allowed.size(), 15u) << "the table in cmake/rooms.cmake was not read";
  int includes = 0;
  for (const auto& [room, targets] : allowed) {
    for (const fs::path& source : SourcesOf(room)) {
      for (const std::string& include : Matches(ReadFile(source), std::regex("#include [<\"]([^>\"]+/[^>\"]+)[>\"]"))) {
        const std::string target = RoomOfInclude(include);
        if (!allowed.contains(target) && target != "programs" && target != "tests") continue;
        ++includes;
        EXPECT_TRUE(target == room || targets.contains(target)) << source << " includes " << include;
      }
    }
  }
  EXPECT_GT(includes, 50);
}

// The back-end interface must not depend on the CPU back end, so that other back ends can be added.
TEST(Rooms, TheBackendIncludesNothingOfTheCpus) {
  std::set<std::string> seen = {"engine/backend.h"};
  std::vector<std::string> next = {"engine/backend.h"};
  while (!next.empty()) {
    const std::string header = next.back();
    next.pop_back();
    EXPECT_FALSE(header.starts_with("engine/cpu")) << header;
    const std::string text = ReadFile(fs::path(VITRINE_SOURCE) / header);
    for (const std::string& include : Matches(text, std::regex("#include \"([^\"]+)\""))) {
      if (fs::exists(fs::path(VITRINE_SOURCE) / include) && seen.insert(include).second) next.push_back(include);
    }
  }
  EXPECT_GE(seen.size(), 5u);
}

// Every room may use base, so base must use none.
TEST(Rooms, BaseUsesNoRoom) {
  const Edges allowed = AllowedEdges();
  for (const fs::path& source : SourcesOf("base")) {
    for (const std::string& include : Matches(ReadFile(source), std::regex("#include \"([^\"]+)\""))) {
      EXPECT_FALSE(allowed.contains(RoomOfInclude(include))) << source << " includes " << include;
    }
  }
}

// Covers the gRPC library and its generated stubs; the messages of its standard services may be used elsewhere.
TEST(Rooms, OnlyTheClientSeesGrpc) {
  const std::regex grpc(
      R"(#include [<"](grpcpp/[^>"]*|grpc/[^/>"]*|grpc/(?:support|impl)/[^>"]*|[^>"]*\.grpc\.pb\.h)[>"])");
  for (const auto& [room, targets] : AllowedEdges()) {
    if (room == "client") continue;
    for (const fs::path& source : SourcesOf(room)) {
      EXPECT_THAT(Matches(ReadFile(source), grpc), testing::IsEmpty()) << source << " sees gRPC";
    }
  }
}

// They neither include nor link LibTorch.
const std::set<std::string> kWithoutTensors = {"models", "engine",  "repository", "server",   "client",
                                               "report", "imaging", "data",       "describe", "publish"};

TEST(Rooms, ModelsAndClientKeepTheirHeavyNeighboursOut) {
  for (const fs::path& source : SourcesOf("models")) {
    EXPECT_THAT(ReadFile(source), testing::Not(testing::HasSubstr("opencv2/"))) << source;
  }
  for (const std::string& room : kWithoutTensors) {
    for (const fs::path& source : SourcesOf(room)) {
      EXPECT_THAT(Matches(ReadFile(source), std::regex("#include [<\"]((?:ATen|torch|c10)/[^>\"]+)[>\"]")),
                  testing::IsEmpty())
          << source << " sees LibTorch";
    }
  }
}

TEST(Rooms, LinkOnlyWhatTheTableAllows) {
  const Edges allowed = AllowedEdges();
  std::istringstream lines(ReadFile(VITRINE_BUILD "/link-edges.txt"));
  int rooms = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::string target = line.substr(0, line.find(':'));
    const std::string room = target.substr(sizeof("vitrine_") - 1);
    if (room == "services") continue;
    ++rooms;
    ASSERT_TRUE(allowed.contains(room)) << line;
    for (const std::string& link : Matches(line.substr(line.find(':')), std::regex("vitrine_(\\w+)"))) {
      if (link == "services") {
        EXPECT_EQ(room, "client") << line;
      } else if (link == "otlp") {
        EXPECT_EQ(room, "server") << line;
      } else {
        EXPECT_TRUE(allowed.at(room).contains(link)) << target << " links vitrine_" << link;
      }
    }
    if (room != "client") {
      EXPECT_THAT(line, testing::Not(testing::HasSubstr("gRPC::")));
    }
    if (kWithoutTensors.contains(room)) {
      EXPECT_THAT(line, testing::Not(testing::HasSubstr("torch_cpu")));
    }
  }
  EXPECT_EQ(rooms, 15);
}

TEST(Rooms, NothingIncludesPrograms) {
  for (const std::string room : {"bench", "tests"}) {
    for (const fs::path& source : SourcesOf(room)) {
      if (source.filename() == "rooms_test.cc") continue;
      EXPECT_THAT(ReadFile(source), testing::Not(testing::HasSubstr("#include \"programs/"))) << source;
    }
  }
}

}  // namespace
