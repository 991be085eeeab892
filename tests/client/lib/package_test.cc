// SPDX-License-Identifier: Apache-2.0
// Tests the installed package with a project outside this source tree.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/client/shell.h"
#include "tests/paths.h"
#include "tests/read_file.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using testing::HasSubstr;

// Returns a source file without its first line (the licence).
std::string TextOf(const std::string& source) {
  const std::string text = ReadFile(source);
  return text.substr(text.find('\n') + 1);
}

TEST(ClientPackage, TheDocumentShowsTheExample) {
  const std::string document = ReadFile(VITRINE_SOURCE "/docs/how-to/command-line.md");
  const std::string folder = VITRINE_SOURCE "/client/examples/classify/";
  EXPECT_THAT(document, HasSubstr("```cpp\n" + TextOf(folder + "classify.cc") + "```\n"));
  EXPECT_THAT(document, HasSubstr("```cmake\n" + TextOf(folder + "CMakeLists.txt") + "```\n"));
}

// Configures the build without the packages that the client does not need.
TEST(ClientPackage, NeedsOnlyItsOwnDependencies) {
  const ScratchFolder folder;
  const std::string cmake = VITRINE_CMAKE, compiler = VITRINE_CXX;
  std::string command =
      cmake + " -G Ninja -S " VITRINE_SOURCE " -B out -DVITRINE_CLIENT_ONLY=ON -DCMAKE_CXX_COMPILER=" + compiler +
      " -DLIBTORCH_SITE=$PWD/none";
  for (const char* package : {"prometheus-cpp", "spdlog", "nlohmann_json", "CLI11", "GTest"}) {
    command += " -DCMAKE_DISABLE_FIND_PACKAGE_" + std::string(package) + "=TRUE";
  }
  Ran ran = Shell(folder, command);
  ASSERT_EQ(ran.exit_code, 0) << ran.errors;
  ran = Shell(folder, cmake + " --build out --target help");
  EXPECT_THAT(ran.out, HasSubstr("client_package: "));
  EXPECT_THAT(ran.out, testing::Not(HasSubstr("vitrine-server: ")));
  // The inputs of all generated files must exist, and the precompiled header must compile without a compiler cache.
  ran = Shell(folder, cmake + " --build out -- -n && " + cmake + " --build out --target precompiled_client");
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.errors;
}

TEST(ClientPackage, BuildsAndRunsTheExample) {
  const ScratchFolder folder;
  const std::string cmake = VITRINE_CMAKE, compiler = VITRINE_CXX;
  Ran ran = Shell(folder, cmake + " --install " VITRINE_BUILD " --prefix prefix --component client");
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.errors;
  // Moves the package, so that the build fails if the package contains absolute paths to its own files.
  std::filesystem::rename(folder.Path("prefix"), folder.Path("moved"));
  std::filesystem::copy(VITRINE_SOURCE "/client/examples/classify", folder.Path("app"));
  ran = Shell(folder, cmake + " -G Ninja -S app -B out -DCMAKE_CXX_COMPILER=" + compiler +
                          " -DCMAKE_PREFIX_PATH=$PWD/moved && " + cmake + " --build out");
  ASSERT_EQ(ran.exit_code, 0) << ran.out << ran.errors;

  const BundledServer server(folder);
  const std::string three = VITRINE_SOURCE "/samples/digits/digit-3.png";
  ran = Shell(folder, "out/classify " + server.address() + " kv-pos-mnist " + three);
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.errors;
  EXPECT_THAT(ran.out, testing::StartsWith("3 0.9"));
  ran = Shell(folder, "out/classify " + server.address() + " other " + three);
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.errors, HasSubstr("NOT_FOUND"));

  // The example must also compile with the flags of pkg-config.
  ran = Shell(folder,
              "export PKG_CONFIG_PATH=$PWD/$(dirname $(find moved -name vitrine-client.pc)); pkg-config --libs "
              "vitrine-client && " +
                  compiler + " -std=c++20 -fsyntax-only app/classify.cc $(pkg-config --cflags vitrine-client)");
  EXPECT_EQ(ran.exit_code, 0) << ran.errors;
  EXPECT_THAT(ran.out, HasSubstr("-lvitrine_client"));
  EXPECT_THAT(ran.out, HasSubstr("-lgrpc++"));
}

}  // namespace
}  // namespace vitrine
