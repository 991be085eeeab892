// SPDX-License-Identifier: Apache-2.0
// Runs every input in corpus/ through its fuzz target, so that faults that a fuzzer has found stay fixed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "targets.h"  // defines VITRINE_FUZZ_TARGETS(F) as F(image) F(tar) ...; CMakeLists.txt writes it
#include "tests/paths.h"
#include "tests/read_file.h"

#define VITRINE_DECLARE(name) extern "C" int name##_fuzz_one_input(const uint8_t* data, size_t size);
VITRINE_FUZZ_TARGETS(VITRINE_DECLARE)
#undef VITRINE_DECLARE

// Satisfies the linker: the mutators of the targets need this function, but are never called.
extern "C" size_t LLVMFuzzerMutate(uint8_t*, size_t size, size_t) {
  return size;
}

namespace {

namespace fs = std::filesystem;

constexpr uintmax_t kMostBytes = uintmax_t{2} << 20;
const fs::path kCorpus = VITRINE_SOURCE "/tests/fuzz/corpus";

struct Target {
  const char* name;
  int (*run)(const uint8_t*, size_t);
};
#define VITRINE_ROW(name) {#name, name##_fuzz_one_input},
constexpr Target kTargets[] = {VITRINE_FUZZ_TARGETS(VITRINE_ROW)};
#undef VITRINE_ROW

// The current input, which is printed if the process crashes.
char current[4096] = "";
void SayWhichInput(int number) {
  constexpr char kWords[] = "\nthe input is ";
  (void)!write(STDERR_FILENO, kWords, sizeof(kWords) - 1);
  (void)!write(STDERR_FILENO, current, strlen(current));
  (void)!write(STDERR_FILENO, "\n", 1);
  signal(number, SIG_DFL);
  raise(number);
}

std::vector<fs::path> InputsOf(const std::string& target) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(kCorpus / target, none)) files.push_back(entry.path());
  return files;
}

class FuzzCorpus : public testing::TestWithParam<Target> {};

TEST_P(FuzzCorpus, EveryInputIsHandled) {
  const std::vector<fs::path> files = InputsOf(GetParam().name);
  ASSERT_FALSE(files.empty()) << "the target has no input; add at least a valid one to its folder";
  for (const int number : {SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV}) signal(number, SayWhichInput);
  for (const fs::path& file : files) {
    snprintf(current, sizeof(current), "%s", file.c_str());
    const std::string bytes = vitrine::ReadFile(file);
    // Uses a heap buffer of exactly the input's size, like libFuzzer.
    const std::vector<uint8_t> input(bytes.begin(), bytes.end());
    EXPECT_EQ(GetParam().run(input.data(), input.size()), 0) << file;
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpus, testing::ValuesIn(kTargets),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(FuzzCorpus, IsSmallAndHasAFolderForEachTarget) {
  std::set<std::string> folders, targets;
  uintmax_t bytes = 0;
  for (const auto& folder : fs::directory_iterator(kCorpus)) folders.insert(folder.path().filename());
  for (const Target& target : kTargets) {
    targets.insert(target.name);
    for (const fs::path& file : InputsOf(target.name)) bytes += fs::file_size(file);
  }
  EXPECT_EQ(folders, targets);
  EXPECT_LE(bytes, kMostBytes) << "the corpus is too large; script/fuzz --merge keeps only inputs that add coverage";
}

}  // namespace
