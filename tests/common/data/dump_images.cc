// SPDX-License-Identifier: Apache-2.0
// Prints the images of a training split. Reads them with the code that training and evaluation use. Usage: dump_images
// FORMAT:DIR. For each image, prints a line "NAME\tHEIGHT\tWIDTH\tCHANNELS" and the pixels, or a line "NAME\tERROR" if
// the image is rejected.
#include <cstdio>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "common/data/dataset.h"

int main(int argc, char** argv) {
  const auto data = vitrine::OpenDataset(argc == 2 ? argv[1] : "", vitrine::Split::kTrain);
  if (!data.ok()) {
    std::fprintf(stderr, "%s\n", std::string(data.status().message()).c_str());
    return 1;
  }
  for (int64_t i = 0; i < (*data)->size(); ++i) {
    const absl::StatusOr<vitrine::Image> image = (*data)->image(i);
    std::string line = absl::StrCat((*data)->name(i), "\t");
    if (image.ok()) {
      absl::StrAppend(&line, image->height, "\t", image->width, "\t", image->channels, "\n");
      line.append(image->pixels.begin(), image->pixels.end());
    } else {
      absl::StrAppend(&line, image.status().message(), "\n");
    }
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
