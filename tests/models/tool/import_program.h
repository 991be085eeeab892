// SPDX-License-Identifier: Apache-2.0
// Runs `vitrine-repo import` on checkpoints that the test makes.
#ifndef VITRINE_TESTS_MODELS_TOOL_IMPORT_PROGRAM_H_
#define VITRINE_TESTS_MODELS_TOOL_IMPORT_PROGRAM_H_

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "models/repository/stored_version.h"
#include "models/repository/weights.h"
#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"
#include "tests/models/repository/foreign_weights.h"
#include "tests/paths.h"

namespace vitrine::testing {

struct Outcome {
  int code = -1;
  std::string output;  // stdout and stderr
};

inline Outcome RunRepo(const std::string& arguments) {
  FILE* pipe = popen(absl::StrCat(VITRINE_BIN, "/vitrine-repo ", arguments, " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {};
  Outcome outcome;
  std::array<char, 4096> part;
  while (const size_t got = fread(part.data(), 1, part.size(), pipe)) outcome.output.append(part.data(), got);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

class ImportProgram : public ::testing::Test {
 protected:
  void Write(const std::string& name, const Tensors& tensors) {
    std::ofstream(folder_.path() / name, std::ios::binary) << *WriteSafetensors({Stored(tensors), {}});
  }
  void WriteLabels(int count) {
    std::ofstream file(folder_.path() / "labels.txt");
    // Writes no line feed at the end of the file.
    for (int i = 0; i < count; ++i) file << "thing " << i << (i + 1 < count ? "\n" : "");
  }
  std::string Path(const std::string& name) const { return folder_.path() / name; }
  Outcome Import(const std::string& source, const std::string& arch, const std::string& weights,
                 const std::string& more = "") {
    return RunRepo(absl::StrCat("import ", Path("models"), " imported ", Path(weights), " --from ", source, " --arch ",
                                arch, " --labels ", Path("labels.txt"), " ", more));
  }
  void ExpectNothingPublished() const {
    EXPECT_FALSE(std::filesystem::exists(folder_.path() / "models" / "imported" / "1"));
  }

  // Expects that the server's answer for an image equals the result of the imported tensors without a server.
  void ExpectServed(int classes) {
    const absl::StatusOr<StoredVersion> version = ReadVersion(Path("models"), {"imported", 1});
    ASSERT_TRUE(version.ok()) << version.status();
    const WeightedModel model = FitWeights(version->manifest, version->weights).value();
    RunningServer server(folder_.path() / "models");
    const std::string image = NoiseJpeg(320, 200, 5);
    v1::ClassifyRequest request = ImageRequest("imported", image);
    request.set_top_k(classes);
    v1::ClassifyResponse response;
    const grpc::Status status = server.Classify(request, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
    const std::vector<float> alone = LogitsAlone(model, image);
    ASSERT_EQ(response.predictions_size(), classes);
    for (const v1::Prediction& prediction : response.predictions()) {
      EXPECT_EQ(prediction.label(), absl::StrCat("thing ", prediction.index()));
      EXPECT_NEAR(prediction.logit(), alone[prediction.index()], 1e-4);
    }
  }

  const ScratchFolder folder_;
};

}  // namespace vitrine::testing

#endif  // VITRINE_TESTS_MODELS_TOOL_IMPORT_PROGRAM_H_
