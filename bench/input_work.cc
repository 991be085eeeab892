// SPDX-License-Identifier: Apache-2.0
#include "bench/input_work.h"

#include <CLI/CLI.hpp>
#include <fstream>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "bench/images.h"
#include "bench/work.h"
#include "common/status_macros.h"

namespace vitrine {
namespace {

// Normalisation of ImageNet models. The values must equal those of bench/peers/pillow_worker.py.
v1::Preprocessing InputPreprocessing(bool reduced) {
  constexpr int kSide = 224;
  v1::Preprocessing preprocessing;
  preprocessing.set_channels(3);
  for (const float mean : {0.485f, 0.456f, 0.406f}) preprocessing.add_mean(mean);
  for (const float std : {0.229f, 0.224f, 0.225f}) preprocessing.add_std(std);
  preprocessing.set_interpolation(v1::BILINEAR);
  preprocessing.mutable_fixed()->set_height(kSide);
  preprocessing.mutable_fixed()->set_width(kSide);
  preprocessing.mutable_fixed()->set_fit(v1::FixedResolution::CENTER_CROP);
  preprocessing.set_decode(reduced ? v1::Preprocessing::REDUCED : v1::Preprocessing::FULL);
  return preprocessing;
}

absl::Status WriteInputs(const std::vector<std::string>& images, const v1::Preprocessing& preprocessing,
                         const MakeInput& make, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  std::vector<float> input;
  for (const std::string& image : images) {
    RETURN_IF_ERROR(make(image, preprocessing, input));
    const size_t bytes = input.size() * sizeof(float);
    file.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(bytes));
  }
  file.close();
  return file ? absl::OkStatus() : absl::UnavailableError(absl::StrCat(path, " cannot be written"));
}

absl::StatusOr<Work> InputWork(const std::string& folder, const std::string& outputs, bool reduced,
                               const std::string& description, const MakeInput& make) {
  ASSIGN_OR_RETURN(const std::vector<std::string> images, ReadImages({folder}));
  const v1::Preprocessing preprocessing = InputPreprocessing(reduced);
  RETURN_IF_ERROR(WriteInputs(images, preprocessing, make, outputs));
  Work work;
  work.description = description;
  work.images = static_cast<int>(images.size());
  work.repeat = [images, preprocessing, make, input = std::vector<float>()]() mutable -> absl::Status {
    for (const std::string& image : images) RETURN_IF_ERROR(make(image, preprocessing, input));
    return absl::OkStatus();
  };
  return work;
}

}  // namespace

int ServeInputs(int argc, char** argv, const std::string& program, const std::string& description,
                const MakeInput& make) {
  std::string folder;
  std::string outputs;
  bool reduced = false;
  CLI::App app("Makes inputs of JPEGs on command.", program);
  app.add_option("--pictures", folder, "folder of JPEG files, upright")->required();
  app.add_option("--outputs", outputs, "file for the inputs")->required();
  app.add_flag("--reduced", reduced, "at a half, a quarter or an eighth of their size, as DecodeDivisor says");
  CLI11_PARSE(app, argc, argv);
  return Serve(program, InputWork(folder, outputs, reduced, description, make));
}

}  // namespace vitrine
