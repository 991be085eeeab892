// SPDX-License-Identifier: Apache-2.0
// Tests which symbols libvitrine_engine.so exports, and runs the example in C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/client/shell.h"
#include "tests/paths.h"
#include "tests/scratch_folder.h"

namespace vitrine {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kLibrary[] = VITRINE_BUILD "/lib/libvitrine_engine.so";

TEST(EngineLibrary, ExportsOnlyItsApi) {
  const Ran ran = Shell(ScratchFolder(), std::string("nm -D --defined-only ") + kLibrary);
  EXPECT_THAT(ran.out, HasSubstr(" vitrine_engine_run@@VITRINE_ENGINE_1\n"));
  std::istringstream lines(ran.out);
  for (std::string address, kind, name; lines >> address >> kind >> name;) {
    EXPECT_TRUE(name.starts_with("vitrine_engine_") || name == "VITRINE_ENGINE_1") << name;
  }
}

TEST(EngineLibrary, NeedsNoOpenCvAndNoLibTorch) {
  const Ran ran = Shell(ScratchFolder(), std::string("ldd ") + kLibrary);
  EXPECT_THAT(ran.out, HasSubstr("libprotobuf"));
  EXPECT_THAT(ran.out, Not(HasSubstr("opencv")));
  EXPECT_THAT(ran.out, Not(HasSubstr("torch")));
}

TEST(EngineLibrary, TheExampleInCClassifies) {
  const ScratchFolder folder;
  const std::string source = VITRINE_SOURCE;
  Ran ran = Shell(folder, "cc -std=c99 -Wall -Wextra -Werror -I" + source + "/client/engine " + source +
                              "/client/examples/engine/classify.c " + kLibrary +
                              " -Wl,-rpath," VITRINE_BUILD "/lib -o classify");
  ASSERT_EQ(ran.exit_code, 0) << ran.errors;
  ran = Shell(folder, "./classify " + source + "/models/bundled/kv-pos-mnist " + source +
                          "/samples/digits/digit-7.png " + source + "/VERSION");
  EXPECT_EQ(ran.exit_code, 1);
  EXPECT_THAT(ran.out, HasSubstr("digit-7.png: 7 "));
  EXPECT_THAT(ran.errors, HasSubstr("VERSION: "));
}

}  // namespace
}  // namespace vitrine
