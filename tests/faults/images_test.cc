// SPDX-License-Identifier: Apache-2.0
// Sends damaged images to a server. The server must reject each image or answer correctly. It must neither crash nor
// use the pixels of another image.
#include "tests/common/imaging/images.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/testing/published.h"
#include "tests/e2e/testing/running_server.h"

namespace vitrine::testing {
namespace {

TEST(DamagedImages, AnImageWithAFlippedBitIsRefusedOrAnswered) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  RunningServer running(folder.path());
  int refused = 0, answered = 0;
  for (const std::string& good : {NoiseJpeg(24, 24, 1), PngFile(SmoothImage(24, 24, 3))}) {
    for (size_t i = 0; i < good.size(); i += 1 + good.size() / 300) {
      std::string image = good;
      image[i] = static_cast<char>(image[i] ^ (1 << (i % 8)));
      v1::ClassifyResponse response;
      const grpc::Status status = running.Classify(ImageRequest("mixed", image), &response);
      if (status.ok()) {
        ++answered;
      } else {
        ++refused;
        EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT) << status.error_message();
        EXPECT_FALSE(status.error_message().empty());
      }
    }
  }
  EXPECT_GT(refused, 100);
  EXPECT_GT(answered, 0) << "a flipped bit in a JPEG's coefficients leaves a valid image";
  v1::ClassifyResponse response;
  EXPECT_TRUE(running.Classify(ImageRequest("mixed", NoiseJpeg(24, 24, 1)), &response).ok());
}

// A damaged image must not affect the other images of its batch.
TEST(DamagedImages, TheOtherImagesOfTheBatchAreAnswered) {
  const ScratchFolder folder;
  PublishModel(folder.path(), "mixed", MixedConfig());
  ServerOptions options = TestOptions(folder.path());
  options.executor.threads = 1;
  options.batch.max_wait = absl::Milliseconds(200);
  options.batch.max_batch_images = 8;
  RunningServer running(options);
  grpc::ClientContext context;
  const auto stream = running.classifier().ClassifyStream(&context);
  const std::string good = NoiseJpeg(24, 24, 1);
  for (int i = 0; i < 8; ++i) {
    v1::ClassifyRequest request = ImageRequest("mixed", i == 3 ? good.substr(0, good.size() / 2) : good);
    request.set_request_id(std::to_string(i));
    ASSERT_TRUE(stream->Write(request));
  }
  stream->WritesDone();
  int answered = 0;
  for (v1::ClassifyStreamResponse answer; stream->Read(&answer);) {
    if (answer.request_id() == "3") {
      EXPECT_EQ(answer.error().code(), grpc::StatusCode::INVALID_ARGUMENT);
    } else {
      EXPECT_TRUE(answer.has_response()) << answer.error().message();
      ++answered;
    }
  }
  EXPECT_EQ(answered, 7);
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace vitrine::testing
