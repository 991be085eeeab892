// SPDX-License-Identifier: Apache-2.0
// Classifies an image and prints the result: classify SERVER MODEL IMAGE
#include <vitrine/client.h>

#include <fstream>
#include <iostream>
#include <iterator>

int main(int argc, char** argv) {
  if (argc != 4) return std::cerr << "usage: classify SERVER MODEL IMAGE\n", 2;
  const auto client = vitrine::Client::Connect({.address = argv[1], .deadline = absl::Seconds(10)});
  if (!client.ok()) return std::cerr << client.status() << "\n", 1;
  std::ifstream file(argv[3], std::ios::binary);
  vitrine::v1::ClassifyRequest request;
  request.set_model(argv[2]);
  request.set_image(std::string(std::istreambuf_iterator<char>(file), {}));
  const auto answer = (*client)->Classify(request);
  if (!answer.ok()) return std::cerr << answer.status() << "\n", 1;
  for (const auto& guess : answer->predictions()) std::cout << guess.label() << " " << guess.probability() << "\n";
}
